// An engine's log: how it is read, and what Octavo's block manager makes of it.
#include "octavo/sim/serve/engine_log.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "configs.h"
#include "octavo/sim/input_error.h"
#include <gtest/gtest.h>
#include <unistd.h>

namespace octavo::sim {
namespace {

using testing::Json;

/// A request_end of blocks of 16 tokens. Times in ms; `ids` have an id for the tail.
struct Row {
  std::string session;
  std::uint64_t worker = 1;
  double received = 0;
  double wait = 1;
  double ttft = 10;
  double total = 100;
  std::int64_t input = 0;
  std::int64_t output = 1;
  std::int64_t cached = 0;
  std::vector<std::uint64_t> ids;
};

Json event_of(const Row& row) {
  constexpr std::int64_t kStartMs = 1'700'000'000'000;
  return {{"schema", "dynamo.request.trace.v1"},
          {"event_type", "request_end"},
          {"agent_context", {{"session_id", row.session}}},
          {"request",
           {{"request_id", "r"},
            {"input_tokens", row.input},
            {"output_tokens", row.output},
            {"cached_tokens", row.cached},
            {"request_received_ms", kStartMs + static_cast<std::int64_t>(row.received)},
            {"prefill_wait_time_ms", row.wait},
            {"ttft_ms", row.ttft},
            {"total_time_ms", row.total},
            {"worker", {{"prefill_worker_id", row.worker}, {"prefill_dp_rank", 0}}},
            {"replay", {{"trace_block_size", 16}, {"input_sequence_hashes", row.ids}}}}}};
}

class EngineLogs : public ::testing::Test {
 protected:
  EngineLogs() {
    path_ = (std::filesystem::temp_directory_path() /
             ("octavo_engine_log_test_" + std::to_string(::getpid()) + ".jsonl"))
                .string();
  }
  ~EngineLogs() override { std::filesystem::remove(path_); }

  EngineLog read(const std::vector<Json>& lines) {
    std::ofstream file(path_);
    for (const Json& line : lines) {
      file << line.dump() << '\n';
    }
    file.close();
    return read_engine_log(path_);
  }

  EngineLog read(const std::vector<Row>& rows) {
    std::vector<Json> lines;
    for (const Row& row : rows) {
      lines.push_back({{"timestamp", 5}, {"event", event_of(row)}});
    }
    return read(lines);
  }

  /// What reading one event complains about.
  std::string complaint(const Json& event) {
    try {
      read(std::vector<Json>(1, event));
    } catch (const InputError& error) {
      return std::string(error.what()).substr(path_.size());
    }
    return "";
  }

  std::string path_;
};

constexpr std::uint64_t kLargeId = 18'446'744'073'709'551'615U;

TEST_F(EngineLogs, AreReadInTheOrderOfReceipt) {
  const Json tool = {{"schema", "dynamo.request.trace.v1"}, {"event_type", "tool_start"}};
  const EngineLog log = read(
      std::vector<Json>{event_of({.session = "b",
                                  .received = 30.0,
                                  .wait = 0.25,
                                  .ttft = 2.000001,
                                  .total = 3,
                                  .input = 17,
                                  .output = 2,
                                  .ids = {1, kLargeId}}),
                        tool, event_of({.session = "a", .received = 10, .input = 16, .ids = {5}})});
  ASSERT_EQ(log.requests.size(), 2U);
  EXPECT_EQ(log.block_size, 16);
  EXPECT_EQ(log.requests[0].session, "a");
  EXPECT_EQ(log.requests[0].received_ns, 0);
  EXPECT_EQ(log.requests[0].line, 3);
  EXPECT_EQ(log.requests[1].received_ns, 20'000'000);
  EXPECT_EQ(log.requests[1].admitted_ns, 20'250'000);
  EXPECT_EQ(log.requests[1].prefilled_ns, 22'000'001);
  EXPECT_EQ(log.requests[1].ended_ns, 23'000'000);
  EXPECT_EQ(log.requests[1].ids.back(), kLargeId);
}

TEST_F(EngineLogs, AreRefusedByLineAndField) {
  const Json good = event_of({.session = "a", .input = 17, .ids = {1, 2}});
  Json bad = good;
  bad["schema"] = "dynamo.request.trace.v2";
  EXPECT_EQ(complaint(bad),
            ":1: schema: is \"dynamo.request.trace.v2\", expected \"dynamo.request.trace.v1\"");
  bad = good;
  bad["request"].erase("ttft_ms");
  EXPECT_EQ(complaint(bad), ":1: request.ttft_ms: is missing, expected milliseconds");
  bad = good;
  bad["request"]["ttft_ms"] = 0.5;
  EXPECT_EQ(complaint(bad),
            ":1: request.ttft_ms: is less than prefill_wait_time_ms, expected at least that");
  bad = good;
  bad["request"]["total_time_ms"] = "1";
  EXPECT_EQ(complaint(bad),
            ":1: request.total_time_ms: is \"1\", expected milliseconds in [0, 1000000000]");
  bad = good;
  bad["request"]["cached_tokens"] = 18;
  EXPECT_EQ(complaint(bad), ":1: request.cached_tokens: is 18, expected a whole number in [0, 17]");
  bad = good;
  bad["request"]["replay"]["input_sequence_hashes"] = Json::array({1, -2});
  EXPECT_EQ(complaint(bad),
            ":1: request.replay.input_sequence_hashes[1]: is -2, expected a whole number in [0, "
            "18446744073709551615]");
  bad["request"]["replay"]["input_sequence_hashes"] = Json::array({1});
  EXPECT_EQ(complaint(bad),
            ":1: request.replay.input_sequence_hashes: has 1 ids, expected 2 = ceil(input_tokens / "
            "trace_block_size)");
  EXPECT_EQ(complaint(Json{{"schema", "dynamo.request.trace.v1"}, {"event_type", "tool_end"}}),
            ": has no request_end events, expected an engine's log");
}

// Blocks of 16 tokens; the ids of a prompt's blocks are small numbers.
TEST_F(EngineLogs, ArePredictedWithTimesAndReplies) {
  const EngineLog log = read(std::vector<Row>{
      // 0: nothing is there. Its reply of 17 tokens fills one more block: the last is never fed.
      {.session = "s", .input = 32, .output = 17, .ids = {1, 2}},
      // 1: its prefill begins before that of request 0 ends: nothing yet.
      {.session = "t", .received = 5, .input = 40, .ids = {1, 2, 7}},
      // 2: another worker knows nothing.
      {.session = "u", .worker = 2, .received = 15, .input = 40, .ids = {1, 2, 8}},
      // 3: the prompt of request 0 is there, its reply not yet.
      {.session = "v", .received = 20, .input = 52, .cached = 32, .ids = {1, 2, 3, 9}},
      // 4: a prompt is never served whole.
      {.session = "w", .received = 30, .input = 32, .cached = 16, .ids = {1, 2}},
      // 5: goes on from request 0 and finds its reply.
      {.session = "s",
       .received = 200,
       .input = 64,
       .output = 34,
       .cached = 48,
       .ids = {1, 2, 3, 4}},
      // 6: goes on from request 5, whose reply (tokens 64 to 96) it repeats up to token 80.
      {.session = "s", .received = 400, .input = 100, .cached = 80, .ids = {1, 2, 3, 4, 5, 6, 10}},
  });
  const EngineLogPrediction prediction = predict_cached_tokens(log);
  const std::vector<std::int64_t> predicted = {0, 0, 0, 32, 16, 48, 96};
  const std::vector<std::int64_t> prompts_only = {0, 0, 0, 32, 16, 48, 64};
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    EXPECT_EQ(prediction.requests[i].predicted, predicted[i]) << i;
    EXPECT_EQ(prediction.requests[i].prompts_only, prompts_only[i]) << i;
  }
  EXPECT_EQ(prediction.requests[1].at_once, 32);  // were request 0 over before it comes
  EXPECT_EQ(prediction.equal_requests, 6);
  EXPECT_EQ(prediction.rewritten_requests, 1);
  EXPECT_EQ(prediction.unexplained_requests, 0);
  const LogPrediction& last = prediction.requests[6];
  EXPECT_EQ(last.difference, LogDifference::ReplyRewritten);
  EXPECT_EQ(last.explained, 80);
  EXPECT_EQ(last.previous, 5U);
  EXPECT_EQ(last.repeated_min, 16);
  EXPECT_EQ(last.repeated_max, 31);
  EXPECT_EQ(explanation(log, prediction, 6),
            "the prompt repeats 16 to 31 of the 34 tokens that request 5 generated");
}

// In the test above request 3 has put the block of the reply into the cache itself; here only the
// reply can have.
TEST_F(EngineLogs, FindRepliesThatNoPromptHasHad) {
  const EngineLog log = read(std::vector<Row>{
      {.session = "s", .input = 20, .output = 13, .ids = {1, 2}},
      {.session = "s", .received = 200, .input = 40, .cached = 32, .ids = {1, 3, 4}},
  });
  const EngineLogPrediction prediction = predict_cached_tokens(log);
  EXPECT_EQ(prediction.requests[1].predicted, 32);  // 20 + 12 tokens were fed: two blocks
  EXPECT_EQ(prediction.requests[1].prompts_only, 16);
  Row shorter{.session = "s", .input = 20, .output = 12, .ids = {1, 2}};
  const EngineLog one_less = read(std::vector<Row>{
      shorter, {.session = "s", .received = 200, .input = 40, .cached = 16, .ids = {1, 3, 4}}});
  EXPECT_EQ(predict_cached_tokens(one_less).requests[1].predicted, 16);
}

TEST_F(EngineLogs, LeaveUnexplainedWhatNoReplyCanExplain) {
  const EngineLog log = read(std::vector<Row>{
      {.session = "s", .input = 48, .ids = {1, 2, 3}},
      // Less than the prompt that was certainly there,
      {.session = "t", .received = 200, .input = 50, .cached = 16, .ids = {1, 2, 3, 4}},
      // and more than anything that was.
      {.session = "u", .received = 400, .input = 50, .cached = 32, .ids = {7, 8, 9, 10}},
  });
  const EngineLogPrediction prediction = predict_cached_tokens(log);
  EXPECT_EQ(prediction.requests[1].difference, LogDifference::Unexplained);
  EXPECT_EQ(prediction.requests[2].difference, LogDifference::Unexplained);
  EXPECT_EQ(prediction.unexplained_requests, 2);
  EXPECT_EQ(explanation(log, prediction, 1),
            "unexplained: 16 recorded, 48 predicted, 48 of prompts alone");
}

TEST_F(EngineLogs, EvictInAPoolThatIsTooSmallToKeepAll) {
  const std::vector<Row> rows = {
      {.session = "s", .input = 64, .ids = {1, 2, 3, 4}},
      {.session = "t", .received = 200, .input = 64, .ids = {5, 6, 7, 8}},
      {.session = "u", .received = 400, .input = 65, .ids = {1, 2, 3, 4, 9}},
  };
  EXPECT_EQ(predict_cached_tokens(read(rows)).requests[2].predicted, 64);
  EXPECT_EQ(predict_cached_tokens(read(rows), 5).requests[2].predicted, 16);
  EXPECT_THROW(predict_cached_tokens(read(rows), 4), Error);
}

// A run of Qwen3-14B with two workers and five sessions, with what the engine says it had cached.
TEST(RecordedLog, IsPredictedButForRewrittenReplies) {
  const auto path = testing::shared_file("traces/dynamo/pi_request_trace.jsonl");
  if (path.empty()) {
    GTEST_SKIP() << "no recorded log beside the repository";
  }
  const EngineLog log = read_engine_log(path.string());
  ASSERT_EQ(log.requests.size(), 17U);
  const EngineLogPrediction prediction = predict_cached_tokens(log);
  EXPECT_EQ(prediction.input_tokens, 66'520);
  EXPECT_EQ(prediction.recorded_tokens, 50'256);
  EXPECT_EQ(prediction.unexplained_requests, 0);
  EXPECT_EQ(prediction.equal_requests, 10);
  EXPECT_EQ(prediction.rewritten_requests, 7);
  for (std::size_t i = 0; i < log.requests.size(); ++i) {
    const LogPrediction& row = prediction.requests[i];
    EXPECT_EQ(row.explained, row.recorded) << i;
    EXPECT_GE(row.predicted, row.recorded) << i;
    EXPECT_LE(row.prompts_only, row.recorded) << i;
  }
  // Generated tokens are cached: prompts alone explain 4,736.
  EXPECT_EQ(prediction.requests[2].prompts_only, 4'736);
  EXPECT_EQ(prediction.requests[2].recorded, 5'232);
  EXPECT_EQ(prediction.requests[2].predicted, 5'440);
  // The request before was still in prefill: without times 96 would have been served.
  EXPECT_EQ(prediction.requests[5].at_once, 96);
  EXPECT_EQ(prediction.requests[5].predicted, 0);
}

}  // namespace
}  // namespace octavo::sim
