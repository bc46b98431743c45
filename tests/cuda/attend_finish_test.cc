// The end of attention: the last block of a tile and KV head combines, whichever it is, and leaves
// the counter as it was.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "attend_case.h"
#include "attend_testing.h"
#include "octavo/cuda/emulated_device.h"
#include "octavo/error.h"
#include <gtest/gtest.h>

#include "cuda/src/operations.h"

namespace octavo::cuda_test {
namespace {

constexpr CaseRows kInt8Rows = {DType::Int8, KVCodec::Int8, KVScale::PerTokenHead};
constexpr CaseRows kBF16Rows = {DType::BF16, KVCodec::None, KVScale::PerTokenHead};

// A workspace that can be looked into. Partial results of an earlier launch are gone, so that a row
// that is combined too early shows.
class WatchedWorkspace final : public cuda::Workspace {
 public:
  void* at_least(std::int64_t size_bytes) override {
    const std::size_t lines = static_cast<std::size_t>(size_bytes) / sizeof(Line) + 1;
    memory_.resize(std::max(lines, memory_.size()));
    std::memset(memory_.data(), 0xFF, memory_.size() * sizeof(Line));
    return memory_.data();
  }

  bool has_counted() const {
    return std::any_of(counters.begin(), counters.end(), [](unsigned c) { return c != 0; });
  }

  std::vector<unsigned> counters;  ///< As the last launch left them.

 private:
  struct alignas(256) Line {
    std::array<unsigned char, 256> bytes;
  };

  unsigned* counters_at_least(std::int64_t count, bool clear) override {
    const std::size_t size = std::max(static_cast<std::size_t>(count), counters.size());
    if (clear) {
      counters.assign(size, 0);
    }
    counters.resize(size);
    return counters.data();
  }

  std::vector<Line> memory_;
};

// A device whose attention runs in `workspace`, in the order of `launches`.
std::shared_ptr<Device> attending_in(WatchedWorkspace& workspace,
                                     emulation::LaunchSequence& launches,
                                     const cuda::AttendOptions& options) {
  return std::make_shared<ChangedDevice>(
      make_emulated_device(), [&workspace, &launches, options](Device&, const AttendArg& arg) {
        cuda::attend(arg, options, workspace, {&launches});
      });
}

// Tiles of several chunks, of one and of none that is whole; some more tiles than there are.
AttendCase case_of(const CaseRows& rows, std::int64_t group) {
  AttendCase made;
  made.keys = rows;
  made.values = rows;
  made.group = group;
  made.lengths = {1100, 30, 513};
  made.queries = {1, 2, 1};
  made.sinks = true;
  return made;
}

CaseResult expected_of(const AttendCase& test, const CaseData& data) {
  return run_case(test, data, *make_cpu_device(1));
}

TEST(AttendFinish, AnyBlockMayBeTheLast) {
  for (const CaseRows& rows : {kBF16Rows, kInt8Rows}) {
    for (const bool general : {false, true}) {
      AttendCase test = case_of(rows, 3);
      test.partials = general;
      const CaseData data = make_data(test);
      const CaseResult expected = expected_of(test, data);
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        emulation::LaunchSequence launches{.options = {.seed = seed, .workers = seed < 3 ? 1 : 3}};
        WatchedWorkspace workspace;
        const auto device = attending_in(workspace, launches, {.general_only = general});
        for (int again = 0; again < 2; ++again) {
          EXPECT_EQ(difference(run_case(test, data, *device), expected), "") << seed;
          EXPECT_FALSE(workspace.has_counted()) << seed;
        }
        EXPECT_GE(workspace.counters.size(), 3u * 2u);
      }
    }
  }
}

// Fast attention of many rows a sequence combines as it goes, so that there are kernels of it; that
// of few goes through partial results.
TEST(AttendFinish, WideTilesNeedNoWorkspace) {
  constexpr CaseRows kF16Rows = {DType::F16, KVCodec::None, KVScale::PerTokenHead};
  constexpr CaseRows kE4M3Rows = {DType::E4M3, KVCodec::E4M3, KVScale::PerTokenHead};
  for (const CaseRows& rows : {kBF16Rows, kF16Rows, kE4M3Rows}) {
    for (const std::int64_t head_dim : {64, 128}) {
      for (const bool wide : {true, false}) {
        AttendCase test = case_of(rows, 4);
        test.kv_heads = 8;
        test.head_dim = head_dim;
        test.lengths = {70, 80};
        test.queries = {wide ? 64 : 2, wide ? 70 : 1};
        test.partials = false;
        const CaseData data = make_data(test);
        emulation::LaunchSequence launches;
        WatchedWorkspace workspace;
        const auto device = attending_in(workspace, launches, {.fast = true});
        EXPECT_FALSE(run_case(test, data, *device).out.empty());
        EXPECT_EQ(workspace.counters.empty(), wide) << to_string(rows.dtype) << ' ' << head_dim;
      }
    }
  }
}

// Each launch has another number of tiles and chunks, and the counters of the ones before.
TEST(AttendFinish, LaunchesFollowEachOtherInTheSameCounters) {
  emulation::LaunchSequence launches{.options = {.seed = 5}};
  WatchedWorkspace workspace;
  const auto device = attending_in(workspace, launches, {.workspace_bytes = 60000});
  for (const std::int64_t group : {4, 1, 8, 2}) {
    for (const std::int32_t tokens : {1, 40}) {
      AttendCase test = case_of(kBF16Rows, group);
      test.queries = {tokens, 1, tokens};
      test.window = group == 8 ? 300 : 0;
      const CaseData data = make_data(test);
      EXPECT_EQ(difference(run_case(test, data, *device), expected_of(test, data)), "") << group;
      EXPECT_FALSE(workspace.has_counted()) << group;
    }
  }
}

TEST(AttendFinish, ManyRowsOfManyTiles) {
  AttendCase test = case_of(kInt8Rows, 2);
  test.lengths = {700, 258, 1, 300};
  test.queries = {150, 129, 1, 1};
  test.partials = false;
  const CaseData data = make_data(test);
  const CaseResult expected = expected_of(test, data);
  for (const std::uint64_t seed : {0u, 9u}) {
    emulation::LaunchSequence launches{.options = {.seed = seed, .workers = 2}};
    WatchedWorkspace workspace;
    const auto device = attending_in(workspace, launches, {});
    EXPECT_EQ(difference(run_case(test, data, *device), expected), "");
    EXPECT_FALSE(workspace.has_counted());
    EXPECT_GT(workspace.counters.size(), 100u);
  }
}

// The largest score may lie behind the first 32, and with them behind the first of their weights.
TEST(AttendFinish, MoreChunksThanAWarpWeighsAtOnce) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    AttendCase test = case_of(kBF16Rows, 2);
    test.seed = seed;
    test.kv_heads = 1;
    test.lengths = {40 * 256 + 9};
    test.queries = {1};
    const CaseData data = make_data(test);
    emulation::LaunchSequence launches{.options = {.seed = seed}};
    WatchedWorkspace workspace;
    const auto device = attending_in(workspace, launches, {});
    EXPECT_EQ(difference(run_case(test, data, *device), expected_of(test, data)), "") << seed;
    EXPECT_FALSE(workspace.has_counted());
  }
}

TEST(AttendFinish, FastResultsDependOnNoOrderEither) {
  const AttendCase test = case_of(kBF16Rows, 5);
  const CaseData data = make_data(test);
  std::vector<CaseResult> results;
  for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
    emulation::LaunchSequence launches{.options = {.seed = seed}};
    WatchedWorkspace workspace;
    const auto device = attending_in(workspace, launches, {.fast = true, .tuned_only = true});
    results.push_back(run_case(test, data, *device));
    EXPECT_EQ(difference(results.back(), results.front()), "") << seed;
    EXPECT_FALSE(workspace.has_counted());
  }
}

// A launch that ends halfway has counted some of its blocks.
TEST(AttendFinish, CountersOfALaunchThatFailedAreZeroedAnew) {
  const AttendCase test = case_of(kInt8Rows, 3);
  const CaseData data = make_data(test);
  emulation::LaunchSequence launches;
  WatchedWorkspace workspace;
  bool misplaced = true;
  const auto device =
      std::make_shared<ChangedDevice>(make_emulated_device(), [&](Device&, const AttendArg& arg) {
        AttendArg changed = arg;
        if (misplaced) {  // Scales that no copy can begin at.
          changed.keys.scales =
              reinterpret_cast<float*>(reinterpret_cast<unsigned char*>(arg.keys.scales) + 1);
        }
        cuda::attend(changed, {}, workspace, {&launches});
      });
  EXPECT_THROW(run_case(test, data, *device), Error);
  ASSERT_FALSE(workspace.counters.empty());
  std::fill(workspace.counters.begin(), workspace.counters.end(), 1u);
  misplaced = false;
  EXPECT_EQ(difference(run_case(test, data, *device), expected_of(test, data)), "");
  EXPECT_FALSE(workspace.has_counted());
}

}  // namespace
}  // namespace octavo::cuda_test
