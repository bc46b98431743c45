// Grids, blocks, their order and their limits.
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "kernel_test.h"
#include <gmock/gmock-matchers.h>

namespace octavo::cuda {
inline namespace emulated {
namespace {

__global__ void count_threads(unsigned* seen) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  atomicAdd(&seen[block * blockDim.x * blockDim.y * blockDim.z + thread], 1u);
}

TEST(Launch, RunsEveryThreadOfEveryBlockOnce) {
  for (const std::uint64_t seed : {0u, 1u, 2u}) {
    for (const int workers : {1, 3, 0}) {
      SeededStream stream({.seed = seed, .workers = workers});
      std::vector<unsigned> seen(3 * 4 * 2 * 5 * 7 * 2);
      launch(count_threads, {dim3(3, 4, 2), dim3(5, 7, 2)}, stream, seen.data());
      EXPECT_EQ(seen, std::vector<unsigned>(seen.size(), 1)) << seed << ' ' << workers;
    }
  }
}

__global__ void log_blocks(unsigned* log, unsigned* count) {
  if (threadIdx.x == 0) {
    log[atomicAdd(count, 1u)] = blockIdx.x;
  }
}

__global__ void log_threads(unsigned* log, unsigned* count) {
  log[atomicAdd(count, 1u)] = threadIdx.x;
}

std::vector<unsigned> order_of(void (*kernel)(unsigned*, unsigned*),
                               const LaunchShape& shape,
                               Stream stream) {
  std::vector<unsigned> log(shape.grid.x * shape.block.x);
  unsigned count = 0;
  launch(kernel, shape, stream, log.data(), &count);
  log.resize(count);
  return log;
}

std::vector<unsigned> numbered(unsigned count) {
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

TEST(Launch, WithoutASeedFollowsTheNumbers) {
  EXPECT_EQ(order_of(log_blocks, {100, 3}, {}), numbered(100));
  EXPECT_EQ(order_of(log_threads, {1, 100}, {}), numbered(100));
}

TEST(Launch, ASeedDrawsAnotherOrderForEachLaunchTheSameInEveryRun) {
  for (const auto& [kernel, shape] :
       {std::pair{&log_blocks, LaunchShape{64, 2}}, std::pair{&log_threads, LaunchShape{1, 64}}}) {
    SeededStream one({.seed = 7});
    SeededStream same({.seed = 7});
    SeededStream other({.seed = 8});
    std::set<std::vector<unsigned>> orders{numbered(64)};
    for (int i = 0; i < 3; ++i) {
      const auto order = order_of(kernel, shape, one);
      EXPECT_EQ(order, order_of(kernel, shape, same));
      EXPECT_EQ(std::set<unsigned>(order.begin(), order.end()).size(), 64u);
      EXPECT_TRUE(orders.insert(order).second);
      EXPECT_TRUE(orders.insert(order_of(kernel, shape, other)).second);
    }
  }
}

// Where each thread came in its block, before and behind a barrier.
__global__ void log_places(unsigned* before, unsigned* behind, unsigned* counts) {
  before[blockIdx.x * blockDim.x + atomicAdd(&counts[blockIdx.x * 2], 1u)] = threadIdx.x;
  __syncthreads();
  behind[blockIdx.x * blockDim.x + atomicAdd(&counts[blockIdx.x * 2 + 1], 1u)] = threadIdx.x;
}

TEST(Launch, ASeedDrawsAnotherOrderForEachBlockAndBehindEachBarrier) {
  constexpr unsigned kBlocks = 8;
  constexpr unsigned kThreads = 32;
  SeededStream stream({.seed = 4});
  std::vector<unsigned> before(kBlocks * kThreads);
  std::vector<unsigned> behind(kBlocks * kThreads);
  std::vector<unsigned> counts(kBlocks * 2);
  launch(log_places, {kBlocks, kThreads}, stream, before.data(), behind.data(), counts.data());
  std::set<std::vector<unsigned>> orders;
  std::set<bool> last_goes_on;
  for (auto block = 0; block < static_cast<int>(kBlocks); ++block) {
    const auto order = [&](const std::vector<unsigned>& log) {
      const auto begin = log.begin() + block * static_cast<int>(kThreads);
      return std::vector<unsigned>(begin, begin + static_cast<int>(kThreads));
    };
    EXPECT_TRUE(orders.insert(order(before)).second);
    EXPECT_TRUE(orders.insert(order(behind)).second);
    last_goes_on.insert(order(before).back() == order(behind).front());
  }
  // Who comes last to a barrier is not always the first behind it.
  EXPECT_TRUE(last_goes_on.contains(false));
}

__global__ void hash_blocks(std::uint64_t* out, int rounds) {
  std::uint64_t value = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < rounds; ++i) {
    value = value * 6364136223846793005u + __shfl_xor_sync(0xFFFFFFFFu, value, 1 << i % 5);
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

TEST(Launch, WorkersGiveTheSameResults) {
  std::vector<std::uint64_t> expected(37 * 64);
  launch(hash_blocks, {37, 64}, {}, expected.data(), 20);
  for (const std::uint64_t seed : {0u, 9u}) {
    for (const int workers : {2, 5, 0}) {
      SeededStream stream({.seed = seed, .workers = workers});
      std::vector<std::uint64_t> out(expected.size());
      launch(hash_blocks, {37, 64}, stream, out.data(), 20);
      EXPECT_EQ(out, expected) << seed << ' ' << workers;
    }
  }
}

struct Large {
  int values[500];
};

__global__ void change_arguments(int* out, Large large, int step) {
  large.values[7] += step;
  step = large.values[7];
  atomicAdd(out, step);
}

TEST(Launch, GivesEachThreadItsOwnArguments) {
  Large large{};
  large.values[7] = 5;
  int out = 0;
  launch(change_arguments, {2, 10}, {}, &out, large, 1);
  EXPECT_EQ(out, 20 * 6);
  EXPECT_EQ(large.values[7], 5);
}

__global__ void nothing() {}

ErrorCode refusal(const LaunchShape& shape) {
  try {
    launch(nothing, shape, {});
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::Unimplemented;  // Not refused.
}

TEST(Launch, RefusesWhatAGpuRefuses) {
  for (const dim3& block :
       {dim3(0), dim3(1025), dim3(33, 32), dim3(1, 1, 65), dim3(1, 0, 1), dim3(65536, 65536)}) {
    EXPECT_EQ(refusal({1, block}), ErrorCode::DeviceError) << block.x << ' ' << block.y;
  }
  for (const dim3& grid :
       {dim3(0), dim3(1, 0), dim3(1, 1, 0), dim3(1, 65536), dim3(1, 1, 65536), dim3(0x80000000u)}) {
    EXPECT_EQ(refusal({grid, 1}), ErrorCode::DeviceError) << grid.x << ' ' << grid.y;
  }
  EXPECT_EQ(refusal({1, 1, 227 * 1024 + 1}), ErrorCode::DeviceError);
  std::vector<LaunchShape> legal{{1, 1024}, {1, dim3(4, 4, 64)}, {1, 1, 227 * 1024}};
  if (!emulation::kDetectsRaces) {  // Which takes its time for each block.
    legal.push_back({dim3(1, 65535), 1});
    legal.push_back({dim3(1, 1, 65535), 1});
  }
  for (const LaunchShape& shape : legal) {
    EXPECT_EQ(refusal(shape), ErrorCode::Unimplemented) << shape.grid.x << ' ' << shape.block.x;
  }
}

__global__ void launch_another() {
  launch(nothing, {1, 1}, {});
}

TEST(Launch, OfAKernelByAKernelIsFound) {
  EXPECT_THAT(kernel_error(launch_another, {1, 1}, {}),
              testing::HasSubstr("a kernel launches a kernel"));
}

__global__ void fill_stack(int depth, int* out) {
  volatile unsigned char frame[64 * 1024];
  frame[static_cast<unsigned>(depth)] = static_cast<unsigned char>(depth);
  out[threadIdx.x] = frame[static_cast<unsigned>(depth)];
}

TEST(Launch, ThreadsHaveRoomForLargeFrames) {
  std::vector<int> out(64);
  launch(fill_stack, {1, 64}, {}, 100, out.data());
  EXPECT_EQ(out, std::vector<int>(64, 100));
}

}  // namespace
}  // namespace emulated
}  // namespace octavo::cuda
