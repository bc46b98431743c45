// The bounds: nobody beats them, they can be reached, and they are the published ones.

#include "octavo/sim/belady.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include "octavo/block_manager.h"
#include "octavo/error.h"
#include "octavo/sim/replay.h"
#include "octavo/sim/trace_generate.h"
#include "random_trace.h"
#include "recorded_trace.h"
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace octavo::sim {
namespace {

// The most blocks that any choice of what to keep can hit, by trying them all: after each request
// every set of blocks that the bound allows.
std::int64_t best_of_all_choices(const LoadedTrace& trace, std::int64_t pool, BeladyBound bound) {
  const std::int64_t block = trace.block_size();
  std::map<std::uint64_t, int> bits;
  std::map<std::uint32_t, std::int64_t> best{{0U, 0}};  // By what is kept.
  for (const TraceRequest& request : trace.requests()) {
    const std::int64_t needed = (request.input_tokens + block - 1) / block;
    if (needed > pool) {
      continue;
    }
    std::vector<std::uint32_t> path;
    std::uint32_t all = 0;
    for (std::int64_t i = 0; i < request.input_tokens / block; ++i) {
      const auto id = request.block_ids[static_cast<std::size_t>(i)];
      path.push_back(1U << bits.emplace(id, static_cast<int>(bits.size())).first->second);
      all |= path.back();
    }
    std::map<std::uint32_t, std::int64_t> next;
    for (const auto& [kept, hits] : best) {
      std::int64_t found = 0;
      while (found < needed - 1 && (kept & path[static_cast<std::size_t>(found)]) != 0) {
        ++found;
      }
      const bool pinned = bound == BeladyBound::Pinned;
      const std::uint32_t choices = pinned ? kept & ~all : kept | all;
      const std::int64_t room = pool - (pinned ? static_cast<std::int64_t>(path.size()) : 0);
      for (std::uint32_t chosen = choices;; chosen = (chosen - 1) & choices) {
        if (std::popcount(chosen) <= room) {
          auto& value = next[pinned ? chosen | all : chosen];
          value = std::max(value, hits + found);
        }
        if (chosen == 0) {
          break;
        }
      }
    }
    best = std::move(next);
  }
  std::int64_t most = 0;
  for (const auto& [kept, hits] : best) {
    most = std::max(most, hits);
  }
  return most * block;
}

RC_GTEST_PROP(Belady, ReachesTheBestOfAllChoicesOnTinyTraces, ()) {
  RandomTraceOptions options;
  options.requests = *rc::gen::inRange(1, 14);
  options.blocks_most = 3;
  options.fan_out = 2;  // At most 14 blocks.
  options.trace_block = 2;
  LoadedTrace trace = random_trace(*rc::gen::arbitrary<std::uint64_t>(), options);
  RC_PRE(!trace.requests().empty());
  const Belady belady(trace, options.trace_block);
  RC_PRE(belady.distinct_blocks() <= 9);
  for (std::int64_t pool = 1; pool <= 8; ++pool) {
    for (const BeladyBound bound : {BeladyBound::Dropping, BeladyBound::Pinned}) {
      RC_ASSERT(belady.run(pool, bound).hit_tokens == best_of_all_choices(trace, pool, bound));
    }
  }
}

// The policies that this block manager has.
std::vector<EvictionPolicy> pool_policies() {
  std::vector<EvictionPolicy> policies;
  for (int i = 0; i <= static_cast<int>(EvictionPolicy::Hdq); ++i) {
    BlockManagerConfig config;
    config.num_blocks = 1;
    config.max_seqs = 1;
    config.policy = static_cast<EvictionPolicy>(i);
    try {
      const BlockManager manager(config);
      policies.push_back(config.policy);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unimplemented);
    }
  }
  return policies;
}

// Empty when no policy hits more than the bounds, and the bounds are in order.
std::string who_beats_belady(LoadedTrace& trace,
                             std::int64_t block_size,
                             const std::vector<std::int64_t>& sizes) {
  static const std::vector<EvictionPolicy> policies = pool_policies();
  ReplayOptions options;
  options.block_size = block_size;
  options.blocks = sizes;
  options.policies = policies;
  options.full_blocks_only = true;
  trace.rewind();
  const ReplayResult result = replay(trace, options);
  trace.rewind();
  const Belady belady(trace, block_size);
  for (const ReplayRun& run : result.runs) {
    const BeladyRun pinned = belady.run(run.blocks, BeladyBound::Pinned);
    const BeladyRun dropping = belady.run(run.blocks, BeladyBound::Dropping);
    if (run.hit_tokens > pinned.hit_tokens || pinned.hit_tokens > dropping.hit_tokens ||
        run.requests != pinned.requests || run.requests != dropping.requests ||
        run.prompt_tokens != pinned.prompt_tokens ||
        run.rejected_requests != dropping.rejected_requests) {
      return std::string(to_string(run.policy)) + " at " + std::to_string(run.blocks) + ": " +
             std::to_string(run.hit_tokens) + ", pinned " + std::to_string(pinned.hit_tokens) +
             ", dropping " + std::to_string(dropping.hit_tokens);
    }
  }
  return "";
}

RC_GTEST_PROP(Belady, IsNeverBeatenByAPolicyOfThePool, ()) {
  RandomTraceOptions options;
  options.requests = *rc::gen::inRange(1, 60);
  options.blocks_most = *rc::gen::inRange(1, 8);
  options.fan_out = *rc::gen::inRange(1, 4);
  options.trace_block = *rc::gen::element(1, 2, 4, 6);
  options.tail_has_id = *rc::gen::arbitrary<bool>();
  LoadedTrace trace = random_trace(*rc::gen::arbitrary<std::uint64_t>(), options);
  RC_PRE(!trace.requests().empty());
  const std::int64_t block_size = *rc::gen::element(1, 2, 3, 4, 8);
  std::vector<std::int64_t> sizes(30);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = static_cast<std::int64_t>(i) + 1;
  }
  RC_ASSERT(who_beats_belady(trace, block_size, sizes) == "");
}

TEST(Belady, IsNeverBeatenOnGeneratedWorkloads) {
  for (const WorkloadKind kind :
       {WorkloadKind::Chat, WorkloadKind::Agent, WorkloadKind::Adversarial}) {
    WorkloadOptions options;
    options.kind = kind;
    options.requests = 300;
    LoadedTrace trace(*make_workload(options));
    EXPECT_EQ(who_beats_belady(trace, trace.block_size(), {10, 100, 300, 1000, 3000, 20000}), "")
        << to_string(kind);
  }
}

TEST(Belady, KeepsWhatComesBackFirst) {
  const auto request = [](std::vector<std::uint64_t> ids) {
    TraceRequest made;
    made.input_tokens = 10 * static_cast<std::int64_t>(ids.size()) + 1;  // A tail of one token.
    made.block_ids = std::move(ids);
    made.block_ids.push_back(1000 + made.block_ids.back());
    return made;
  };
  // Two sessions in turn. Three blocks can wait while the other is served in the same pool of six.
  LoadedTrace trace("test", 10,
                    {request({1, 2, 3}), request({4, 5, 6}), request({1, 2, 3}), request({4, 5, 6}),
                     request({1, 2, 3})});
  const Belady belady(trace, 10);
  EXPECT_EQ(belady.longest_blocks(), 4);
  EXPECT_EQ(belady.distinct_blocks(), 6);
  EXPECT_EQ(belady.run(6, BeladyBound::Dropping).hit_tokens, 90);
  EXPECT_EQ(belady.run(4, BeladyBound::Dropping).hit_tokens, 60 + 10);  // One is always on its way.
  EXPECT_EQ(belady.run(6, BeladyBound::Pinned).hit_tokens, 90);
  EXPECT_EQ(belady.run(5, BeladyBound::Pinned).hit_tokens, 60);  // Two of five beside three.
  EXPECT_EQ(belady.run(3, BeladyBound::Pinned).rejected_requests, 5);
}

TEST(Belady, NamesWhatIsOutOfRange) {
  const auto message = [](std::int64_t block_size, std::int64_t blocks,
                          const TraceTraits& traits = {}) {
    TraceRequest request;
    request.input_tokens = 1;
    request.block_ids = {1};
    LoadedTrace trace("the trace", 16, {request}, traits);
    try {
      Belady(trace, block_size).run(blocks, BeladyBound::Pinned);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message(65537, 1), "belady: block_size 65537 is outside [1, 65536]");
  EXPECT_EQ(message(16, 0), "belady: blocks 0 is outside [1, 2147483647]");
  EXPECT_EQ(message(16, 1), "no error");
  EXPECT_EQ(message(16, 1, {.prefix_ids = false}),
            "the trace: has no prefix ids, so nothing is known of what its prompts share, expected "
            "a trace with prefix ids");
}

struct Figure {
  const char* trace;
  std::int64_t blocks;
  const char* dropping;
  const char* pinned;
};

// Blocks of 512; pools of 1, 3 and 10 million tokens.
constexpr Figure kFigures[] = {
    {"conversation", 1953, "0.2576", "0.2516"},  {"conversation", 5859, "0.3599", "0.3584"},
    {"conversation", 19531, "0.3734", "0.3734"}, {"synthetic", 1953, "0.3826", "0.3773"},
    {"synthetic", 5859, "0.5597", "0.5593"},     {"synthetic", 19531, "0.6504", "0.6504"},
};

TEST(Belady, GivesThePublishedBoundsOfTheMooncakeTraces) {
  for (const Figure& figure : kFigures) {
    const auto path = mooncake_trace(figure.trace);
    if (!std::filesystem::exists(path)) {
      GTEST_SKIP() << path << " is not there";
    }
    const Belady belady(*open_trace(path.string()), 512);
    EXPECT_EQ(with_digits(belady.run(figure.blocks, BeladyBound::Dropping).hit_rate(), 4),
              figure.dropping)
        << figure.trace << " " << figure.blocks;
    EXPECT_EQ(with_digits(belady.run(figure.blocks, BeladyBound::Pinned).hit_rate(), 4),
              figure.pinned)
        << figure.trace << " " << figure.blocks;
  }
}

}  // namespace
}  // namespace octavo::sim
