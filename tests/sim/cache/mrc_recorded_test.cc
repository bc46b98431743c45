// Published LRU figures of recorded traces, through the curve and through the replay.

#include <string>

#include "octavo/sim/loaded_trace.h"
#include "octavo/sim/mrc.h"
#include "octavo/sim/replay.h"
#include "recorded_trace.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

// Hits of one pool in tokens, after both ways have agreed.
std::int64_t hit_tokens(LoadedTrace& trace, std::int64_t block_size, std::int64_t blocks) {
  trace.rewind();
  ReplayOptions options;
  options.block_size = block_size;
  options.blocks = {blocks};
  options.full_blocks_only = true;
  const ReplayRun run = replay(trace, options).runs[0];
  trace.rewind();
  const MrcPoint point = compute_mrc(trace, {block_size, {blocks}, 0}).at(blocks);
  EXPECT_EQ(point.hit_tokens, run.hit_tokens) << trace.name() << " " << blocks;
  EXPECT_EQ(point.requests, run.requests) << trace.name() << " " << blocks;
  EXPECT_EQ(point.prompt_tokens, run.prompt_tokens) << trace.name() << " " << blocks;
  return run.hit_tokens;
}

struct Figure {
  const char* trace;
  std::int64_t block_size;
  std::int64_t blocks;
  const char* rate;
};

// Pools of 1, 3 and 10 million tokens in vLLM, hits by prompt tokens.
constexpr Figure kTokenRates[] = {
    {"conversation", 512, 1953, "0.05587"},  {"conversation", 512, 5859, "0.14371"},
    {"conversation", 512, 19531, "0.29762"}, {"conversation", 16, 62500, "0.05519"},
    {"conversation", 16, 187500, "0.14188"}, {"conversation", 16, 625000, "0.29363"},
    {"synthetic", 512, 1953, "0.14999"},     {"synthetic", 512, 5859, "0.32100"},
    {"synthetic", 512, 19531, "0.58808"},    {"synthetic", 16, 62500, "0.14809"},
    {"synthetic", 16, 187500, "0.31737"},    {"synthetic", 16, 625000, "0.58404"},
};

TEST(RecordedMrc, HasTheHitRatesOfVllm) {
  for (const char* name : {"conversation", "synthetic"}) {
    const auto path = mooncake_trace(name);
    if (!std::filesystem::exists(path)) {
      GTEST_SKIP() << path << " is not there";
    }
    LoadedTrace trace(*open_trace(path.string()));
    for (const std::int64_t block_size : {16, 512}) {
      trace.rewind();
      const Mrc mrc = compute_mrc(trace, {block_size, {}, 0});
      for (const Figure& figure : kTokenRates) {
        if (figure.trace == std::string(name) && figure.block_size == block_size) {
          EXPECT_EQ(with_digits(mrc.at(figure.blocks).hit_rate(), 5), figure.rate)
              << name << " " << block_size << " " << figure.blocks;
        }
      }
    }
  }
}

// Ids hit by ids, partial tails counted as blocks and whole prompts served, the deepest block
// parked first; pools in ids.
constexpr Figure kIdRates[] = {
    {"conversation", 512, 1000, "0.0445"},   {"conversation", 512, 10000, "0.2116"},
    {"conversation", 512, 30000, "0.3257"},  {"conversation", 512, 45697, "0.3535"},
    {"conversation", 512, 50000, "0.3546"},  {"conversation", 512, 91395, "0.3631"},
    {"conversation", 512, 100000, "0.3637"}, {"conversation", 512, 137092, "0.3659"},
    {"conversation", 512, 182790, "0.3664"}, {"synthetic", 512, 1000, "0.0841"},
    {"synthetic", 512, 10000, "0.4239"},     {"synthetic", 512, 30000, "0.6242"},
    {"synthetic", 512, 50000, "0.6396"},     {"synthetic", 512, 43924, "0.6396"},
};

// The same of a cache that is touched head first, which can keep a tail whose head has left.
constexpr struct {
  std::int64_t blocks;
  double rate;
} kHeadFirstRates[] = {{10981, .4434}, {21962, .5888}, {32943, .6292}};
constexpr double kHeadFirstGap = .0011;

// A token behind the last id makes every id a whole block that may be served. The token's own block
// is one that no prompt shares, and which the pool has beside those of the figure.
TEST(RecordedMrc, HasTheIdHitRatesOfPlainLru) {
  for (const char* name : {"conversation", "synthetic"}) {
    const auto path = mooncake_trace(name);
    if (!std::filesystem::exists(path)) {
      GTEST_SKIP() << path << " is not there";
    }
    const LoadedTrace recorded(*open_trace(path.string()));
    std::vector<TraceRequest> requests = recorded.requests();
    std::int64_t ids = 0;
    for (TraceRequest& request : requests) {
      ids += static_cast<std::int64_t>(request.block_ids.size());
      request.input_tokens = static_cast<std::int64_t>(request.block_ids.size()) * 512 + 1;
    }
    LoadedTrace trace(name, 512, std::move(requests), {.tail_has_id = false});
    for (const Figure& figure : kIdRates) {
      if (figure.trace == std::string(name)) {
        const std::int64_t hits = hit_tokens(trace, 512, figure.blocks + 1) / 512;
        EXPECT_EQ(with_digits(static_cast<double>(hits) / static_cast<double>(ids), 4), figure.rate)
            << name << " " << figure.blocks;
      }
    }
    if (name == std::string("synthetic")) {
      for (const auto& figure : kHeadFirstRates) {
        const std::int64_t hits = hit_tokens(trace, 512, figure.blocks + 1) / 512;
        EXPECT_NEAR(static_cast<double>(hits) / static_cast<double>(ids), figure.rate,
                    kHeadFirstGap)
            << figure.blocks;
      }
    }
  }
}

}  // namespace
}  // namespace octavo::sim
