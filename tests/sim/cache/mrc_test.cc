// The curve is what the replay counts, at every size.

#include "octavo/sim/mrc.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "octavo/error.h"
#include "octavo/sim/replay.h"
#include "octavo/sim/trace_generate.h"
#include "random_trace.h"
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace octavo::sim {
namespace {

// Every size from one block to beyond the working set.
std::vector<std::int64_t> all_sizes(LoadedTrace& trace, std::int64_t block_size) {
  trace.rewind();
  MrcOptions options;
  options.block_size = block_size;
  const Mrc mrc = compute_mrc(trace, options);
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size <= mrc.working_set_blocks() + 3; ++size) {
    sizes.push_back(size);
  }
  return sizes;
}

ReplayResult replay_at(LoadedTrace& trace,
                       std::int64_t block_size,
                       const std::vector<std::int64_t>& sizes) {
  ReplayOptions options;
  options.block_size = block_size;
  options.blocks = sizes;
  options.full_blocks_only = true;
  trace.rewind();
  return replay(trace, options);
}

// Empty when the curve is the replay's at all of `sizes`; else what differs first.
std::string first_difference(LoadedTrace& trace,
                             std::int64_t block_size,
                             const std::vector<std::int64_t>& sizes) {
  const ReplayResult replayed = replay_at(trace, block_size, sizes);
  MrcOptions options;
  options.block_size = block_size;
  options.at = sizes;
  trace.rewind();
  const Mrc mrc = compute_mrc(trace, options);
  for (const ReplayRun& run : replayed.runs) {
    const MrcPoint point = mrc.at(run.blocks);
    if (point.hit_tokens != run.hit_tokens || point.requests != run.requests ||
        point.rejected_requests != run.rejected_requests ||
        point.prompt_tokens != run.prompt_tokens) {
      return "blocks of " + std::to_string(block_size) + ", pool of " + std::to_string(run.blocks) +
             " (longest " + std::to_string(mrc.longest_blocks) + "): replay hits " +
             std::to_string(run.hit_tokens) + " in " + std::to_string(run.requests) +
             " requests, the curve " + std::to_string(point.hit_tokens) + " in " +
             std::to_string(point.requests);
    }
  }
  return "";
}

RC_GTEST_PROP(Mrc, IsTheReplayAtEverySize, ()) {
  RandomTraceOptions options;
  options.requests = *rc::gen::inRange(1, 80);
  options.blocks_most = *rc::gen::inRange(1, 9);
  options.fan_out = *rc::gen::inRange(1, 5);
  options.trace_block = *rc::gen::element(1, 2, 4, 6);
  options.tail_has_id = *rc::gen::arbitrary<bool>();
  options.prefix_ids = *rc::gen::weightedElement<bool>({{4, true}, {1, false}});
  LoadedTrace trace = random_trace(*rc::gen::arbitrary<std::uint64_t>(), options);
  RC_PRE(!trace.requests().empty());
  // Pool blocks that divide the trace's, are made of them, and lie across them.
  const std::int64_t block_size = *rc::gen::element(1, 2, 3, 4, 8);
  RC_ASSERT(first_difference(trace, block_size, all_sizes(trace, block_size)) == "");
}

TEST(Mrc, IsTheReplayForGeneratedWorkloads) {
  for (const WorkloadKind kind :
       {WorkloadKind::Chat, WorkloadKind::Agent, WorkloadKind::Adversarial}) {
    WorkloadOptions options;
    options.kind = kind;
    options.seed = 11;
    options.requests = 400;
    LoadedTrace trace(*make_workload(options));
    for (const std::int64_t block_size : {trace.block_size(), std::int64_t{16}}) {
      trace.rewind();
      const Mrc mrc = compute_mrc(trace, {block_size, {}, 0});
      std::vector<std::int64_t> sizes = mrc.spread_sizes(12);
      for (const std::int64_t part : {40, 10, 4, 2}) {
        sizes.push_back(std::max<std::int64_t>(1, mrc.longest_blocks / part));
      }
      EXPECT_EQ(first_difference(trace, block_size, sizes), "") << to_string(kind);
    }
  }
}

TEST(Mrc, AnIdOfTwoLengthsIsCutWhereTheShorterOneEnds) {
  // Id 7 once stands for 5 tokens and then for 16: no prefix id, and yet what the replay counts.
  const auto request = [](std::int64_t tokens, std::vector<std::uint64_t> ids) {
    TraceRequest made;
    made.input_tokens = tokens;
    made.block_ids = std::move(ids);
    return made;
  };
  LoadedTrace trace("test", 16,
                    {request(32, {7, 8}), request(5, {7}), request(20, {7, 9}), request(12, {7}),
                     request(33, {7, 8, 1}), request(30, {7, 8}), request(16, {7})});
  for (const std::int64_t block_size : {1, 2, 4, 8, 16}) {
    EXPECT_EQ(first_difference(trace, block_size, all_sizes(trace, block_size)), "");
  }
}

TEST(Mrc, NeverFallsAndEndsWhereNothingIsEverEvicted) {
  WorkloadOptions options;
  options.requests = 300;
  LoadedTrace trace(*make_workload(options));
  const Mrc mrc = compute_mrc(trace, {16, {}, 0});
  EXPECT_TRUE(std::is_sorted(mrc.hits.begin(), mrc.hits.end()));
  const std::int64_t most = mrc.working_set_blocks();
  EXPECT_LT(mrc.at(most - 1).hit_tokens, mrc.at(most).hit_tokens);
  EXPECT_EQ(mrc.at(most).hit_tokens, mrc.at(2147483647).hit_tokens);
  EXPECT_LE(most, mrc.distinct_blocks + 1);
  const std::vector<std::int64_t> steps = mrc.breakpoints();
  EXPECT_EQ(steps.front(), mrc.longest_blocks);
  EXPECT_EQ(steps.back(), most);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    ASSERT_EQ(mrc.at(steps[i] - 1).hit_tokens, mrc.at(steps[i - 1]).hit_tokens);
    ASSERT_LT(mrc.at(steps[i] - 1).hit_tokens, mrc.at(steps[i]).hit_tokens);
  }
  const std::vector<std::int64_t> sizes = mrc.spread_sizes(20);
  EXPECT_EQ(sizes.front(), mrc.longest_blocks);
  EXPECT_EQ(sizes.back(), most);
  EXPECT_LE(sizes.size(), 20U);
}

TEST(Mrc, NamesWhatIsOutOfRange) {
  const auto message = [](const MrcOptions& options, const TraceTraits& traits = {}) {
    TraceRequest request;
    request.input_tokens = 40;
    request.block_ids = {1, 2, 3};
    LoadedTrace trace("the trace", 16, {request}, traits);
    try {
      compute_mrc(trace, options).at(2);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message({0, {}, 0}), "mrc: block_size 0 is outside [1, 65536]");
  EXPECT_EQ(message({16, {8, 0}, 0}), "mrc: blocks 0 is outside [1, 2147483647]");
  EXPECT_EQ(message({16, {}, -1}), "mrc: limit -1 is outside [0, 9223372036854775807]");
  EXPECT_EQ(message({16, {}, 0}),
            "mrc: blocks 2 is below the longest request and was not asked for, expected at least "
            "3");
  EXPECT_EQ(message({16, {2}, 0}), "no error");
  EXPECT_EQ(message({16, {2}, 0}, {.prefix_ids = false}),
            "the trace: has no prefix ids, so nothing is known of what its prompts share, expected "
            "a trace with prefix ids");
}

}  // namespace
}  // namespace octavo::sim
