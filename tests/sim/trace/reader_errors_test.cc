// What the readers refuse, and in which words.

#include "trace_testing.h"

namespace octavo::sim {
namespace {

constexpr char kGood[] = R"({"timestamp":0,"input_length":1024,"output_length":1,"hash_ids":[0,1]})"
                         "\n";
constexpr char kFirstLine[] = R"({"octavo_trace":1,"block_size":16})"
                              "\n";

// The refusal of a Mooncake line that stands on line 3.
std::string mooncake(const std::string& line) {
  return refusal(std::string(kGood) + "\n" + line + "\n" + kGood);
}

// The refusal of a Mooncake line with these values.
std::string fields(const std::string& timestamp,
                   const std::string& input_length,
                   const std::string& output_length,
                   const std::string& hash_ids) {
  return mooncake("{\"timestamp\":" + timestamp + ",\"input_length\":" + input_length +
                  ",\"output_length\":" + output_length + ",\"hash_ids\":" + hash_ids + "}");
}

std::string octavo(const std::string& line) {
  return refusal(kFirstLine + line);
}

const std::string kInt64 = "expected an integer in [0, 9223372036854775807]";
const std::string kLength = "expected an integer in [1, 9223372036854775807]";
const std::string kId = "expected an integer in [0, 18446744073709551615]";
const std::string kMilliseconds = "expected a number in [0, 9223372036854]";

TEST(TraceErrors, RefuseWhatIsNoFileOfRequests) {
  EXPECT_EQ(input_error_of([] { open_trace("/no/such/trace.jsonl"); }),
            "/no/such/trace.jsonl: cannot be opened: No such file or directory");
  const TempFolder folder{{"notes.txt", "x"}};
  EXPECT_EQ(
      input_error_of([&] { open_trace(folder.path()); }),
      folder.path() + ": is a directory without *.json, expected a trace file or WEKA sessions");
  EXPECT_EQ(input_error_of([&] { open_trace(folder.path(), {.format = TraceFormat::Azure}); }),
            folder.path() + ": is a directory, expected a trace file");
  EXPECT_EQ(refusal(""), ": is empty, expected a trace");
  EXPECT_EQ(refusal("\n  \r\n\t\n"), ": is empty, expected a trace");
  EXPECT_EQ(refusal(kFirstLine), ":1: only a header, expected requests behind it");
}

TEST(TraceErrors, RefuseAnUnknownFormat) {
  EXPECT_EQ(
      refusal(R"({"arrival":1})"),
      ":1: no format is known that starts with such an object, expected a trace of one of the "
      "formats that --format names");
  EXPECT_EQ(refusal("timestamp;tokens\n"),
            ":1: no format is known that starts like this ('timestamp;tokens'), expected a JSON "
            "object or the header of a CSV trace");
  EXPECT_EQ(
      refusal(R"({"timestamp":1,"input":"a","output":"b","session_id":"c"})"),
      ":1: input: is text, as in LMCache's agent traces, expected numbers of tokens: only the "
      "tokenizer of its model could count them");
  EXPECT_EQ(refusal("[1,2]"),
            ":1: no format is known that starts like this ('[1,2]'), expected a JSON object or the "
            "header of a CSV trace");
}

TEST(TraceErrors, FollowTheFormatAskedFor) {
  EXPECT_EQ(refusal(kGood, {.format = TraceFormat::Octavo}),
            ":1: octavo_trace: missing, expected the header of an Octavo trace");
  EXPECT_EQ(refusal(kFirstLine, {.format = TraceFormat::Mooncake}),
            ":1: timestamp: missing, expected milliseconds");
}

TEST(TraceErrors, RefuseATruncatedLineWhereverItIsCut) {
  const std::string line =
      R"({"timestamp":0,"x":[{"y":"a\u00e4\n"},true,null],"input_length":1024,)"
      R"("output_length":1e0,"hash_ids":[0,1]})";
  for (std::size_t length = 1; length < line.size(); ++length) {
    const std::string message = mooncake(line.substr(0, length));
    EXPECT_EQ(message.rfind(":3: ", 0), 0U) << message;
  }
  EXPECT_EQ(mooncake(R"({"timestamp": 0, "input_length": )"),
            ":3: not JSON: the line ends at column 34, expected a JSON value");
  EXPECT_EQ(mooncake(R"({"timestamp": 0, "input_le)"),
            ":3: not JSON: the line ends at column 27, expected '\"' at the end of a string");
  EXPECT_EQ(mooncake(R"({"timestamp": 0)"),
            ":3: not JSON: the line ends at column 16, expected ',' or '}' in an object");
  EXPECT_EQ(mooncake(R"({"timestamp":0,"hash_ids":[1, 2)"),
            ":3: not JSON: the line ends at column 32, expected ',' or ']' in an array");
}

TEST(TraceErrors, RefuseWhatIsNotJson) {
  EXPECT_EQ(
      fields("nan", "1024", "1", "[0,1]"),
      ":3: not JSON: 'nan,\"input_length\":1024,\"output_length\":...' at column 14, expected "
      "a JSON value");
  EXPECT_EQ(fields("01", "1024", "1", "[0,1]").substr(0, 20), ":3: not JSON: '01,\"i");
  EXPECT_EQ(fields("0", "1024", "1", "[0,01]"),
            ":3: not JSON: '01]}' at column 68, expected a number without leading zeros");
  EXPECT_EQ(fields("0", "1024", "1", "[0,1,]"),
            ":3: not JSON: ']}' at column 70, expected a value after ','");
  EXPECT_EQ(fields("0", "1024", "1", "[0 1]"),
            ":3: not JSON: '1]}' at column 68, expected ',' or ']' in an array");
  EXPECT_EQ(mooncake(std::string(R"({"timestamp":0} x)")),
            ":3: not JSON: 'x' at column 17, expected the end of the line after the object");
  EXPECT_EQ(mooncake("{timestamp:0}"),
            ":3: not JSON: 'timestamp:0}' at column 2, expected '\"' for a string");
  EXPECT_EQ(mooncake(R"({"x":"a\q"})"),
            ":3: not JSON: 'q\"}' at column 9, expected an escape that JSON knows");
  EXPECT_EQ(mooncake(std::string(R"({"x":)") + std::string(200, '[')),
            ":3: not JSON: '" + std::string(40, '[') +
                "...' at column 107, expected at most 100 levels of values");
}

TEST(TraceErrors, RefuseAMissingField) {
  EXPECT_EQ(mooncake(R"({"input_length":1024,"output_length":1,"hash_ids":[0,1]})"),
            ":3: timestamp: missing, expected milliseconds");
  EXPECT_EQ(mooncake(R"({"timestamp":0,"output_length":1,"hash_ids":[0,1]})"),
            ":3: input_length: missing, expected a number of tokens");
  EXPECT_EQ(mooncake(R"({"timestamp":0,"input_length":1024,"hash_ids":[0,1]})"),
            ":3: output_length: missing, expected a number of tokens");
  EXPECT_EQ(mooncake(R"({"timestamp":0,"input_length":1024,"output_length":1})"),
            ":3: hash_ids: missing, expected an array of integers");
  EXPECT_EQ(octavo(R"({"input_tokens":1,"output_tokens":1,"block_ids":[0]})"),
            ":2: time_ns: missing, expected nanoseconds");
  EXPECT_EQ(octavo(R"({"time_ns":1,"output_tokens":1,"block_ids":[0]})"),
            ":2: input_tokens: missing, expected a number of tokens");
  EXPECT_EQ(octavo(R"({"time_ns":1,"input_tokens":1,"block_ids":[0]})"),
            ":2: output_tokens: missing, expected a number of tokens");
  EXPECT_EQ(octavo(R"({"time_ns":1,"input_tokens":1,"output_tokens":1})"),
            ":2: block_ids: missing, expected an array of integers");
}

TEST(TraceErrors, RefuseAFieldThatOccursTwice) {
  EXPECT_EQ(mooncake(R"({"timestamp":0,"timestamp":1})"),
            ":3: timestamp: occurs twice, expected once");
  EXPECT_EQ(octavo(R"({"session":0,"session":0})"), ":2: session: occurs twice, expected once");
}

TEST(TraceErrors, RefuseAWrongType) {
  EXPECT_EQ(fields("\"0\"", "1024", "1", "[0,1]"),
            ":3: timestamp: is a string (\"0\"), " + kMilliseconds);
  EXPECT_EQ(fields("0", "\"12\"", "1", "[0,1]"),
            ":3: input_length: is a string (\"12\"), " + kLength);
  EXPECT_EQ(fields("0", "1024", "null", "[0,1]"), ":3: output_length: is 'null', " + kInt64);
  EXPECT_EQ(fields("0", "1024", "{\"a\":1}", "[0,1]"),
            ":3: output_length: is an object ({\"a\":1}), " + kInt64);
  EXPECT_EQ(fields("0", "1024", "1", "7"),
            ":3: hash_ids: is a number (7), expected an array of integers");
  EXPECT_EQ(fields("0", "1024", "1", "[0,\"1\"]"), ":3: hash_ids[1]: is a string (\"1\"), " + kId);
  EXPECT_EQ(fields("0", "1024", "1", "[0,[1]]"), ":3: hash_ids[1]: is an array ([1]), " + kId);
  EXPECT_EQ(octavo(R"({"time_ns":true})"), ":2: time_ns: is 'true', " + kInt64);
}

TEST(TraceErrors, RefuseLengthsThatAreNoIntegers) {
  for (const char* text : {"12.5", "12.0", "1e3", "-0.0"}) {
    EXPECT_EQ(fields("0", text, "1", "[0,1]"), ":3: input_length: is not written as an integer (" +
                                                   std::string(text) + "), " + kLength);
  }
  EXPECT_EQ(fields("0", "1024", "1.5", "[0,1]"),
            ":3: output_length: is not written as an integer (1.5), " + kInt64);
  EXPECT_EQ(fields("0", "1024", "1", "[0,1.0]"),
            ":3: hash_ids[1]: is not written as an integer (1.0), " + kId);
  EXPECT_EQ(octavo(R"({"time_ns":0.5})"),
            ":2: time_ns: is not written as an integer (0.5), " + kInt64);
}

TEST(TraceErrors, RefuseNegativeNumbers) {
  EXPECT_EQ(fields("-1", "1024", "1", "[0,1]"),
            ":3: timestamp: is negative (-1), " + kMilliseconds);
  EXPECT_EQ(fields("-0.25", "1024", "1", "[0,1]"),
            ":3: timestamp: is negative (-0.25), " + kMilliseconds);
  EXPECT_EQ(fields("0", "-1024", "1", "[0,1]"),
            ":3: input_length: is negative (-1024), " + kLength);
  EXPECT_EQ(fields("0", "1024", "-1", "[0,1]"), ":3: output_length: is negative (-1), " + kInt64);
  EXPECT_EQ(fields("0", "1024", "1", "[0,-1]"), ":3: hash_ids[1]: is negative (-1), " + kId);
  EXPECT_EQ(fields("0", "1024", "1", "[-18446744073709551616,1]"),
            ":3: hash_ids[0]: is negative (-18446744073709551616), " + kId);
}

TEST(TraceErrors, RefuseNumbersOutOfRange) {
  EXPECT_EQ(fields("0", "0", "1", "[]"), ":3: input_length: is out of range (0), " + kLength);
  EXPECT_EQ(fields("0", "1024", "9223372036854775808", "[0,1]"),
            ":3: output_length: is out of range (9223372036854775808), " + kInt64);
  EXPECT_EQ(fields("9223372036855", "1024", "1", "[0,1]"),
            ":3: timestamp: is out of range (9223372036855), " + kMilliseconds);
  EXPECT_EQ(fields("9223372036854.7758075", "1024", "1", "[0,1]"),
            ":3: timestamp: is out of range (9223372036854.7758075), " + kMilliseconds);
  EXPECT_EQ(fields("1e30", "1024", "1", "[0,1]"),
            ":3: timestamp: is out of range (1e30), " + kMilliseconds);
  EXPECT_EQ(fields("1e999999999999999999999", "1024", "1", "[0,1]"),
            ":3: timestamp: is out of range (1e999999999999999999999), " + kMilliseconds);
}

TEST(TraceErrors, RefuseMoreThan64Bits) {
  EXPECT_EQ(fields("0", "1024", "1", "[0,18446744073709551616]"),
            ":3: hash_ids[1]: does not fit 64 bits (18446744073709551616), " + kId);
  EXPECT_EQ(fields("0", "99999999999999999999999", "1", "[0,1]"),
            ":3: input_length: does not fit 64 bits (99999999999999999999999), " + kLength);
}

TEST(TraceErrors, CutLongValuesShort) {
  EXPECT_EQ(fields("0", std::string(1000, '9'), "1", "[0,1]"),
            ":3: input_length: does not fit 64 bits (" + std::string(40, '9') + "...), " + kLength);
}

TEST(TraceErrors, RefuseAnotherNumberOfIds) {
  EXPECT_EQ(fields("0", "1024", "1", "[0,1,2]"),
            ":3: hash_ids: has 3 ids, expected 2 = ceil(input_length 1024 / 512 tokens a block)");
  EXPECT_EQ(fields("0", "1025", "1", "[0,1]"),
            ":3: hash_ids: has 2 ids, expected 3 = ceil(input_length 1025 / 512 tokens a block)");
  EXPECT_EQ(fields("0", "1", "1", "[]"),
            ":3: hash_ids: has 0 ids, expected 1 = ceil(input_length 1 / 512 tokens a block)");
  EXPECT_EQ(fields("0", "9223372036854775807", "1", "[0]"),
            ":3: hash_ids: has 1 ids, expected 18014398509481984 = ceil(input_length "
            "9223372036854775807 / 512 tokens a block)");
  EXPECT_EQ(refusal(kGood, {.trace_block = 256}),
            ":1: hash_ids: has 2 ids, expected 4 = ceil(input_length 1024 / 256 tokens a block)");
  EXPECT_EQ(octavo(R"({"time_ns":0,"input_tokens":17,"output_tokens":1,"block_ids":[1]})"),
            ":2: block_ids: has 1 ids, expected 2 = ceil(input_tokens 17 / 16 tokens a block)");
}

TEST(TraceErrors, RefuseABadHeader) {
  EXPECT_EQ(refusal(R"({"octavo_trace":2,"block_size":16})"),
            ":1: octavo_trace: is version 2, expected version 1");
  EXPECT_EQ(refusal(R"({"octavo_trace":"1","block_size":16})"),
            ":1: octavo_trace: is a string (\"1\"), " + kInt64);
  EXPECT_EQ(refusal(R"({"octavo_trace":1})"),
            ":1: block_size: missing, expected the number of tokens an id stands for");
  EXPECT_EQ(refusal(R"({"octavo_trace":1,"block_size":0})"),
            ":1: block_size: is out of range (0), " + kLength);
  EXPECT_EQ(refusal(R"({"octavo_trace":1,"block_size":2147483648})"),
            ":1: block_size: is out of range (2147483648), expected an integer in [1, 2147483647]");
  EXPECT_EQ(refusal(std::string(kFirstLine), {.trace_block = 512}),
            ":1: block_size: is 16, expected the trace block asked for, 512");
  const std::string request = R"({"time_ns":0,"input_tokens":1,"output_tokens":1,"block_ids":[1]})"
                              "\n";
  EXPECT_EQ(refusal(kFirstLine + request + kFirstLine + request),
            ":3: octavo_trace: a second header, expected a request (files cannot be joined end to "
            "end)");
}

TEST(TraceErrors, RefuseALineOfMoreThan64MiB) {
  EXPECT_EQ(refusal(kGood + std::string(std::size_t{65} << 20, ' ')),
            ":2: the line is longer than 64 MiB, expected JSON lines");
}

TEST(TraceErrors, StayOneLineWhateverTheFileHolds) {
  const std::string message = mooncake(std::string("{\"timestamp\":\x01\x80\x00\xff", 17));
  EXPECT_EQ(message,
            ":3: not JSON: '" + std::string(4, '?') + "' at column 14, expected a JSON value");
  for (const char c : message) {
    EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  }
}

TEST(TraceErrors, AreRaisedAgainByEveryLaterCall) {
  const TempFile file(std::string(kGood) + "{}\n" + kGood);
  const auto reader = open_trace(file.path());
  TraceRequest request;
  ASSERT_TRUE(reader->next(request));
  const std::string first = input_error_of([&] { reader->next(request); });
  EXPECT_EQ(first, file.path() + ":2: timestamp: missing, expected milliseconds");
  EXPECT_EQ(input_error_of([&] { reader->next(request); }), first);
}

TEST(TraceErrors, RefuseATraceBlockOutOfRange) {
  for (const std::int64_t block : {std::int64_t{-1}, kTraceBlockMax + 1}) {
    try {
      open_trace("unused", {.trace_block = block});
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      EXPECT_EQ(std::string(error.what()),
                "open_trace: trace_block " + std::to_string(block) + " is outside [0, 2147483647]");
    }
  }
}

}  // namespace
}  // namespace octavo::sim
