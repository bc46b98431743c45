// The replay: against a naive one, against itself with one token a block, and against published
// figures where the traces are there.

#include "octavo/sim/replay.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "naive_replay.h"
#include "octavo/error.h"
#include "octavo/sim/loaded_trace.h"
#include "octavo/sim/trace_generate.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

LoadedTrace workload(WorkloadKind kind, std::int64_t requests) {
  WorkloadOptions options;
  options.kind = kind;
  options.seed = 5;
  options.requests = requests;
  const std::unique_ptr<TraceReader> reader = make_workload(options);
  return LoadedTrace(*reader);
}

TraceRequest request(std::int64_t input_tokens, std::vector<std::uint64_t> ids) {
  TraceRequest request;
  request.input_tokens = input_tokens;
  request.block_ids = std::move(ids);
  return request;
}

void expect_same(const ReplayRun& run, const ReplayRun& expected, const std::string& what) {
  EXPECT_EQ(run.requests, expected.requests) << what;
  EXPECT_EQ(run.rejected_requests, expected.rejected_requests) << what;
  EXPECT_EQ(run.prompt_tokens, expected.prompt_tokens) << what;
  EXPECT_EQ(run.hit_tokens, expected.hit_tokens) << what;
  EXPECT_EQ(run.evicted_blocks, expected.evicted_blocks) << what;
}

TEST(Replay, AgreesWithANaiveReplayForEveryWorkloadPoolAndBatch) {
  for (const WorkloadKind kind :
       {WorkloadKind::Chat, WorkloadKind::Agent, WorkloadKind::Adversarial}) {
    LoadedTrace trace = workload(kind, kind == WorkloadKind::Agent ? 60 : 150);
    std::int64_t longest = 0;
    for (const TraceRequest& each : trace.requests()) {
      longest = std::max(longest, each.input_tokens);
    }
    for (const std::int64_t block_size : {trace.block_size(), trace.block_size() / 2}) {
      const std::int64_t most = (longest + block_size - 1) / block_size;
      for (const int live : {1, 3, 8}) {
        for (const std::int64_t blocks : {most - 1, most, most * 2, most * 20}) {
          ReplayOptions options;
          options.block_size = block_size;
          options.blocks = {blocks};
          options.live = live;
          options.full_blocks_only = true;
          trace.rewind();
          const ReplayRun run = replay(trace, options).runs[0];
          NaiveReplay naive(blocks, block_size, live);
          for (const TraceRequest& each : trace.requests()) {
            naive.serve(each, trace.block_size());
          }
          expect_same(run, naive.finish(),
                      std::string(to_string(kind)) + " block " + std::to_string(block_size) +
                          " blocks " + std::to_string(blocks) + " live " + std::to_string(live));
        }
      }
    }
  }
}

TEST(Replay, OneTokenABlockChangesNoResult) {
  for (const WorkloadKind kind :
       {WorkloadKind::Chat, WorkloadKind::Agent, WorkloadKind::Adversarial}) {
    LoadedTrace trace = workload(kind, 400);
    for (const int live : {1, 4}) {
      ReplayOptions options;
      options.block_size = 16;
      options.blocks = {700, 3000, 40000};
      options.live = live;
      options.full_blocks_only = true;
      trace.rewind();
      const ReplayResult pseudo = replay(trace, options);
      options.expand_tokens = true;
      trace.rewind();
      const ReplayResult expanded = replay(trace, options);
      EXPECT_TRUE(pseudo.pseudo_tokens);
      EXPECT_FALSE(expanded.pseudo_tokens);
      for (std::size_t i = 0; i < options.blocks.size(); ++i) {
        expect_same(pseudo.runs[i], expanded.runs[i], std::string(to_string(kind)));
        EXPECT_EQ(pseudo.runs[i].bound_blocks_max, expanded.runs[i].bound_blocks_max);
        EXPECT_EQ(pseudo.runs[i].parked_blocks_max, expanded.runs[i].parked_blocks_max);
      }
    }
  }
}

TEST(Replay, NeverLetsATokenStandForABlockThatItCannotTell) {
  LoadedTrace trace("test", 24, {request(48, {1, 2}), request(48, {1, 3})});
  ReplayOptions options;
  options.block_size = 16;  // Blocks lie across ids.
  options.blocks = {100};
  options.full_blocks_only = true;
  EXPECT_FALSE(replay(trace, options).pseudo_tokens);
  options.block_size = 8;
  options.full_blocks_only = false;  // Partial keys may be served inside a block.
  trace.rewind();
  EXPECT_FALSE(replay(trace, options).pseudo_tokens);
}

TEST(Replay, ServesUpToTheEndOfTheSharedIdButNeverAWholePrompt) {
  // 20 and 24 tokens share ids of 8: 16 tokens, four blocks of 4. Then the same prompt once more.
  LoadedTrace trace("test", 8,
                    {request(20, {1, 2, 3}), request(24, {1, 2, 4}), request(24, {1, 2, 4})});
  ReplayOptions options;
  options.block_size = 4;
  options.blocks = {100};
  options.full_blocks_only = true;
  const ReplayRun run = replay(trace, options).runs[0];
  EXPECT_EQ(run.hit_tokens, 16 + 20);
}

TEST(Replay, PartialKeysServeInsideABlockWhereAHistoryContinues) {
  // The first prompt ends inside a block of 16; the second one continues it.
  LoadedTrace trace("test", 4, {request(20, {1, 2, 3, 4, 5}), request(28, {1, 2, 3, 4, 5, 6, 7})});
  ReplayOptions options;
  options.block_size = 16;
  options.blocks = {10};
  EXPECT_EQ(replay(trace, options).runs[0].hit_tokens, 20);
  options.full_blocks_only = true;
  trace.rewind();
  EXPECT_EQ(replay(trace, options).runs[0].hit_tokens, 16);
}

TEST(Replay, CountsRequestsThatCanNeverFitAndGoesOn) {
  LoadedTrace trace("test", 16, {request(16, {1}), request(33, {1, 2, 3}), request(32, {1, 4})});
  ReplayOptions options;
  options.blocks = {2};
  const ReplayRun run = replay(trace, options).runs[0];
  EXPECT_EQ(run.requests, 2);
  EXPECT_EQ(run.rejected_requests, 1);
  EXPECT_EQ(run.prompt_tokens, 48);
  EXPECT_EQ(run.hit_tokens, 16);
}

TEST(Replay, RetiresTheOldestWhenThereIsNoRoom) {
  // Two of three blocks each: the second one does not fit beside the first.
  LoadedTrace trace("test", 16, {request(32, {1, 2}), request(32, {3, 4}), request(32, {3, 5})});
  ReplayOptions options;
  options.blocks = {3};
  options.live = 3;
  const ReplayRun run = replay(trace, options).runs[0];
  EXPECT_EQ(run.requests, 3);
  EXPECT_EQ(run.hit_tokens, 16);
  EXPECT_LE(run.bound_blocks_max, 3);
}

TEST(Replay, TakesTheFirstRequestsOnly) {
  LoadedTrace trace = workload(WorkloadKind::Chat, 50);
  ReplayOptions options;
  options.blocks = {10000};
  options.limit = 7;
  const ReplayResult result = replay(trace, options);
  EXPECT_EQ(result.requests, 7);
  EXPECT_EQ(result.runs[0].requests, 7);
}

TEST(Replay, TellsLargeIdsApart) {
  const std::uint64_t big = std::uint64_t{1} << 63;
  LoadedTrace trace("test", 1,
                    {request(2, {big, 5}), request(2, {big + 1, 5}), request(2, {big, 6})});
  ReplayOptions options;
  options.block_size = 1;
  options.blocks = {100};
  EXPECT_EQ(replay(trace, options).runs[0].hit_tokens, 1);
}

TEST(Replay, SameTraceSameDigest) {
  LoadedTrace trace = workload(WorkloadKind::Adversarial, 300);
  ReplayOptions options;
  options.blocks = {500};
  options.live = 4;
  const ReplayResult first = replay(trace, options);
  trace.rewind();
  EXPECT_EQ(first.runs[0].digest, replay(trace, options).runs[0].digest);
}

TEST(Replay, NamesTheOptionThatIsOutOfRange) {
  const auto message = [](auto change) {
    LoadedTrace trace("test", 16, {request(16, {1})});
    ReplayOptions options;
    options.blocks = {8};
    change(options);
    try {
      replay(trace, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message([](ReplayOptions& o) {
              o.blocks = {8, 0};
            }),
            "replay: blocks 0 is outside [1, 2147483647]");
  EXPECT_EQ(message([](ReplayOptions& o) { o.blocks = {}; }),
            "replay: number of pool sizes 0 is outside [1, 65536]");
  EXPECT_EQ(message([](ReplayOptions& o) { o.block_size = 0; }),
            "replay: block_size 0 is outside [1, 65536]");
  EXPECT_EQ(message([](ReplayOptions& o) { o.live = 0; }),
            "replay: live 0 is outside [1, 16777216]");
  EXPECT_EQ(message([](ReplayOptions& o) { o.limit = -1; }),
            "replay: limit -1 is outside [0, 9223372036854775807]");
}

// --- Recorded traces ---

struct Figure {
  const char* trace;
  std::int64_t block_size;
  std::int64_t blocks;
  std::int64_t hit_tokens;
  const char* rate;  // Of vLLM with the same pool, five digits.
};

// Rates: vLLM on the Mooncake traces. At block 16 vLLM keeps duplicates of a block where Octavo
// binds the canonical one, which is worth up to 48 tokens on the synthetic trace, below the digits.
constexpr Figure kFigures[] = {
    {"conversation", 512, 1953, 8089088, "0.05587"},
    {"conversation", 512, 5859, 20807680, "0.14371"},
    {"conversation", 512, 19531, 43092992, "0.29762"},
    {"conversation", 16, 62500, 7991312, "0.05519"},
    {"conversation", 16, 187500, 20544064, "0.14188"},
    {"conversation", 16, 625000, 42516208, "0.29363"},
    {"synthetic", 512, 1953, 9178624, "0.14999"},
    {"synthetic", 512, 5859, 19643392, "0.32100"},
    {"synthetic", 512, 19531, 35987456, "0.58808"},
    {"synthetic", 16, 62500, 9062224, "0.14809"},
    {"synthetic", 16, 187500, 19421600, "0.31737"},
    {"synthetic", 16, 625000, 35739968, "0.58404"},
};

class RecordedTrace : public testing::TestWithParam<Figure> {};

TEST_P(RecordedTrace, ReproducesTheHitRateOfVllm) {
  const Figure& figure = GetParam();
  const std::filesystem::path path = std::filesystem::path(OCTAVO_SOURCE_DIR) /
                                     "../shared/traces/mooncake" /
                                     (std::string(figure.trace) + "_trace.jsonl");
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is not there";
  }
  ReplayOptions options;
  options.block_size = figure.block_size;
  options.blocks = {figure.blocks};
  options.full_blocks_only = true;
  const ReplayRun run = replay(*open_trace(path.string()), options).runs[0];
  char rate[16];
  std::snprintf(rate, sizeof rate, "%.5f", run.hit_rate());
  EXPECT_STREQ(rate, figure.rate);
  EXPECT_EQ(run.hit_tokens, figure.hit_tokens);
  EXPECT_EQ(run.rejected_requests, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Mooncake, RecordedTrace, testing::ValuesIn(kFigures), [](const auto& tested) {
      return std::string(tested.param.trace) + "_block_" + std::to_string(tested.param.block_size) +
             "_blocks_" + std::to_string(tested.param.blocks);
    });

}  // namespace
}  // namespace octavo::sim
