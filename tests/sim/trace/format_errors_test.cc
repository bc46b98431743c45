// What the readers of other people's formats refuse, and in which words: file, line, field, value,
// what was expected.

#include "trace_testing.h"

namespace octavo::sim {
namespace {

const std::string kCount = "expected an integer in [1, 9223372036854775807]";

// The refusal of the second of two Dynamo rows, each without its braces.
std::string dynamo(const std::string& first, const std::string& second) {
  return refusal("{" + first + "}\n{" + second + "}\n", {.format = TraceFormat::Dynamo});
}

constexpr char kRow[] = R"("timestamp":5,"input_length":5,"output_length":1,"hash_ids":[1])";
constexpr char kUntimed[] = R"("input_length":5,"output_length":1,"hash_ids":[1])";

TEST(DynamoErrors, RefuseATimeThatNothingDecides) {
  const std::string row = kRow;
  const std::string untimed = kUntimed;
  EXPECT_EQ(dynamo(row, untimed),
            ":2: timestamp: missing, expected milliseconds in a row that waits for no other");
  EXPECT_EQ(dynamo(untimed, row), ":2: timestamp: is there, expected none as in the first row");
  EXPECT_EQ(dynamo(row, row + R"(,"delay":1)"),
            ":2: delay: has nothing to count from, expected a session with a turn above, or "
            "wait_for");
  EXPECT_EQ(dynamo(row, row + R"(,"tool_wait_ms":1)").substr(0, 19), ":2: tool_wait_ms: h");
  EXPECT_EQ(dynamo(row + R"(,"session_id":"s")", R"("session_id":"s","timestamp":4,)" + untimed),
            ":2: timestamp: is before that of the session's turn above, expected turns in order");
  EXPECT_EQ(
      dynamo(row + R"(,"session_id":"s")", R"("session_id":"s","delay":9223372036854,)" + untimed),
      ":2: delay: leads past the largest time (9223372036854000000 ns after 5000000 ns), "
      "expected a time of at most 9223372036854775807 ns");
}

TEST(DynamoErrors, RefuseAWaitForWhatIsNotAbove) {
  const std::string row = kRow;
  EXPECT_EQ(dynamo(row + R"(,"request_id":"a")", row + R"(,"wait_for":["a","b"])"),
            ":2: wait_for[1]: is no request above (\"b\"), expected the request_id of one");
  EXPECT_EQ(dynamo(row, row + R"(,"request_id":"a","wait_for":["a"])"),
            ":2: wait_for[0]: is no request above (\"a\"), expected the request_id of one");
  EXPECT_EQ(dynamo(row + R"(,"request_id":"a")", row + R"(,"request_id":"a")"),
            ":2: request_id: occurs a second time (\"a\"), expected each once");
  EXPECT_EQ(dynamo(row, row + R"(,"wait_for":"a")"),
            ":2: wait_for: is a string (\"a\"), expected an array of names");
}

TEST(DynamoErrors, RefuseRowsThatDisagreeWithTheFirst) {
  EXPECT_EQ(dynamo(R"("input_length":5,"output_length":1)", kUntimed),
            ":2: hash_ids: has 1 ids, expected none as in the first row");
  EXPECT_EQ(dynamo(kUntimed, R"("input_length":5,"output_length":1)"),
            ":2: hash_ids: missing, expected an array of integers");
  EXPECT_EQ(dynamo(R"("input_length":5,"hash_ids":[1])", kUntimed),
            ":2: output_length: is there, expected none as in the first row");
  EXPECT_EQ(dynamo(kUntimed, R"("input_length":5,"hash_ids":[1])"),
            ":2: output_length: missing, expected a number of tokens");
}

TEST(DynamoErrors, RefuseAnAliasBesideItsName) {
  EXPECT_EQ(dynamo(kRow, std::string(kRow) + R"(,"input_tokens":5)"),
            ":2: input_tokens: occurs twice, expected once");
  EXPECT_EQ(dynamo(kRow, std::string(kRow) + R"(,"created_time":5)"),
            ":2: created_time: occurs twice, expected once");
}

TEST(DynamoErrors, RefuseAPriorityThatDoesNotFit) {
  EXPECT_EQ(dynamo(kRow, std::string(kRow) + R"(,"priority":2147483648)"),
            ":2: priority: is out of range (2147483648), expected an integer in [-2147483648, "
            "2147483647]");
  EXPECT_EQ(dynamo(kRow, std::string(kRow) + R"(,"strict_priority":-1)"),
            ":2: strict_priority: is out of range (-1), expected an integer in [0, 2147483647]");
  EXPECT_EQ(dynamo(kRow, std::string(kRow) + R"(,"priority":1.5)"),
            ":2: priority: is not written as an integer (1.5), expected an integer in "
            "[-9223372036854775808, 9223372036854775807]");
}

TEST(AiperfErrors, SayThatATokenizerIsNeeded) {
  for (const char* text : {R"("text_input":"hello")", R"("messages":[{"role":"user"}])"}) {
    EXPECT_EQ(refusal("{" + std::string(text) + ",\"timestamp\":0}"),
              ":1: input_length: missing in a row of text, expected a number of tokens: only the "
              "tokenizer of its model could count them");
  }
}

TEST(BailianErrors, NameTheField) {
  EXPECT_EQ(refusal(R"({"chat_id":1.5,"parent_chat_id":-1})"),
            ":1: chat_id: is not written as an integer (1.5), expected an integer in "
            "[-9223372036854775808, 9223372036854775807]");
  EXPECT_EQ(refusal(R"({"chat_id":1,"timestamp":1,"input_length":1})"),
            ":1: parent_chat_id: missing, expected the chat above, or -1");
  EXPECT_EQ(refusal(R"({"chat_id":1,"parent_chat_id":-1,"timestamp":-1})"),
            ":1: timestamp: is negative (-1), expected a number in [0, 9223372036]");
  EXPECT_EQ(refusal(R"({"chat_id":9223372036854775808})"),
            ":1: chat_id: is out of range (9223372036854775808), expected an integer in "
            "[-9223372036854775808, 9223372036854775807]");
}

TEST(CsvErrors, NameTheColumn) {
  const std::string azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  EXPECT_EQ(refusal(azure), ":1: only a header, expected requests behind it");
  EXPECT_EQ(refusal(azure + "2024-13-10 00:00:01,1,1\n"),
            ":2: TIMESTAMP: is no date with a time (2024-13-10 00:00:01), expected YYYY-MM-DD "
            "hh:mm:ss[.fraction][zone]");
  EXPECT_EQ(refusal(azure + "2024-12-10 00:00:01,x,1\n"),
            ":2: ContextTokens: is not written as an integer (x), " + kCount);
  EXPECT_EQ(refusal(azure + "2024-12-10 00:00:01,1\n"),
            ":2: has 2 values, expected 3 as in the header");
  EXPECT_EQ(refusal("TIMESTAMP,ContextTokens\n2024-12-10 00:00:01,1\n"),
            ":1: GeneratedTokens: missing, expected a column of that name");
  EXPECT_EQ(refusal("arrived_at,num_prefill_tokens,num_decode_tokens\n1e400,1,1\n"),
            ":2: arrived_at: is out of range (1e400), expected a number in [0, 9223372036]");
  EXPECT_EQ(refusal("arrival_timestamp,batch_size,prompt_size,token_size\n1,2,1,1\n"),
            ":2: batch_size: is 2, expected 1: a row is one request");
}

TEST(CsvErrors, RefuseTheLaterVidurWhoseIdsMeanSomethingElse) {
  EXPECT_EQ(
      refusal("arrived_at,num_prefill_tokens,num_decode_tokens,block_hash_ids\n1,1,1,x\n"),
      ":1: block_hash_ids: belongs to a later Vidur, which lengthens prompts and names blocks "
      "of prompt and output together, expected lengths and times only");
}

std::string weka(const std::string& requests) {
  return refusal("{\"block_size\":64,\n\"requests\":[" + requests + "]}");
}

TEST(WekaErrors, NameTheRequest) {
  EXPECT_EQ(weka(""), ": requests: there is none, expected at least one");
  EXPECT_EQ(weka(R"({"t":0,"type":"n","in":64,"out":1,"hash_ids":[1]},
                    {"t":0,"type":"n","in":-64})"),
            ":3: requests[1].in: is negative (-64), " + kCount);
  EXPECT_EQ(weka(R"({"t":0,"type":"x"})"),
            ":2: requests[0].type: is \"x\", expected \"n\", \"s\" or \"subagent\"");
  EXPECT_EQ(weka(R"({"type":"n"})"), ":2: requests[0].t: missing, expected seconds");
  EXPECT_EQ(weka(R"({"t":1,"type":"subagent","requests":[{"t":0,"type":"n","in":64,"out":1}]})"),
            ":2: requests[0].requests[0].hash_ids: missing, expected an array of integers");
  EXPECT_EQ(weka(R"({"t":1,"type":"subagent"})"),
            ":2: requests[0].requests: missing, expected an array of requests");
  EXPECT_EQ(weka(R"({"t":0,"type":"n","in":64,"out":1,"hash_ids":[1],"requests":[]})"),
            ":2: requests[0].requests: is there, expected it in a sub-agent only");
  EXPECT_EQ(weka("7"), ":2: a request is a number (7), expected an object");
  std::string deep;
  for (int i = 0; i < 18; ++i) {
    deep += R"({"t":1,"type":"subagent","requests":[)";
  }
  EXPECT_NE(weka(deep).find("nest more than 16 deep"), std::string::npos);
}

TEST(WekaErrors, RefuseABadSession) {
  EXPECT_EQ(refusal(R"({"requests":[]})"),
            ":1: block_size: missing, expected the number of tokens an id stands for");
  EXPECT_EQ(refusal(R"({"block_size":64,"hash_id_scope":"x","requests":[]})"),
            ":1: hash_id_scope: is another one, expected \"local\" or \"global\"");
  EXPECT_EQ(refusal(R"({"block_size":64,"requests":[]} {)"),
            ":1: not JSON: '{' at column 33, expected the end of the line after the object");
}

TEST(WekaErrors, NameTheFileOfAFolder) {
  const std::string request = R"({"t":0,"type":"n","in":16,"out":1,"hash_ids":[]})";
  const TempFolder folder{{"a.json", R"({"block_size":64,"requests":[)" + request + "]}"},
                          {"b.json", R"({"block_size":32,"requests":[)" + request + "]}"}};
  EXPECT_EQ(input_error_of([&] { read_all(*open_trace(folder.path())); }),
            folder.path() + "/b.json: block_size: is 32, expected 64 as in the first session");
  const TempFolder empty{{"a.json", ""}};
  EXPECT_EQ(input_error_of([&] { open_trace(empty.path()); }),
            empty.path() + "/a.json: is empty, expected a WEKA session");
}

std::string log_line(const std::string& replay, const std::string& more = "") {
  return "{\"event_type\":\"request_end\",\"request\":{\"input_tokens\":20,\"output_tokens\":1,"
         "\"request_received_ms\":1" +
         more + (replay.empty() ? "" : ",\"replay\":{" + replay + "}") + "}}\n";
}

TEST(DynamoTraceErrors, NameTheFieldWithItsPath) {
  const std::string good = log_line(R"("trace_block_size":16,"input_sequence_hashes":[1,2])");
  EXPECT_EQ(refusal(R"({"event_type":"tool_start"})"),
            ": has no request_end event, expected at least one");
  EXPECT_EQ(refusal(R"({"event":{"x":1}})"),
            ":1: event_type: missing, expected the kind of the event");
  EXPECT_EQ(
      refusal(good + R"({"event":{"event_type":"request_end","request":{"input_tokens":0}}})"),
      ":2: event.request.input_tokens: is out of range (0), " + kCount);
  EXPECT_EQ(
      refusal(log_line(R"("trace_block_size":16,"input_sequence_hashes":[1])")),
      ":1: request.replay.input_sequence_hashes: has 1 ids, expected 2 = ceil(input_tokens 20 "
      "/ 16 tokens a block)");
  EXPECT_EQ(
      refusal(good + log_line(R"("trace_block_size":32,"input_sequence_hashes":[1])")),
      ":2: request.replay.trace_block_size: is 32, expected 16 as asked for or in the requests "
      "above");
  EXPECT_EQ(refusal(good + log_line("")),
            ":2: request.replay: missing, expected hashes as in the requests above");
  EXPECT_EQ(refusal(log_line("") + good),
            ":2: request.replay: is there, expected none as in the requests above");
  EXPECT_EQ(
      refusal(log_line(R"("trace_block_size":16,"input_length":21,"input_sequence_hashes":[1,2])")),
      ":1: request.replay.input_length: is 21, expected 20 as in input_tokens");
  EXPECT_EQ(refusal(good, {.trace_block = 64}).substr(0, 38),
            ":1: request.replay.trace_block_size: i");
}

TEST(LlmServingSimErrors, NameTheRequest) {
  EXPECT_EQ(refusal(R"({"input_toks":2,"output_toks":1,"arrival_time_ns":1,"input_tok_ids":[1]})"),
            ":1: input_tok_ids: has 1 ids, expected 2 as in input_toks");
  EXPECT_EQ(refusal(R"({"input_toks":1,"output_toks":1,"arrival_time_ns":1,)"
                    R"("input_tok_ids":[4294967296]})"),
            ":1: input_tok_ids: has the token 4294967296, expected at most 4294967295");
  EXPECT_EQ(refusal(R"({"session_id":"s","arrival_time_ns":1,"sub_requests":[{"input_toks":1}]})"),
            ":1: sub_requests[0].output_toks: missing, expected a number of tokens");
  EXPECT_EQ(refusal(R"({"arrival_time_ns":1,"sub_requests":[{"input_toks":1,"output_toks":1}]})"),
            ":1: session_id: missing, expected the name of the session");
  EXPECT_EQ(refusal("{\"input_toks\":1,\"output_toks\":1,\"arrival_time_ns\":1}\n"
                    R"({"input_toks":1,"output_toks":1,"arrival_time_ns":1,"input_tok_ids":[1]})"),
            ":2: input_tok_ids: is there, expected none as in the first request");
  EXPECT_EQ(refusal(R"({"session_id":1,"arrival_time_ns":1,"sub_requests":[]})"),
            ":1: sub_requests: there is none, expected at least one request");
}

TEST(TairErrors, NameTheField) {
  EXPECT_EQ(refusal(R"({"timestamp_us":1,"keys":[1]})"),
            ": query_type: is in no record, expected at least one read of the cache");
  EXPECT_EQ(refusal(R"({"timestamp_us":1,"keys":[-9223372036854775809],"input_len":16})"),
            ":1: keys[0]: is out of range (-9223372036854775809), expected an integer in "
            "[-9223372036854775808, 18446744073709551615]");
  EXPECT_EQ(refusal(R"({"timestamp_us":1,"keys":[],"query_type":"x"})"),
            ":1: input_len: missing in a read without keys, expected a number of tokens");
  EXPECT_EQ(refusal("{\"timestamp_us\":1,\"keys\":[1],\"input_len\":16}\n"
                    R"({"timestamp_us":1,"keys":[1],"input_len":16,"output_len":1})"),
            ":2: output_len: is there, expected none as in the first read");
}

TEST(OctavoErrors, RefuseWhatTheHeaderSaysIsNotKnown) {
  const std::string header = "{\"octavo_trace\":1,\"block_size\":16,\"arrivals\":false}\n";
  EXPECT_EQ(refusal(header + R"({"time_ns":1,"input_tokens":1,"output_tokens":1,"block_ids":[1]})"),
            ":2: time_ns: is there, expected none: the header says that it is not known");
  EXPECT_EQ(refusal("{\"octavo_trace\":1,\"block_size\":16,\"tail_ids\":1}\n"),
            ":1: tail_ids: is a number (1), expected true or false");
  EXPECT_EQ(refusal("{\"octavo_trace\":1,\"block_size\":16,\"tail_ids\":false}\n"
                    R"({"time_ns":1,"input_tokens":17,"output_tokens":1,"block_ids":[1,2]})"),
            ":2: block_ids: has 2 ids, expected 1 = floor(input_tokens 17 / 16 tokens a block)");
  EXPECT_EQ(refusal(header + R"({"input_tokens":1,"output_tokens":1,"block_ids":[1],)"
                             R"("wait_for":[0]})"),
            ":2: wait_for: is no request above (0), expected numbers below 0");
  EXPECT_EQ(refusal(header + R"({"delay_ns":-1})").substr(0, 15), ":2: delay_ns: i");
}

}  // namespace
}  // namespace octavo::sim
