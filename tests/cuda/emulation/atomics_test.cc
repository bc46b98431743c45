// Atomics from many threads, and the order that fences give.
#include <cstdint>
#include <utility>
#include <vector>

#include "kernel_test.h"

namespace octavo::cuda {
inline namespace emulated {
namespace {

struct Counters {
  int sum = 0;
  unsigned count = 0;
  unsigned long long large = 1ull << 40;
  int highest = -1000;
  unsigned top = 0;
  unsigned owner = 0;
  unsigned wheel = 0;
  unsigned turns = 0;
};

__global__ void count_all(Counters* counters, int* winners) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&counters->sum, -static_cast<int>(thread));
  atomicAdd(&counters->count, 1u);
  atomicAdd(&counters->large, 1ull << 33);
  if (atomicInc(&counters->wheel, 6u) == 6) {
    atomicAdd(&counters->turns, 1u);
  }
  atomicMax(&counters->highest, static_cast<int>(thread * 7 % 1000) - 1000);
  atomicMax(&counters->top, thread * 7 % 1000);
  if (atomicCAS(&counters->owner, 0u, thread + 1) == 0) {
    atomicAdd(winners, 1);
  }
}

TEST(Atomics, LoseNothing) {
  for (const int workers : {1, 3}) {
    SeededStream stream({.seed = 1, .workers = workers});
    Counters counters;
    int winners = 0;
    launch(count_all, {20, 50}, stream, &counters, &winners);
    EXPECT_EQ(counters.sum, -999 * 1000 / 2);
    EXPECT_EQ(counters.count, 1000u);
    EXPECT_EQ(counters.large, (1ull << 40) + (1000ull << 33));
    EXPECT_EQ(counters.highest, -1);
    EXPECT_EQ(counters.top, 999u);
    EXPECT_EQ(winners, 1);
    EXPECT_EQ(counters.wheel, 1000u % 7);
    EXPECT_EQ(counters.turns, 1000u / 7);
    EXPECT_GT(counters.owner, 0u);
  }
}

__global__ void add_up(std::uint64_t* total, std::uint64_t* parts, unsigned* arrived) {
  OCTAVO_SHARED(bool, is_last);
  if (threadIdx.x == 1) {
    parts[blockIdx.x] = blockIdx.x * 3;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (is_last && threadIdx.x == 1) {
    for (unsigned i = 0; i < gridDim.x; ++i) {
      *total += parts[i];
    }
  }
}

// A counter beyond what it is counted to begins again too.
__global__ void count_on(unsigned* counter, unsigned most) {
  atomicInc(counter, most);
}

TEST(Atomics, IncBeginsAgainAtZero) {
  SeededStream stream({});
  for (const auto& [from, to] : {std::pair{2u, 3u}, {3u, 0u}, {4u, 0u}, {0u, 1u}}) {
    unsigned counter = from;
    launch(count_on, {1, 1}, stream, &counter, 3u);
    EXPECT_EQ(counter, to) << from;
  }
}

TEST(Atomics, LetTheLastBlockSeeWhatAllWrote) {
  for (const int workers : {1, 2, 4}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      SeededStream stream({.seed = seed, .workers = workers});
      std::vector<std::uint64_t> parts(100);
      std::uint64_t total = 0;
      unsigned arrived = 0;
      launch(add_up, {100, 2}, stream, &total, parts.data(), &arrived);
      EXPECT_EQ(total, 99u * 100 / 2 * 3);
    }
  }
}

}  // namespace
}  // namespace emulated
}  // namespace octavo::cuda
