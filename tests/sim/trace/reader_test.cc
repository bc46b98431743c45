// What the readers accept, and what they make of it.

#include "trace_testing.h"

namespace octavo::sim {
namespace {

constexpr char kMooncakeLine[] =
    R"({"timestamp": 27, "input_length": 1025, "output_length": 7, "hash_ids": [0, 5, 9]})";
constexpr char kHeader[] = R"({"octavo_trace":1,"block_size":16})";
constexpr char kOctavoLine[] =
    R"({"time_ns":5,"input_tokens":17,"output_tokens":0,"session":3,"block_ids":[4,8]})";

std::string mooncake_time(const std::string& timestamp) {
  return "{\"timestamp\":" + timestamp +
         ",\"input_length\":1,\"output_length\":1,\"hash_ids\":[0]}\n";
}

TEST(MooncakeReader, ReadsEveryFieldInNanosecondsAndTokens) {
  const auto requests = read_text(std::string(kMooncakeLine) + "\n");
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].arrival_ns, 27'000'000);
  EXPECT_EQ(requests[0].input_tokens, 1025);
  EXPECT_EQ(requests[0].output_tokens, 7);
  EXPECT_FALSE(requests[0].session.has_value());
  EXPECT_EQ(requests[0].block_ids, (std::vector<std::uint64_t>{0, 5, 9}));
}

TEST(MooncakeReader, TakesTheTraceBlockFromTheCaller) {
  const std::string line =
      R"({"timestamp":0,"input_length":33,"output_length":1,"hash_ids":[1,2,3]})";
  const TempFile file(line);
  const auto reader = open_trace(file.path(), {.trace_block = 16});
  EXPECT_EQ(reader->block_size(), 16);
  EXPECT_EQ(read_all(*reader).size(), 1U);
}

TEST(MooncakeReader, ScalesTimestampsExactly) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"0", 0},
      {"-0", 0},
      {"-0.0", 0},
      {"12.0", 12'000'000},
      {"0.5", 500'000},
      {"3.25e3", 3'250'000'000},
      {"1e-3", 1'000},
      {"1E+2", 100'000'000},
      {"27482.123456", 27'482'123'456},
      {"0.0000005", 1},               // Half a nanosecond goes up,
      {"0.00000049999999999999", 0},  // less does not.
      {"0.9999995", 1'000'000},
      {"1e-99999999999999999999", 0},
      {"0e99999999999999999999", 0},
      {"9223372036854.775807", 9'223'372'036'854'775'807},
      {"9007199254740.993", 9'007'199'254'740'993'000},  // No double holds this.
      {"27482.000000000004", 27'482'000'000},
  };
  for (const auto& [text, expected_ns] : cases) {
    const auto requests = read_text(mooncake_time(text));
    ASSERT_EQ(requests.size(), 1U) << text;
    EXPECT_EQ(requests[0].arrival_ns, expected_ns) << text;
  }
}

TEST(MooncakeReader, KeepsTheOrderOfTheFile) {
  const auto requests = read_text(mooncake_time("5") + mooncake_time("3") + mooncake_time("5"));
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].arrival_ns, 5'000'000);
  EXPECT_EQ(requests[1].arrival_ns, 3'000'000);
  EXPECT_EQ(requests[2].arrival_ns, 5'000'000);
}

TEST(OctavoReader, ReadsEveryField) {
  const TempFile file(std::string(kHeader) + "\n" + kOctavoLine + "\n");
  const auto reader = open_trace(file.path());
  EXPECT_EQ(reader->format(), TraceFormat::Octavo);
  EXPECT_EQ(reader->block_size(), 16);
  EXPECT_EQ(reader->name(), file.path());
  TraceRequest request;
  ASSERT_TRUE(reader->next(request));
  EXPECT_EQ(reader->line(), 2);
  EXPECT_EQ(request.arrival_ns, 5);
  EXPECT_EQ(request.input_tokens, 17);
  EXPECT_EQ(request.output_tokens, 0);
  EXPECT_EQ(request.session, 3U);
  EXPECT_EQ(request.block_ids, (std::vector<std::uint64_t>{4, 8}));
  EXPECT_FALSE(reader->next(request));
  EXPECT_FALSE(reader->next(request));
}

TEST(OctavoReader, ForgetsTheSessionOfTheLineBefore) {
  const auto requests =
      read_text(std::string(kHeader) + "\n" + kOctavoLine + "\n" +
                R"({"time_ns":5,"input_tokens":1,"output_tokens":0,"block_ids":[4]})");
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_FALSE(requests[1].session.has_value());
}

TEST(OctavoReader, AcceptsATraceBlockThatIsTheHeaders) {
  EXPECT_EQ(read_text(std::string(kHeader) + "\n" + kOctavoLine, {.trace_block = 16}).size(), 1U);
}

TEST(TraceReader, KeepsIdsOf64BitsExact) {
  const std::string line =
      R"({"timestamp":0,"input_length":2500,"output_length":1,"hash_ids":)"
      "[18446744073709551615,9223372036854775808,9007199254740993,9999999999999999999,-0]}";
  EXPECT_EQ(read_text(line).at(0).block_ids,
            (std::vector<std::uint64_t>{18446744073709551615U, 9223372036854775808U,
                                        9007199254740993U, 9999999999999999999U, 0U}));
}

TEST(TraceReader, TellsTheFormatFromTheContent) {
  const TempFile mooncake(std::string("\n \n") + kMooncakeLine);
  EXPECT_EQ(open_trace(mooncake.path())->format(), TraceFormat::Mooncake);
  const TempFile octavo(std::string("\n \n") + kHeader);
  EXPECT_EQ(open_trace(octavo.path())->format(), TraceFormat::Octavo);
}

TEST(TraceReader, AcceptsEveryLineEnd) {
  const std::string a = kMooncakeLine;
  for (const std::string& text :
       {a + "\n" + a + "\n", a + "\n" + a, a + "\r\n" + a + "\r\n", a + "\r\n" + a,
        "\n\r\n  \t\n" + a + "\n\n\n" + a + "\n\n \r\n", "\xEF\xBB\xBF" + a + "\n" + a}) {
    EXPECT_EQ(read_text(text).size(), 2U) << text;
  }
}

TEST(TraceReader, IgnoresUnknownFieldsWhateverTheyHold) {
  const auto requests = read_text(
      R"({"a":null,"timestamp":1,"b":[1,[2,{"c":"}]"}],[]],"input_length":1,)"
      R"("d":{"hash_ids":[9,9]},)"
      R"("e":"a \"quote\" \\ \u00e4 ,}","output_length":1,"f":-1.5e+3,"g":true,"h":false,"i":{},)"
      R"("hash\u005fids":[7]})");
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].block_ids, (std::vector<std::uint64_t>{7}));
}

TEST(TraceReader, TakesFieldsInAnyOrderAndWhiteSpaceAnywhere) {
  const auto requests = read_text(
      " { \"hash_ids\" :\t[ 1 , 2 ] , \"output_length\" : 3 ,\"input_length\" : 513 , "
      "\"timestamp\" : 4 } \t");
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].input_tokens, 513);
  EXPECT_EQ(requests[0].block_ids, (std::vector<std::uint64_t>{1, 2}));
}

TEST(TraceReader, ReadsLinesLongerThanItsBuffer) {
  constexpr std::size_t kIds = 100'000;
  std::string line = "{\"timestamp\":0,\"input_length\":" + std::to_string(512 * kIds) +
                     ",\"output_length\":1,\"hash_ids\":[1000000000";
  for (std::size_t i = 1; i < kIds; ++i) {
    line += "," + std::to_string(1'000'000'000 + i);
  }
  line += "]}\n";
  const auto requests = read_text(kMooncakeLine + ("\n" + line) + line + kMooncakeLine);
  ASSERT_EQ(requests.size(), 4U);
  ASSERT_EQ(requests[2].block_ids.size(), kIds);
  EXPECT_EQ(requests[2].block_ids.back(), 1'000'000'000 + kIds - 1);
  EXPECT_EQ(requests[3].block_ids.size(), 3U);
}

TEST(TraceReader, FindsLineEndsWhereverItsBufferEnds) {
  constexpr std::size_t kBufferBytes = std::size_t{256} << 10;
  for (const std::string line_end : {"\n", "\r\n"}) {
    for (std::size_t length = kBufferBytes - 4; length <= kBufferBytes + 4; ++length) {
      std::string padded = kMooncakeLine;
      padded.resize(length, ' ');
      const std::string text = padded + line_end + kMooncakeLine + line_end + padded;
      EXPECT_EQ(read_text(text).size(), 3U) << length;
    }
  }
}

TEST(TraceReader, CountsBlankLinesInItsLineNumbers) {
  const TempFile file(std::string("\n") + kMooncakeLine + "\n\n\n" + kMooncakeLine);
  const auto reader = open_trace(file.path());
  TraceRequest request;
  ASSERT_TRUE(reader->next(request));
  EXPECT_EQ(reader->line(), 2);
  ASSERT_TRUE(reader->next(request));
  EXPECT_EQ(reader->line(), 5);
}

TEST(TraceFormat, NamesAndParsesBack) {
  const std::vector<std::string> names = trace_format_names();
  EXPECT_EQ(names.size(), 14U);
  EXPECT_EQ(names.front(), "auto");
  for (const std::string& name : names) {
    EXPECT_EQ(to_string(parse_trace_format(name)), name);
  }
  EXPECT_EQ(to_string(TraceFormat::DynamoTrace), "dynamo-trace");
  EXPECT_THROW(parse_trace_format("Mooncake"), Error);
}

}  // namespace
}  // namespace octavo::sim
