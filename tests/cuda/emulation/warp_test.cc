// Shuffles, votes and __syncwarp.
#include <cstdint>
#include <string>
#include <vector>

#include "kernel_test.h"
#include <gmock/gmock-matchers.h>

namespace octavo::cuda {
inline namespace emulated {
namespace {

using testing::HasSubstr;
constexpr unsigned kAll = 0xFFFFFFFFu;

template <typename T>
struct Shuffled {
  std::vector<T> by_lane{std::vector<T>(64)};
  std::vector<T> up{std::vector<T>(64)};
  std::vector<T> down{std::vector<T>(64)};
  std::vector<T> by_xor{std::vector<T>(64)};
};

template <typename T>
__global__ void shuffle(T* by_lane, T* up, T* down, T* by_xor, int argument, int width) {
  const T value = static_cast<T>(threadIdx.x) + static_cast<T>(0.5);
  by_lane[threadIdx.x] = __shfl_sync(kAll, value, argument, width);
  const auto distance = static_cast<unsigned>(argument);
  up[threadIdx.x] = __shfl_up_sync(kAll, value, distance, width);
  down[threadIdx.x] = __shfl_down_sync(kAll, value, distance, width);
  by_xor[threadIdx.x] = __shfl_xor_sync(kAll, value, argument, width);
}

// The PTX ISA's pseudo code of shfl.sync, with its segment mask and clamp.
int ptx_source(int lane, int b, int width, char mode) {
  const int segment = ~(width - 1) & 31;
  const int clamp = mode == 'u' ? 0 : 31;
  const int max_lane = (lane & segment) | (clamp & ~segment & 31);
  const int min_lane = lane & segment;
  int source = 0;
  bool is_valid = false;
  switch (mode) {
    case 'u':
      source = lane - b;
      is_valid = source >= max_lane;
      break;
    case 'd':
      source = lane + b;
      is_valid = source <= max_lane;
      break;
    case 'x':
      source = lane ^ b;
      is_valid = source <= max_lane;
      break;
    default:
      source = min_lane | (b & ~segment & 31);
      is_valid = source <= max_lane;
      break;
  }
  return is_valid ? source : lane;
}

template <typename T>
void check_shuffles(Stream stream) {
  for (const int width : {1, 2, 4, 8, 16, 32}) {
    for (int argument = 0; argument < 32; ++argument) {
      Shuffled<T> out;
      launch(shuffle<T>, {1, 64}, stream, out.by_lane.data(), out.up.data(), out.down.data(),
             out.by_xor.data(), argument, width);
      for (int i = 0; i < 64; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const auto expected = [&](char mode) {
          return static_cast<T>(i / 32 * 32 + ptx_source(i % 32, argument, width, mode)) +
                 static_cast<T>(0.5);
        };
        ASSERT_EQ(out.by_lane[at], expected('i')) << i << ' ' << argument << ' ' << width;
        ASSERT_EQ(out.up[at], expected('u')) << i << ' ' << argument << ' ' << width;
        ASSERT_EQ(out.down[at], expected('d')) << i << ' ' << argument << ' ' << width;
        ASSERT_EQ(out.by_xor[at], expected('x')) << i << ' ' << argument << ' ' << width;
      }
    }
  }
}

TEST(Warp, ShufflesAsThePtxIsaSays) {
  SeededStream shuffled({.seed = 2});
  check_shuffles<float>({});
  check_shuffles<double>({});
  check_shuffles<std::int32_t>(shuffled);
  check_shuffles<std::uint64_t>(shuffled);
}

__global__ void vote(unsigned* ballots, int* any, int* all) {
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  ballots[threadIdx.x] = __ballot_sync(kAll, lane % 3 == warp);
  any[threadIdx.x] = __any_sync(kAll, lane == 5 && warp == 1);
  all[threadIdx.x] = __all_sync(kAll, lane != 5 || warp == 1);
}

TEST(Warp, Votes) {
  std::vector<unsigned> ballots(64);
  std::vector<int> any(64);
  std::vector<int> all(64);
  launch(vote, {1, 64}, {}, ballots.data(), any.data(), all.data());
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(ballots[i], i < 32 ? 0x49249249u : 0x92492492u);
    EXPECT_EQ(any[i], i < 32 ? 0 : 1);
    EXPECT_EQ(all[i], i < 32 ? 0 : 1);
  }
}

// Quarters of a warp go their own ways, each as often as it likes.
__global__ void vote_in_quarters(unsigned* out) {
  const unsigned first = threadIdx.x / 8 * 8;
  const unsigned mask = 0xFFu << first;
  unsigned sum = 0;
  for (unsigned i = 0; i <= first; ++i) {
    sum += __ballot_sync(mask, 1) >> first;
    __syncwarp(mask);
  }
  out[threadIdx.x] = sum;
}

TEST(Warp, DisjointMasksAreIndependent) {
  for (const std::uint64_t seed : {0u, 1u, 2u}) {
    SeededStream stream({.seed = seed});
    std::vector<unsigned> out(32);
    launch(vote_in_quarters, {1, 32}, stream, out.data());
    for (unsigned i = 0; i < 32; ++i) {
      EXPECT_EQ(out[i], 0xFFu * (i / 8 * 8 + 1));
    }
  }
}

__global__ void vote_in_last_warp(unsigned* out) {
  out[threadIdx.x] = __ballot_sync(kAll, 1);
  __syncwarp();
}

TEST(Warp, LanesBeyondTheBlockTakeNoPart) {
  std::vector<unsigned> out(40);
  launch(vote_in_last_warp, {1, 40}, {}, out.data());
  EXPECT_EQ(out[31], kAll);
  EXPECT_EQ(out[39], 0xFFu);
}

__global__ void exchange_in_warp(int* out) {
  OCTAVO_SHARED_ARRAY(int, values, 64);
  for (int round = 0; round < 4; ++round) {
    values[threadIdx.x] = static_cast<int>(threadIdx.x) + round;
    __syncwarp();
    out[threadIdx.x] = values[threadIdx.x ^ 31u];
    __syncwarp();
  }
}

TEST(Warp, SyncwarpWaitsForTheWarp) {
  for (const std::uint64_t seed : {0u, 1u, 2u}) {
    SeededStream stream({.seed = seed});
    std::vector<int> out(64);
    launch(exchange_in_warp, {1, 64}, stream, out.data());
    for (unsigned i = 0; i < 64; ++i) {
      EXPECT_EQ(out[i], static_cast<int>(i ^ 31u) + 3);
    }
  }
}

template <bool kDiverges>
__global__ void shuffle_in_branches(int* out) {
  int value = static_cast<int>(threadIdx.x);
  if (!kDiverges || threadIdx.x % 32 < 16) {
    value = __shfl_xor_sync(kAll, value, 1);
  } else {
    value = __shfl_xor_sync(kAll, value, 1);
  }
  out[threadIdx.x] = value;
}

TEST(Warp, ACollectiveInTwoBranchesIsFound) {
  std::vector<int> out(32);
  launch(shuffle_in_branches<false>, {1, 32}, {}, out.data());
  EXPECT_EQ(out[0], 1);
  const std::string error = kernel_error(shuffle_in_branches<true>, {1, 32}, {}, out.data());
  EXPECT_THAT(error, HasSubstr("divergent warp: thread (16,0,0) comes to __shfl_xor_sync at "));
  EXPECT_THAT(error, HasSubstr("warp_test.cc:173:"));
  EXPECT_THAT(error, HasSubstr("warp_test.cc:175:"));
  EXPECT_THAT(error, HasSubstr("lanes 0x0000ffff wait"));
}

// Every lane of the warp names `mask`, at one place.
__global__ void vote_with(int* out, unsigned mask) {
  out[threadIdx.x] = __any_sync(mask, 1);
}

TEST(Warp, ALaneThatIsNotInItsMaskIsFound) {
  std::vector<int> out(32);
  launch(vote_with, {1, 32}, {}, out.data(), kAll);
  launch(vote_with, {1, 8}, {}, out.data(), 0xFFu);
  EXPECT_THAT(kernel_error(vote_with, {1, 32}, {}, out.data(), 0xFFFFFF7Fu),
              HasSubstr("lane 7 is not in the mask 0xffffff7f"));
}

__global__ void vote_with_own_mask(int* out) {
  out[threadIdx.x] = __any_sync(threadIdx.x < 16 ? 0xFFFFFFFFu : 0xFFFF0000u, 1);
}

TEST(Warp, MasksThatDifferAreFound) {
  std::vector<int> out(32);
  const std::string error = kernel_error(vote_with_own_mask, {1, 32}, {}, out.data());
  EXPECT_THAT(error, HasSubstr("divergent warp"));
  EXPECT_THAT(error, HasSubstr("0xffff0000"));
}

__global__ void read_lane(int* out, unsigned mask, int lane) {
  if ((mask >> threadIdx.x & 1u) != 0) {
    out[threadIdx.x] = __shfl_sync(mask, static_cast<int>(threadIdx.x), lane);
  }
}

TEST(Warp, ReadingALaneThatTakesNoPartIsFound) {
  std::vector<int> out(32);
  launch(read_lane, {1, 32}, {}, out.data(), 0xFFu, 7);
  EXPECT_EQ(out[0], 7);
  EXPECT_THAT(kernel_error(read_lane, {1, 32}, {}, out.data(), 0xFFu, 8),
              HasSubstr("lane 0 reads lane 8, which takes no part (mask 0x000000ff)"));
  EXPECT_THAT(kernel_error(read_lane, {1, 20}, {}, out.data(), kAll, 20),
              HasSubstr("reads lane 20, which takes no part"));
}

__global__ void shuffle_by(int* out, int distance, int width) {
  out[threadIdx.x] = __shfl_xor_sync(kAll, 1, distance, width);
}

TEST(Warp, WidthsAndDistancesThatDoNotExistAreFound) {
  std::vector<int> out(32);
  launch(shuffle_by, {1, 32}, {}, out.data(), 31, 32);
  EXPECT_THAT(kernel_error(shuffle_by, {1, 32}, {}, out.data(), 32, 32),
              HasSubstr("the distance 32 is outside [0, 32)"));
  EXPECT_THAT(kernel_error(shuffle_by, {1, 32}, {}, out.data(), 1, 12),
              HasSubstr("the width 12 is no power of two up to 32"));
}

__global__ void end_in_warp(int* out, unsigned stays) {
  if (threadIdx.x % 32 >= stays) {
    return;
  }
  out[threadIdx.x] = __any_sync(kAll, 1);
}

TEST(Warp, ALaneThatEndsWhileOthersWaitForItIsFound) {
  std::vector<int> out(64);
  launch(end_in_warp, {1, 64}, {}, out.data(), 32u);
  EXPECT_THAT(kernel_error(end_in_warp, {1, 64}, {}, out.data(), 30u),
              HasSubstr("thread (30,0,0) ends while lanes 0x3fffffff wait for it in __any_sync"));
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    SeededStream stream({.seed = seed});
    EXPECT_THAT(kernel_error(end_in_warp, {1, 64}, stream, out.data(), 1u),
                testing::AnyOf(HasSubstr("ends while lanes"), HasSubstr("which has ended")));
  }
}

__global__ void end_first(int* out) {
  if (threadIdx.x % 32 < 3) {
    return;
  }
  out[threadIdx.x] = __any_sync(kAll, 1);
}

TEST(Warp, AMaskThatNamesALaneThatHasEndedIsFound) {
  std::vector<int> out(64);
  EXPECT_THAT(kernel_error(end_first, {1, 64}, {}, out.data()),
              HasSubstr("the mask 0xffffffff names lane 0, which has ended"));
}

}  // namespace
}  // namespace emulated
}  // namespace octavo::cuda
