// The traps that the formats set, one test each.

#include <algorithm>

#include "octavo/sim/trace_stats.h"
#include "trace_testing.h"

namespace octavo::sim {
namespace {

using Ids = std::vector<std::uint64_t>;

std::int64_t last_arrival(const std::string& content) {
  return read_text(content).back().arrival_ns;
}

TEST(TraceTraps, EveryFormatHasItsOwnUnitOfTime) {
  const std::string lengths = ",\"input_length\":1,\"output_length\":1,\"hash_ids\":[0]}";
  EXPECT_EQ(last_arrival("{\"timestamp\":2" + lengths), 2'000'000);
  EXPECT_EQ(last_arrival("{\"created_time\":2" + lengths), 2'000'000);
  EXPECT_EQ(last_arrival("{\"chat_id\":1,\"parent_chat_id\":-1,\"timestamp\":2" + lengths),
            2'000'000'000);
  EXPECT_EQ(last_arrival("arrived_at,num_prefill_tokens,num_decode_tokens\n2,1,1\n"),
            2'000'000'000);
  EXPECT_EQ(last_arrival("Timestamp,Request tokens,Response tokens\n2,1,1\n"), 2'000'000'000);
  EXPECT_EQ(last_arrival("{\"block_size\":64,\"requests\":[{\"t\":2,\"type\":\"n\",\"in\":1,"
                         "\"out\":1,\"hash_ids\":[]}]}"),
            2'000'000'000);
  EXPECT_EQ(last_arrival("{\"arrival_time_ns\":2,\"input_toks\":1,\"output_toks\":1}"), 2);
  const std::string tair = ",\"keys\":[],\"input_len\":1,\"output_len\":1}\n";
  EXPECT_EQ(last_arrival("{\"timestamp_us\":1704081600000000" + tair +
                         "{\"timestamp_us\":1704081600000002" + tair),
            2'000);
}

TEST(TraceTraps, IntegralAndFractionalTimesAreBothLegal) {
  const std::string rest =
      ",\"parent_chat_id\":-1,\"input_length\":1,\"output_length\":1,"
      "\"hash_ids\":[0],\"timestamp\":";
  EXPECT_EQ(last_arrival("{\"chat_id\":1" + rest + "7}"), 7'000'000'000);
  EXPECT_EQ(last_arrival("{\"chat_id\":1" + rest + "7.0}"), 7'000'000'000);
  EXPECT_EQ(last_arrival("{\"chat_id\":1" + rest + "7.25}"), 7'250'000'000);
}

TEST(TraceTraps, TailsAreCountedUpOrDownAsTheFormatHasIt) {
  const auto bailian = [](const std::string& ids) {
    return "{\"chat_id\":1,\"parent_chat_id\":-1,\"timestamp\":0,\"input_length\":17,"
           "\"output_length\":1,\"hash_ids\":[" +
           ids + "]}";
  };
  EXPECT_EQ(read_text(bailian("1,2")).size(), 1U);
  EXPECT_EQ(refusal(bailian("1")),
            ":1: hash_ids: has 1 ids, expected 2 = ceil(input_length 17 / 16 tokens a block)");
  const auto weka = [](const std::string& ids) {
    return "{\"block_size\":16,\"requests\":[{\"t\":0,\"type\":\"n\",\"in\":17,\"out\":1,"
           "\"hash_ids\":[" +
           ids + "]}]}";
  };
  EXPECT_EQ(read_text(weka("1")).size(), 1U);
  EXPECT_EQ(refusal(weka("1,2")),
            ":1: requests[0].hash_ids: has 2 ids, expected 1 = floor(in 17 / "
            "16 tokens a block)");
  const auto tair = [](const std::string& ids) {
    return "{\"timestamp_us\":1,\"input_len\":17,\"output_len\":0,\"keys\":[" + ids + "]}";
  };
  EXPECT_EQ(read_text(tair("1")).size(), 1U);
  EXPECT_EQ(refusal(tair("1,2")),
            ":1: keys: has 2 ids, expected 1 = floor(input_len 17 / 16 tokens a block)");
}

TEST(TraceTraps, ContentIdsComeOutPrefixChained) {
  std::string text;
  for (const char* ids : {"1,2,3", "2,2,3", "3,1,2", "1,2,2"}) {
    text +=
        "{\"chat_id\":1,\"parent_chat_id\":-1,\"timestamp\":0,\"input_length\":48,"
        "\"output_length\":1,\"hash_ids\":[" +
        std::string(ids) + "]}\n";
  }
  const TempFile file(text);
  const TraceStats stats = compute_trace_stats(*open_trace(file.path()));
  EXPECT_TRUE(stats.prefix_chained());
  EXPECT_EQ(stats.ideal.blocks.hits, 2);  // The last request shares two blocks with the first.
  EXPECT_EQ(stats.distinct_blocks, 10);
  EXPECT_FALSE(compute_trace_stats(
                   *open_trace(file.path(), {.format = TraceFormat::Aiperf, .trace_block = 16}))
                   .prefix_chained());
}

TEST(TraceTraps, IdsOfSixtyFourBitsStayExactInEveryFormat) {
  const std::string ids = "[18446744073709551615,9223372036854775808,9007199254740993]";
  const Ids expected = {18446744073709551615U, 9223372036854775808U, 9007199254740993U};
  EXPECT_EQ(read_text("{\"request_id\":1,\"timestamp\":0,\"input_length\":1500,"
                      "\"output_length\":1,\"hash_ids\":" +
                      ids + "}")
                .at(0)
                .block_ids,
            expected);
  EXPECT_EQ(
      read_text("{\"block_size\":64,\"requests\":[{\"t\":0,\"type\":\"n\",\"in\":192,\"out\":1,"
                "\"hash_ids\":" +
                ids + "}]}")
          .at(0)
          .block_ids,
      expected);
  EXPECT_EQ(read_text("{\"event_type\":\"request_end\",\"request\":{\"input_tokens\":40,"
                      "\"output_tokens\":1,\"request_received_ms\":1,\"replay\":{"
                      "\"trace_block_size\":16,\"input_sequence_hashes\":" +
                      ids + "}}}")
                .at(0)
                .block_ids,
            expected);
  // Content ids of 64 bits that a double cannot tell apart.
  const auto bailian = [](const std::string& id) {
    return read_text(
               "{\"chat_id\":1,\"parent_chat_id\":-1,\"timestamp\":0,\"input_length\":1,"
               "\"output_length\":1,\"hash_ids\":[" +
               id + "]}")
        .at(0)
        .block_ids;
  };
  EXPECT_NE(bailian("9007199254740993"), bailian("9007199254740992"));
}

TEST(TraceTraps, NegativeKeysAreTheSameSixtyFourBits) {
  EXPECT_EQ(read_text("{\"timestamp_us\":1,\"input_len\":64,\"output_len\":0,\"keys\":"
                      "[-1,-9223372036854775808,9223372036854775807,18446744073709551614]}")
                .at(0)
                .block_ids,
            (Ids{18446744073709551615U, 9223372036854775808U, 9223372036854775807U,
                 18446744073709551614U}));
}

TEST(TraceTraps, TiesKeepTheOrderOfTheFile) {
  std::string text;
  for (int i = 0; i < 40; ++i) {  // Long enough for a sort that is not stable to show.
    text +=
        "{\"event_type\":\"request_end\",\"request\":{\"input_tokens\":" + std::to_string(i + 1) +
        ",\"output_tokens\":1,\"request_received_ms\":" + std::to_string(9 - i / 20) + "}}\n";
  }
  const auto requests = read_text(text);
  ASSERT_EQ(requests.size(), 40U);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(requests[static_cast<std::size_t>(i)].input_tokens, (i + 20) % 40 + 1);
  }
}

TEST(TraceTraps, UnsortedRowsAreSortedWhereTheFormatDemandsItOnly) {
  const std::string mooncake = ",\"input_length\":1,\"output_length\":1,\"hash_ids\":[0]}\n";
  const auto kept = read_text("{\"timestamp\":5" + mooncake + "{\"timestamp\":3" + mooncake);
  EXPECT_EQ(kept.at(0).arrival_ns, 5'000'000);
  const std::string log =
      "{\"event_type\":\"request_end\",\"request\":{\"input_tokens\":1,"
      "\"output_tokens\":1,\"request_received_ms\":";
  const auto sorted = read_text(log + "5}}\n" + log + "3}}\n");
  EXPECT_EQ(sorted.at(0).arrival_ns, 0);
  EXPECT_EQ(sorted.at(1).arrival_ns, 2'000'000);
}

TEST(TraceTraps, ARowBeforeTheFirstIsRefusedWhereTimesAreAbsolute) {
  EXPECT_EQ(refusal("TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:01,1,1\n"
                    "2024-05-10 00:00:00,1,1\n"),
            ":3: TIMESTAMP: is before that of the first row (2024-05-10 00:00:00), expected none "
            "before it");
  const std::string tair = ",\"keys\":[],\"input_len\":1,\"output_len\":1}\n";
  EXPECT_EQ(refusal("{\"timestamp_us\":2" + tair + "{\"timestamp_us\":1" + tair),
            ":2: timestamp_us: is before that of the first read, expected none before it");
}

TEST(TraceTraps, ZeroOutputsAreRequestsAndAreCounted) {
  const TempFile file("Timestamp,Request tokens,Response tokens\n1,5,0\n2,5,3\n3,5,0\n");
  const TraceStats stats = compute_trace_stats(*open_trace(file.path()));
  EXPECT_EQ(stats.requests, 3);
  EXPECT_EQ(stats.empty_outputs, 2);
}

TEST(TraceTraps, ZeroPromptsAreRefused) {
  EXPECT_EQ(refusal("Timestamp,Request tokens,Response tokens\n1,0,4\n"),
            ":2: Request tokens: is out of range (0), expected an integer in [1, "
            "9223372036854775807]");
}

TEST(TraceTraps, MissingOrEmptyIdsMakeATraceOfLengths) {
  for (const char* ids : {"", ",\"hash_ids\":[]", ",\"hash_ids\":null"}) {
    const TempFile file("{\"input_length\":5,\"output_length\":2,\"session_id\":\"s\"" +
                        std::string(ids) + "}\n");
    const auto reader = open_trace(file.path());
    EXPECT_FALSE(reader->traits().prefix_ids) << ids;
    EXPECT_EQ(read_all(*reader).size(), 1U) << ids;
  }
}

TEST(TraceTraps, LineEndsAndBlankLinesAreThoseOfAnySystem) {
  const std::string row = "2024-05-10 00:00:01,1,1";
  for (const std::string& text :
       {"TIMESTAMP,ContextTokens,GeneratedTokens\r\n" + row + "\r\n" + row,
        "\nTIMESTAMP,ContextTokens,GeneratedTokens\n\n" + row + "\n\n" + row + "\n\n",
        "\xEF\xBB\xBFTIMESTAMP,ContextTokens,GeneratedTokens\n" + row + "\n" + row}) {
    EXPECT_EQ(read_text(text).size(), 2U) << text;
  }
}

TEST(TraceTraps, HeaderNamesHaveBlanksAndColumnsAnyOrder) {
  const auto requests =
      read_text("Response tokens, Request tokens ,Unknown,\"Timestamp\"\n3,5,\"a, b\",1\n");
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].input_tokens, 5);
  EXPECT_EQ(requests[0].output_tokens, 3);
  EXPECT_EQ(requests[0].arrival_ns, 1'000'000'000);
}

TEST(TraceTraps, TheTraceBlockOfTheFileIsNotAskedFor) {
  const std::string weka =
      "{\"block_size\":64,\"requests\":[{\"t\":0,\"type\":\"n\",\"in\":64,"
      "\"out\":1,\"hash_ids\":[1]}]}";
  EXPECT_EQ(refusal(weka, {.trace_block = 16}),
            ": block_size: is 64, expected the trace block asked for, 16");
  EXPECT_EQ(read_text(weka, {.trace_block = 64}).size(), 1U);
  EXPECT_EQ(
      refusal("Timestamp,Request tokens,Response tokens\n1,5,0\n", {.trace_block = 16}),
      ": names no blocks, so that a trace block of 16 tokens says nothing, expected none to be "
      "asked for");
}

TEST(TraceTraps, DocumentsOfManyLinesAreNotTakenForLines) {
  const std::string text =
      "{\n  \"id\": \"x\",\n  \"block_size\": 64,\n  \"requests\": [\n    {\"t\": 0, \"type\": "
      "\"n\",\n"
      "     \"in\": 64, \"out\": 1, \"hash_ids\": [1]\n    }\n  ]\n}\n";
  const TempFile file(text);
  const auto reader = open_trace(file.path());
  EXPECT_EQ(reader->format(), TraceFormat::Weka);
  TraceRequest request;
  ASSERT_TRUE(reader->next(request));
  EXPECT_EQ(reader->line(), 7);
  EXPECT_FALSE(reader->next(request));
}

}  // namespace
}  // namespace octavo::sim
