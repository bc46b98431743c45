// Grids, blocks, their order and their limits.
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "kernel_test.h"

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

}  // namespace
}  // namespace emulated
}  // namespace octavo::cuda
