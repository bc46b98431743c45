// __syncthreads and its kin.
#include <string>
#include <vector>

#include "kernel_test.h"
#include <gmock/gmock-matchers.h>

namespace octavo::cuda {
inline namespace emulated {
namespace {

using testing::HasSubstr;

// Values pass around the block, one place a round.
__global__ void pass_around(int* out, int rounds) {
  OCTAVO_SHARED_ARRAY(int, values, 1024);
  int value = static_cast<int>(threadIdx.x);
  for (int round = 0; round < rounds; ++round) {
    values[threadIdx.x] = value;
    __syncthreads();
    value = values[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
  }
  out[threadIdx.x] = value;
}

TEST(Barrier, IsPassedWhenAllHaveCome) {
  for (const std::uint64_t seed : {0u, 3u, 4u}) {
    for (const unsigned threads : {1u, 7u, 32u, 100u, 1024u}) {
      SeededStream stream({.seed = seed});
      std::vector<int> out(threads);
      launch(pass_around, {1, threads}, stream, out.data(), 5);
      for (unsigned i = 0; i < threads; ++i) {
        ASSERT_EQ(out[i], static_cast<int>((i + 5) % threads)) << seed << ' ' << threads;
      }
    }
  }
}

// Five results of each thread.
__global__ void count(int* out) {
  int* own = out + threadIdx.x * 5;
  for (int round = 0; round < 3; ++round) {
    const int mine = static_cast<int>(threadIdx.x);
    own[0] = __syncthreads_count(mine < 5 + round ? 2 : 0);
    own[1] = __syncthreads_and(mine < 40);
    own[2] = __syncthreads_and(mine < 39);
    own[3] = __syncthreads_or(mine == 17);
    own[4] = __syncthreads_or(mine == 40);
  }
}

TEST(Barrier, CountsPredicates) {
  const int expected[] = {7, 1, 0, 1, 0};
  for (const std::uint64_t seed : {0u, 5u}) {
    SeededStream stream({.seed = seed});
    std::vector<int> out(40 * 5, -1);
    launch(count, {1, 40}, stream, out.data());
    for (std::size_t i = 0; i < out.size(); ++i) {
      EXPECT_EQ(out[i], expected[i % 5]) << i;
    }
  }
}

template <bool kDiverges>
__global__ void two_branches(int* out) {
  if (!kDiverges || threadIdx.x < 64) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}

TEST(Barrier, InTwoBranchesIsFound) {
  std::vector<int> out(128);
  launch(two_branches<false>, {1, 128}, {}, out.data());
  EXPECT_EQ(out, std::vector<int>(128, 1));
  const std::string error = kernel_error(two_branches<true>, {3, 128}, {}, out.data());
  EXPECT_THAT(error, testing::StartsWith("kernel error: divergent barrier: "));
  EXPECT_THAT(error, HasSubstr("barrier_test.cc:68:"));
  EXPECT_THAT(error, HasSubstr("barrier_test.cc:70:"));
  EXPECT_THAT(error, HasSubstr("thread (64,0,0)"));
  EXPECT_THAT(error, HasSubstr("thread (0,0,0)"));
  EXPECT_THAT(error, HasSubstr("block (0,0,0) of grid (3,1,1)"));
}

__global__ void two_on_one_line(int* out) {
  // clang-format off
  if (threadIdx.x < 64) { __syncthreads(); } else { __syncthreads(); }
  // clang-format on
  out[threadIdx.x] = 1;
}

TEST(Barrier, TwoOnOneLineAreTwo) {
  std::vector<int> out(128);
  EXPECT_THAT(kernel_error(two_on_one_line, {1, 128}, {}, out.data()),
              HasSubstr("divergent barrier"));
}

__global__ void of_another_kind(int* out) {
  if (threadIdx.x == 0) {
    out[0] = __syncthreads_count(1);
  } else {
    __syncthreads();
  }
}

TEST(Barrier, OfAnotherKindIsFound) {
  int out = 0;
  EXPECT_THAT(kernel_error(of_another_kind, {1, 33}, {}, &out), HasSubstr("__syncthreads_count"));
}

// The threads from `first` on pass a barrier that the others do not.
__global__ void skip_one(int* out, unsigned first) {
  if (threadIdx.x >= first) {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
  __syncthreads();
}

TEST(Barrier, SkippedBySomeIsFound) {
  for (const std::uint64_t seed : {0u, 6u}) {
    SeededStream stream({.seed = seed});
    std::vector<int> out(64);
    launch(skip_one, {1, 64}, stream, out.data(), 0u);
    launch(skip_one, {1, 64}, stream, out.data(), 64u);
    EXPECT_THAT(kernel_error(skip_one, {1, 64}, stream, out.data(), 1u),
                HasSubstr("divergent barrier"));
    EXPECT_THAT(kernel_error(skip_one, {1, 64}, stream, out.data(), 63u),
                HasSubstr("divergent barrier"));
  }
}

__global__ void leave_early(int* out, unsigned stays) {
  if (threadIdx.x >= stays) {
    return;
  }
  __syncthreads();
  out[threadIdx.x] = 1;
}

TEST(Barrier, LeftOutByThreadsThatEndIsFound) {
  std::vector<int> out(64);
  launch(leave_early, {1, 64}, {}, out.data(), 64u);
  launch(leave_early, {1, 64}, {}, out.data(), 0u);
  // Whether others wait already or come later.
  const std::string waiting = kernel_error(leave_early, {1, 64}, {}, out.data(), 60u);
  EXPECT_THAT(waiting, HasSubstr("thread (60,0,0) ends while 60 from thread (0,0,0) on wait in "
                                 "__syncthreads at "));
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    SeededStream stream({.seed = seed});
    EXPECT_THAT(kernel_error(leave_early, {1, 64}, stream, out.data(), 60u),
                testing::AnyOf(HasSubstr("ends while"), HasSubstr("threads have ended")));
  }
}

__global__ void leave_first(int* out) {
  if (threadIdx.x < 5) {
    return;
  }
  __syncthreads();
  out[threadIdx.x] = 1;
}

TEST(Barrier, AfterThreadsThatHaveEndedIsFound) {
  std::vector<int> out(64);
  EXPECT_THAT(kernel_error(leave_first, {1, 64}, {}, out.data()),
              HasSubstr("where thread (5,0,0) waits for the whole block, after 5 of its threads "
                        "have ended"));
}

__global__ void wait_for_each_other(int* out) {
  if (threadIdx.x == 0) {
    out[0] = __any_sync(0x3u, 1);
  } else if (threadIdx.x == 1) {
    __syncthreads();
  }
}

TEST(Barrier, ADeadlockNamesWhoWaitsWhere) {
  std::vector<int> out(2);
  const std::string error = kernel_error(wait_for_each_other, {1, 2}, {}, out.data());
  EXPECT_THAT(error, HasSubstr("deadlock: "));
  EXPECT_THAT(error, HasSubstr("1 from thread (0,0,0) on wait in __any_sync at "));
  EXPECT_THAT(error, HasSubstr("1 from thread (1,0,0) on wait in __syncthreads at "));
}

TEST(Barrier, AnErrorLeavesTheNextLaunchAlone) {
  for (const int workers : {1, 2}) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      SeededStream stream({.seed = seed, .workers = workers});
      std::vector<int> out(256);
      kernel_error(two_branches<true>, {4, 96}, stream, out.data());
      launch(pass_around, {1, 96}, stream, out.data(), 96);
      for (int i = 0; i < 96; ++i) {
        ASSERT_EQ(out[static_cast<std::size_t>(i)], i);
      }
    }
  }
}

}  // namespace
}  // namespace emulated
}  // namespace octavo::cuda
