// What the readers of other people's formats make of a file. Traps that are not of one format have
// tests of their own in trace_traps_test.cc.

#include "trace_testing.h"

namespace octavo::sim {
namespace {

using Ids = std::vector<std::uint64_t>;
using Indices = std::vector<std::int64_t>;

struct Opened {
  TraceFormat format;
  TraceTraits traits;
  std::int64_t block_size;
  std::int64_t skipped;
  std::vector<TraceRequest> requests;
};

Opened open_text(const std::string& content, const TraceOptions& options = {}) {
  const TempFile file(content);
  const auto reader = open_trace(file.path(), options);
  std::vector<TraceRequest> requests = read_all(*reader);
  return {reader->format(), reader->traits(), reader->block_size(), reader->skipped(),
          std::move(requests)};
}

TEST(DynamoRows, TakesAliasesAndMillisecondsWithFractions) {
  const Opened trace = open_text(
      R"({"request_id":"a","created_time":1.5,"input_tokens":5,"output_tokens":3,"hash_ids":[1]})"
      "\n"
      R"({"request_id":"b","timestamp":3,"input_length":513,"output_length":0,"hash_ids":[1,2]})");
  EXPECT_EQ(trace.format, TraceFormat::Dynamo);
  EXPECT_EQ(trace.block_size, 512);
  ASSERT_EQ(trace.requests.size(), 2U);
  EXPECT_EQ(trace.requests[0].arrival_ns, 1'500'000);
  EXPECT_EQ(trace.requests[0].input_tokens, 5);
  EXPECT_EQ(trace.requests[0].output_tokens, 3);
  EXPECT_EQ(trace.requests[1].arrival_ns, 3'000'000);
  EXPECT_FALSE(trace.requests[1].delay_ns.has_value());
}

TEST(DynamoRows, ClosesTheLoopOfASession) {
  const Opened trace = open_text(
      R"({"session_id":"s","timestamp":10,"input_length":5,"output_length":1,"hash_ids":[1]})"
      "\n"
      R"({"session_id":"t","timestamp":20,"input_length":5,"output_length":1,"hash_ids":[2]})"
      "\n"
      R"({"session_id":"s","delay":2.5,"input_length":6,"output_length":1,"hash_ids":[1]})"
      "\n"
      R"({"session_id":"t","timestamp":27,"input_length":6,"output_length":1,"hash_ids":[2]})"
      "\n"
      R"({"session_id":"s","input_length":7,"output_length":1,"hash_ids":[1]})"
      "\n"
      R"({"session_id":"s","delay_ms":1,"timestamp":90,"input_length":8,"output_length":1,)"
      R"("hash_ids":[1]})");
  ASSERT_EQ(trace.requests.size(), 6U);
  EXPECT_EQ(trace.requests[0].session, 0U);
  EXPECT_EQ(trace.requests[1].session, 1U);
  EXPECT_EQ(trace.requests[2].session, 0U);
  EXPECT_FALSE(trace.requests[0].delay_ns.has_value());
  EXPECT_EQ(trace.requests[2].delay_ns, 2'500'000);
  EXPECT_EQ(trace.requests[2].arrival_ns, 12'500'000);  // The earliest it can have been.
  EXPECT_EQ(trace.requests[3].delay_ns, 7'000'000);     // From the difference.
  EXPECT_EQ(trace.requests[3].arrival_ns, 27'000'000);
  EXPECT_EQ(trace.requests[4].delay_ns, 0);
  EXPECT_EQ(trace.requests[5].delay_ns, 1'000'000);  // The delay goes before the difference.
  EXPECT_EQ(trace.requests[5].arrival_ns, 90'000'000);
}

TEST(DynamoRows, WaitsForRequestsByName) {
  const Opened trace = open_text(
      R"({"request_id":"a","request_kind":"llm","timestamp":10,"input_length":5,"output_length":1,)"
      R"("hash_ids":[1],"wait_for":[]})"
      "\n"
      R"({"request_id":"b","timestamp":40,"input_length":5,"output_length":1,"hash_ids":[2]})"
      "\n"
      R"({"request_id":"c","wait_for":["a","b"],"delay":1.5,"tool_wait_ms":2,"input_length":5,)"
      R"("output_length":1,"hash_ids":[3],"tool_events":[{"tool_call_id":"x"}],)"
      R"("prefix_reset":true,"branches":["y"]})");
  ASSERT_EQ(trace.requests.size(), 3U);
  EXPECT_FALSE(trace.requests[0].delay_ns.has_value());
  EXPECT_EQ(trace.requests[2].wait_for, (Indices{0, 1}));
  EXPECT_EQ(trace.requests[2].delay_ns, 3'500'000);
  EXPECT_EQ(trace.requests[2].arrival_ns, 43'500'000);
}

TEST(DynamoRows, PutsTheStrictPriorityAboveTheOther) {
  const auto priority = [](const std::string& fields) {
    return read_text("{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[0]," +
                     fields + "}")
        .at(0)
        .priority;
  };
  EXPECT_EQ(priority("\"priority\":-7"), -7);
  EXPECT_EQ(priority("\"priority\":5,\"strict_priority\":0"), 5);
  EXPECT_LT(priority("\"priority\":2147483647,\"strict_priority\":1"),
            priority("\"priority\":-2147483648,\"strict_priority\":2"));
  EXPECT_EQ(priority("\"priority\":null,\"policy_class\":\"x\""), 0);
}

TEST(DynamoRows, TakesTheLengthOfTheOutputFromItsTokens) {
  EXPECT_EQ(
      read_text(R"({"timestamp":0,"input_length":1,"hash_ids":[0],"output_token_ids":[9,8,7]})")
          .at(0)
          .output_tokens,
      3);
}

TEST(DynamoRows, AreUnderstoodInAFileThatStartsAsPlainMooncake) {
  const auto requests = read_text(
      R"({"timestamp":0,"input_length":1,"output_length":1,"hash_ids":[0]})"
      "\n"
      R"({"timestamp":5,"input_length":1,"output_length":1,"hash_ids":[0],"session_id":"s"})"
      "\n"
      R"({"timestamp":9,"input_length":1,"output_length":1,"hash_ids":[0],"session_id":"s"})");
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_FALSE(requests[0].session.has_value());
  EXPECT_EQ(requests[2].delay_ns, 4'000'000);
}

TEST(AiperfRows, LackWhatTheFirstRowLacks) {
  const Opened bare = open_text("{\"input_length\":700}\n\n{\"input_length\":9}\n");
  EXPECT_EQ(bare.format, TraceFormat::Aiperf);
  EXPECT_FALSE(bare.traits.prefix_ids);
  EXPECT_FALSE(bare.traits.arrivals);
  EXPECT_FALSE(bare.traits.outputs);
  ASSERT_EQ(bare.requests.size(), 2U);
  EXPECT_EQ(bare.requests[1].input_tokens, 9);

  const Opened timed = open_text(R"({"input_length":700,"hash_ids":[1,2],"timestamp":1.25})");
  EXPECT_TRUE(timed.traits.prefix_ids);
  EXPECT_TRUE(timed.traits.arrivals);
  EXPECT_FALSE(timed.traits.outputs);
  EXPECT_EQ(timed.requests.at(0).arrival_ns, 1'250'000);
}

TEST(AiperfRows, TakesTheLengthThatStandsBesideAText) {
  const Opened trace =
      open_text(R"({"text_input":"hello","input_length":2,"output_length":5,"timestamp":0})");
  EXPECT_EQ(trace.format, TraceFormat::Aiperf);
  EXPECT_EQ(trace.requests.at(0).input_tokens, 2);
}

std::string bailian(const std::string& chat,
                    const std::string& parent,
                    const std::string& ids,
                    int tokens) {
  return "{\"chat_id\":" + chat + ",\"parent_chat_id\":" + parent +
         ",\"timestamp\":1.5,\"input_length\":" + std::to_string(tokens) +
         ",\"output_length\":2,\"type\":\"text\",\"turn\":1,\"hash_ids\":[" + ids + "]}\n";
}

TEST(BailianReader, ChainsContentIdsIntoPrefixIds) {
  const Opened trace = open_text(bailian("1", "-1", "5,7", 32) + bailian("2", "-1", "6,7", 32) +
                                 bailian("3", "-1", "5,7,7", 48) + bailian("4", "-1", "7", 16));
  EXPECT_EQ(trace.format, TraceFormat::Bailian);
  EXPECT_EQ(trace.block_size, 16);
  ASSERT_EQ(trace.requests.size(), 4U);
  const Ids& a = trace.requests[0].block_ids;
  const Ids& b = trace.requests[1].block_ids;
  const Ids& c = trace.requests[2].block_ids;
  EXPECT_EQ(a[0], c[0]);
  EXPECT_EQ(a[1], c[1]);
  EXPECT_NE(a[0], b[0]);
  EXPECT_NE(a[1], b[1]);  // The same content behind another one.
  EXPECT_NE(c[1], c[2]);  // The same content twice.
  EXPECT_NE(trace.requests[3].block_ids[0], a[1]);
  EXPECT_EQ(trace.requests[0].arrival_ns, 1'500'000'000);
}

TEST(BailianReader, FollowsParentsToTheRootOfTheConversation) {
  const Opened trace =
      open_text(bailian("10", "-1", "1", 1) + bailian("11", "11", "1", 1) +  // Its own parent.
                bailian("12", "10", "1", 1) + bailian("13", "12", "1", 1) +
                bailian("14", "99", "1", 1) + bailian("15", "99", "1", 1));  // Not in the file.
  std::vector<std::uint64_t> sessions;
  for (const TraceRequest& request : trace.requests) {
    sessions.push_back(request.session.value());
  }
  EXPECT_EQ(sessions, (std::vector<std::uint64_t>{10, 11, 10, 10, 99, 99}));
}

TEST(AzureReader, ReadsTheFilesOfEveryYear) {
  const Opened y2023 = open_text(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n"
      "2023-11-16 18:17:04.0319601,3180,0");
  EXPECT_EQ(y2023.format, TraceFormat::Azure);
  EXPECT_FALSE(y2023.traits.prefix_ids);
  ASSERT_EQ(y2023.requests.size(), 2U);
  EXPECT_EQ(y2023.requests[0].arrival_ns, 0);
  EXPECT_EQ(y2023.requests[1].arrival_ns, 52'000'100);
  EXPECT_EQ(y2023.requests[1].input_tokens, 3180);
  EXPECT_TRUE(y2023.requests[1].block_ids.empty());

  const Opened y2024 = open_text(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n"
      "2024-05-10 00:00:01+00:00,1,5\n");
  EXPECT_EQ(y2024.requests.at(1).arrival_ns, 990'070'000);

  const Opened y2025 = open_text(
      "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2025-02-03T04:05:06.789Z,3,100,7\n");
  EXPECT_EQ(y2025.requests.at(0).media, 3);
  EXPECT_EQ(y2025.requests.at(0).input_tokens, 100);
}

TEST(BurstGptReader, FindsColumnsOfBothReleases) {
  const Opened old = open_text(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n45.25,GPT-4,100,0,100,API log\n");
  EXPECT_EQ(old.format, TraceFormat::BurstGpt);
  ASSERT_EQ(old.requests.size(), 2U);
  EXPECT_EQ(old.requests[0].arrival_ns, 5'000'000'000);
  EXPECT_EQ(old.requests[1].arrival_ns, 45'250'000'000);
  EXPECT_EQ(old.requests[1].output_tokens, 0);  // A failed one.

  const Opened fresh = open_text(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log "
      "Type\n5,abc,3.5,ChatGPT,472,18,490,Conversation log\n6,,,GPT-4,9,1,10,API log\n"
      "7,abc,1,ChatGPT,500,18,518,Conversation log\n");
  ASSERT_EQ(fresh.requests.size(), 3U);
  EXPECT_EQ(fresh.requests[0].session, 0U);
  EXPECT_EQ(fresh.requests[0].service_ns, 3'500'000'000);
  EXPECT_FALSE(fresh.requests[1].session.has_value());
  EXPECT_FALSE(fresh.requests[1].service_ns.has_value());
  EXPECT_EQ(fresh.requests[2].session, 0U);
}

TEST(VidurReader, ReadsBothKinds) {
  const Opened replay =
      open_text("arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n0.0981894,3,0\n");
  EXPECT_TRUE(replay.traits.arrivals);
  EXPECT_EQ(replay.requests.at(1).arrival_ns, 98'189'400);
  EXPECT_EQ(replay.requests.at(1).output_tokens, 0);
  const Opened lengths = open_text(
      "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n3772,54,3826,69.85\n");
  EXPECT_FALSE(lengths.traits.arrivals);
  EXPECT_EQ(lengths.requests.at(0).input_tokens, 3772);
}

TEST(SplitwiseReader, ReadsSeconds) {
  const Opened trace = open_text(
      "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n"
      "0,2,0,0.5,1,374,44\n");
  EXPECT_EQ(trace.format, TraceFormat::Splitwise);
  EXPECT_EQ(trace.requests.at(0).arrival_ns, 500'000'000);
  EXPECT_EQ(trace.requests.at(0).input_tokens, 374);
  EXPECT_EQ(trace.requests.at(0).output_tokens, 44);
}

// A session whose second request starts two sub-agents at second 13; they end at 20 and 30.
constexpr char kWeka[] = R"({"id":"t","block_size":64,"hash_id_scope":"local","requests":[
 {"t":0.0,"type":"n","in":130,"out":4,"hash_ids":[1,2],"api_time":2.5},
 {"t":10,"type":"s","in":130,"out":4,"hash_ids":[1,2],"api_time":3,"ttft":0.5,"think_time":7.5},
 {"t":20,"type":"subagent","agent_id":"a","duration_ms":7000,"requests":[
   {"t":0,"type":"n","in":64,"out":2,"hash_ids":[8],"api_time":1},
   {"t":2,"type":"n","in":63,"out":2,"hash_ids":[],"api_time":5}]},
 {"t":30,"type":"subagent","agent_id":"b","duration_ms":17000,"total_tokens":null,"requests":[
   {"t":1,"type":"n","in":64,"out":2,"hash_ids":[8],"api_time":1}]},
 {"t":32,"type":"n","in":200,"out":0,"hash_ids":[1,2,3],"think_time":19},
 {"t":40,"type":"n","in":200,"out":1,"hash_ids":[1,2,3],"think_time":6}]}
)";

TEST(WekaReader, PlacesSubAgentsFromWhenTheyWereStarted) {
  const Opened trace = open_text(kWeka);
  EXPECT_EQ(trace.format, TraceFormat::Weka);
  EXPECT_EQ(trace.block_size, 64);
  EXPECT_FALSE(trace.traits.tail_has_id);
  ASSERT_EQ(trace.requests.size(), 7U);
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::vector<std::int64_t> seconds = {0, 10, 13, 14, 15, 32, 40};
  const std::vector<std::uint64_t> sessions = {0, 0, 1, 2, 1, 0, 0};
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    EXPECT_EQ(trace.requests[i].arrival_ns, seconds[i] * kSecond) << i;
    EXPECT_EQ(trace.requests[i].session, sessions[i]) << i;
    EXPECT_EQ(trace.requests[i].parent_session.has_value(), sessions[i] != 0) << i;
  }
  EXPECT_EQ(trace.requests[2].parent_session, 0U);
  EXPECT_EQ(trace.requests[2].block_ids, trace.requests[3].block_ids);  // One id space.
  EXPECT_EQ(trace.requests[1].ttft_ns, kSecond / 2);
  EXPECT_EQ(trace.requests[1].service_ns, 3 * kSecond);
}

TEST(WekaReader, TheParentGoesOnAfterItsSubAgents) {
  const Opened trace = open_text(kWeka);
  ASSERT_EQ(trace.requests.size(), 7U);
  constexpr std::int64_t kSecond = 1'000'000'000;
  EXPECT_FALSE(trace.requests[0].delay_ns.has_value());
  EXPECT_EQ(trace.requests[1].delay_ns, 7 * kSecond + kSecond / 2);
  EXPECT_EQ(trace.requests[2].wait_for, (Indices{1}));  // Started by the request before.
  EXPECT_EQ(trace.requests[2].delay_ns, 0);
  EXPECT_EQ(trace.requests[3].wait_for, (Indices{1}));
  EXPECT_EQ(trace.requests[3].delay_ns, kSecond);
  EXPECT_TRUE(trace.requests[4].wait_for.empty());
  EXPECT_EQ(trace.requests[4].delay_ns, kSecond);
  EXPECT_EQ(trace.requests[5].wait_for, (Indices{4, 3}));  // The last requests of both.
  EXPECT_EQ(trace.requests[5].delay_ns, 2 * kSecond);      // Since the later one ended, at 30.
  EXPECT_EQ(trace.requests[6].delay_ns, 6 * kSecond);      // As it says, without an api_time.
}

TEST(WekaReader, ReadsAFolderInTheOrderOfNamesAndKeepsIdSpacesApart) {
  const auto session = [](const std::string& scope, const std::string& t) {
    return "{\"block_size\":64,\"hash_id_scope\":\"" + scope + "\",\"requests\":[{\"t\":" + t +
           ",\"type\":\"n\",\"in\":64,\"out\":1,\"hash_ids\":[1],\"api_time\":1},{\"t\":" + t +
           ",\"type\":\"n\",\"in\":64,\"out\":1,\"hash_ids\":[1]}]}";
  };
  const TempFolder folder{{"b.json", session("local", "2")},
                          {"a.json", session("local", "1")},
                          {"d.json", session("global", "4")},
                          {"c.json", session("global", "3")},
                          {".hidden.json", "x"},
                          {"README.md", "x"}};
  const auto reader = open_trace(folder.path());
  EXPECT_EQ(reader->format(), TraceFormat::Weka);
  EXPECT_EQ(reader->name(), folder.path());
  const std::vector<TraceRequest> requests = read_all(*reader);
  ASSERT_EQ(requests.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(requests[i].session, i / 2);
    EXPECT_EQ(requests[i].arrival_ns, static_cast<std::int64_t>(i / 2 + 1) * 1'000'000'000);
  }
  EXPECT_EQ(requests[0].block_ids, requests[1].block_ids);
  EXPECT_NE(requests[0].block_ids, requests[2].block_ids);
  EXPECT_EQ(requests[4].block_ids, (Ids{1}));  // Global: as it stands.
  EXPECT_EQ(requests[6].block_ids, (Ids{1}));
}

TEST(DynamoTraceReader, SortsByArrivalAndCountsOtherEvents) {
  const auto end = [](const std::string& received, const std::string& rest) {
    return "{\"timestamp\":9,\"event\":{\"event_type\":\"request_end\",\"request\":{"
           "\"input_tokens\":20,\"output_tokens\":3,\"request_received_ms\":" +
           received +
           ",\"replay\":{\"trace_block_size\":16,\"input_length\":20,"
           "\"input_sequence_hashes\":[1,2]}" +
           rest + "}}}\n";
  };
  const Opened trace = open_text(
      "{\"event_type\":\"tool_start\",\"tool\":{\"request\":7}}\n" +
      end("1779163048815", ",\"cached_tokens\":16,\"ttft_ms\":1.5,\"total_time_ms\":20.25") +
      "{\"event\":{\"event_type\":\"request_payload\",\"request\":{\"input_tokens\":1}}}\n" +
      end("1779163048000", ",\"worker\":{\"prefill_worker_id\":18446744073709551615}") +
      end("1779163048000", ",\"worker\":{\"prefill_worker_id\":5,\"prefill_dp_rank\":1}"));
  EXPECT_EQ(trace.format, TraceFormat::DynamoTrace);
  EXPECT_EQ(trace.block_size, 16);
  EXPECT_EQ(trace.skipped, 2);
  ASSERT_EQ(trace.requests.size(), 3U);
  EXPECT_EQ(trace.requests[0].arrival_ns, 0);
  EXPECT_EQ(trace.requests[0].worker, 0U);
  EXPECT_EQ(trace.requests[1].arrival_ns, 0);  // A tie: as in the file.
  EXPECT_EQ(trace.requests[1].worker, 1U);
  EXPECT_EQ(trace.requests[2].arrival_ns, 815'000'000);
  EXPECT_EQ(trace.requests[2].cached_tokens, 16);
  EXPECT_EQ(trace.requests[2].ttft_ns, 1'500'000);
  EXPECT_EQ(trace.requests[2].service_ns, 20'250'000);
  EXPECT_FALSE(trace.requests[0].cached_tokens.has_value());
}

TEST(LlmServingSimReader, ChainsTokensIntoPrefixIds) {
  const std::string text =
      R"({"input_toks":5,"output_toks":2,"arrival_time_ns":5,"input_tok_ids":[1,2,3,4,5]})"
      "\n"
      R"({"arrival_time_ns":6,"input_tok_ids":[1,2,9,4],"input_toks":4,"output_toks":0})";
  const Opened trace = open_text(text, {.trace_block = 2});
  EXPECT_EQ(trace.format, TraceFormat::LlmServingSim);
  ASSERT_EQ(trace.requests.size(), 2U);
  const Ids& a = trace.requests[0].block_ids;
  const Ids& b = trace.requests[1].block_ids;
  ASSERT_EQ(a.size(), 2U);
  ASSERT_EQ(b.size(), 2U);
  EXPECT_EQ(a[0], b[0]);
  EXPECT_NE(a[1], b[1]);
  EXPECT_EQ(trace.requests[1].arrival_ns, 6);
  EXPECT_EQ(open_text(text).block_size, 16);
  EXPECT_FALSE(
      open_text(R"({"input_toks":5,"output_toks":2,"arrival_time_ns":5})").traits.prefix_ids);
}

TEST(LlmServingSimReader, TakesSessionsApart) {
  const Opened trace = open_text(
      R"({"input_toks":7,"output_toks":2,"arrival_time_ns":5})"
      "\n"
      R"({"session_id":"s","arrival_time_ns":100,"sub_requests":[)"
      R"({"input_toks":1,"output_toks":1,"tool_duration_ns":40},)"
      R"({"input_toks":2,"output_toks":1,"tool_duration_ns":2},{"input_toks":3,"output_toks":1}]})"
      "\n"
      R"({"session_id":"t","arrival_time_ns":101,"sub_requests":[]})"
      "\n"
      R"({"input_toks":8,"output_toks":2,"arrival_time_ns":110})");
  ASSERT_EQ(trace.requests.size(), 5U);
  EXPECT_FALSE(trace.requests[0].session.has_value());
  EXPECT_EQ(trace.requests[1].session, 0U);
  EXPECT_FALSE(trace.requests[1].delay_ns.has_value());
  EXPECT_EQ(trace.requests[2].delay_ns, 40);
  EXPECT_EQ(trace.requests[2].arrival_ns, 140);
  EXPECT_EQ(trace.requests[3].delay_ns, 2);
  EXPECT_EQ(trace.requests[3].arrival_ns, 142);
  EXPECT_EQ(trace.requests[4].input_tokens, 8);
  EXPECT_FALSE(trace.requests[4].delay_ns.has_value());
}

TEST(TairReader, TakesReadsAndCountsWrites) {
  const Opened trace = open_text(
      R"({"instance_id":"i","timestamp_us":999,"keys":[1],"tokens":[]})"
      "\n"
      R"({"instance_id":"i","timestamp_us":1000,"keys":[-1,-9223372036854775808],)"
      R"("query_type":"prefix_match","input_len":33,"output_len":4,"total_keys":[-1,2,3]})"
      "\n"
      R"({"instance_id":"j","timestamp_us":1002,"keys":[7],"query_type":"x","output_len":0})"
      "\n"
      R"({"instance_id":"i","timestamp_us":1001,"keys":[1]})");
  EXPECT_EQ(trace.format, TraceFormat::Tair);
  EXPECT_EQ(trace.skipped, 2);
  ASSERT_EQ(trace.requests.size(), 2U);
  EXPECT_EQ(trace.requests[0].arrival_ns, 0);
  EXPECT_EQ(trace.requests[0].block_ids, (Ids{18446744073709551615U, 9223372036854775808U}));
  EXPECT_EQ(trace.requests[0].output_tokens, 4);
  EXPECT_EQ(trace.requests[0].worker, 0U);
  EXPECT_EQ(trace.requests[1].arrival_ns, 2'000);
  EXPECT_EQ(trace.requests[1].input_tokens, 16);  // A read without a length is of whole blocks.
  EXPECT_EQ(trace.requests[1].worker, 1U);
}

TEST(OctavoReader, ReadsWhatTheHeaderSaysIsKnown) {
  const Opened trace = open_text(
      "{\"octavo_trace\":1,\"block_size\":16,\"prefix_ids\":false,\"arrivals\":false,"
      "\"outputs\":false}\n{\"input_tokens\":40}\n");
  EXPECT_FALSE(trace.traits.prefix_ids);
  EXPECT_FALSE(trace.traits.arrivals);
  EXPECT_FALSE(trace.traits.outputs);
  EXPECT_EQ(trace.requests.at(0).input_tokens, 40);
  const Opened whole = open_text(
      "{\"octavo_trace\":1,\"block_size\":16,\"tail_ids\":false}\n"
      "{\"time_ns\":1,\"input_tokens\":40,\"output_tokens\":1,\"block_ids\":[1,2]}\n");
  EXPECT_FALSE(whole.traits.tail_has_id);
}

TEST(UniqueTails, NameEveryTailOnce) {
  const std::string text =
      "{\"octavo_trace\":1,\"block_size\":16,\"tail_ids\":false}\n"
      "{\"time_ns\":1,\"input_tokens\":40,\"output_tokens\":1,\"block_ids\":[1,2]}\n"
      "{\"time_ns\":1,\"input_tokens\":40,\"output_tokens\":1,\"block_ids\":[1,2]}\n"
      "{\"time_ns\":1,\"input_tokens\":32,\"output_tokens\":1,\"block_ids\":[1,2]}\n";
  const Opened trace = open_text(text, {.unique_tails = true});
  EXPECT_TRUE(trace.traits.tail_has_id);
  EXPECT_EQ(trace.block_size, 16);
  ASSERT_EQ(trace.requests.size(), 3U);
  ASSERT_EQ(trace.requests[0].block_ids.size(), 3U);
  ASSERT_EQ(trace.requests[1].block_ids.size(), 3U);
  EXPECT_NE(trace.requests[0].block_ids[2], trace.requests[1].block_ids[2]);
  EXPECT_EQ(trace.requests[2].block_ids, (Ids{1, 2}));
}

}  // namespace
}  // namespace octavo::sim
