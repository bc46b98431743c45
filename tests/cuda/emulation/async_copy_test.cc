// Asynchronous copies: when they take place, what they leave, what is wrong with them.
#include <cstdint>
#include <string>
#include <vector>

#include "kernel_test.h"
#include <gmock/gmock-matchers.h>

namespace octavo::cuda {
inline namespace emulated {
namespace {

using emulation::CopyTime;
using testing::HasSubstr;

constexpr std::uint32_t kPoison = 0xFFFFFFFFu;
constexpr unsigned kCopyThreads = 32;

std::vector<std::uint32_t> numbers(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<std::uint32_t>(i) + 1;
  }
  return values;
}

// Four stages in flight; `waits` for all but that many before the first is read.
template <int kLeft>
__global__ void pipeline(std::uint32_t* out, const std::uint32_t* in) {
  OCTAVO_SHARED_ARRAY(uint4, stages, 4 * kCopyThreads);
  for (unsigned stage = 0; stage < 4; ++stage) {
    const unsigned at = stage * kCopyThreads + threadIdx.x;
    async_copy<16>(&stages[at], in + at * 4, true);
    async_copy_commit();
  }
  async_copy_wait<kLeft>();
  for (unsigned stage = 0; stage < 4; ++stage) {
    out[stage * kCopyThreads + threadIdx.x] = stages[stage * kCopyThreads + threadIdx.x].w;
  }
}

// How many of the four stages a thread finds in place.
int stages_done(const std::vector<std::uint32_t>& out, unsigned thread) {
  int done = 0;
  for (unsigned stage = 0; stage < 4; ++stage) {
    const std::uint32_t value = out[stage * kCopyThreads + thread];
    const std::uint32_t expected = (stage * kCopyThreads + thread) * 4 + 4;
    EXPECT_TRUE(value == kPoison || value == expected) << value;
    done += value == expected ? 1 : 0;
  }
  return done;
}

template <int kLeft>
std::vector<std::uint32_t> run_pipeline(CopyTime time, std::uint64_t seed = 0) {
  SeededStream stream({.seed = seed, .copy_time = time});
  const std::vector<std::uint32_t> in = numbers(4 * 4 * kCopyThreads);
  std::vector<std::uint32_t> out(4 * kCopyThreads);
  launch(pipeline<kLeft>, {1, kCopyThreads}, stream, out.data(), in.data());
  return out;
}

TEST(AsyncCopy, LateOnesAreDoneByTheWaitAndNotBefore) {
  for (unsigned thread = 0; thread < kCopyThreads; ++thread) {
    EXPECT_EQ(stages_done(run_pipeline<0>(CopyTime::Lazy), thread), 4);
    EXPECT_EQ(stages_done(run_pipeline<1>(CopyTime::Lazy), thread), 3);
    EXPECT_EQ(stages_done(run_pipeline<3>(CopyTime::Lazy), thread), 1);
    EXPECT_EQ(stages_done(run_pipeline<4>(CopyTime::Lazy), thread), 0);
    EXPECT_EQ(stages_done(run_pipeline<9>(CopyTime::Lazy), thread), 0);
  }
}

TEST(AsyncCopy, EarlyOnesAreDoneAtOnce) {
  for (unsigned thread = 0; thread < kCopyThreads; ++thread) {
    EXPECT_EQ(stages_done(run_pipeline<4>(CopyTime::Eager), thread), 4);
  }
}

TEST(AsyncCopy, RandomOnesAreEitherTheSameInEveryRun) {
  for (const std::uint64_t seed : {0u, 3u}) {
    const auto out = run_pipeline<4>(CopyTime::Random, seed);
    int done = 0;
    for (unsigned thread = 0; thread < kCopyThreads; ++thread) {
      done += stages_done(out, thread);
    }
    EXPECT_GT(done, 32);
    EXPECT_LT(done, 96);
    EXPECT_EQ(out, run_pipeline<4>(CopyTime::Random, seed));
  }
}

// Copies over what an earlier round left.
template <bool kWaits>
__global__ void refill(std::uint32_t* out, const std::uint32_t* in) {
  OCTAVO_SHARED_ARRAY(std::uint32_t, word, 1);
  word[0] = 99;
  async_copy<4>(word, in, true);
  async_copy_commit();
  if (kWaits) {
    async_copy_wait<0>();
  }
  out[0] = word[0];
}

TEST(AsyncCopy, AnEarlierValueIsNotSeenBeforeTheWait) {
  SeededStream stream({.copy_time = CopyTime::Lazy});
  const auto in = numbers(1);
  std::uint32_t out = 0;
  launch(refill<true>, {1, 1}, stream, &out, in.data());
  EXPECT_EQ(out, 1u);
  launch(refill<false>, {1, 1}, stream, &out, in.data());
  EXPECT_EQ(out, kPoison);
}

__global__ void never_committed(std::uint32_t* out, const std::uint32_t* in) {
  OCTAVO_SHARED_ARRAY(std::uint32_t, words, 2);
  async_copy<4>(&words[0], &in[0], true);
  async_copy_commit();
  async_copy<4>(&words[1], &in[1], true);
  async_copy_wait<0>();
  out[0] = words[0];
  out[1] = words[1];
}

TEST(AsyncCopy, AWaitIsForCommittedGroups) {
  SeededStream stream({.copy_time = CopyTime::Lazy});
  const auto in = numbers(2);
  std::vector<std::uint32_t> out(2);
  launch(never_committed, {1, 1}, stream, out.data(), in.data());
  EXPECT_EQ(out, (std::vector<std::uint32_t>{1, kPoison}));
}

__global__ void source_changes(std::uint32_t* out, std::uint32_t* in) {
  OCTAVO_SHARED_ARRAY(std::uint32_t, word, 1);
  async_copy<4>(word, in, true);
  async_copy_commit();
  in[0] = 77;
  async_copy_wait<0>();
  out[0] = word[0];
}

TEST(AsyncCopy, LateOnesReadTheirSourceLate) {
  for (const CopyTime time : {CopyTime::Eager, CopyTime::Lazy}) {
    SeededStream stream({.copy_time = time});
    auto in = numbers(1);
    std::uint32_t out = 0;
    launch(source_changes, {1, 1}, stream, &out, in.data());
    EXPECT_EQ(out, time == CopyTime::Eager ? 1u : 77u);
  }
}

template <int kBytes>
__global__ void copy_some(unsigned char* out, const unsigned char* in, const void* nowhere) {
  OCTAVO_DYNAMIC_SHARED(bytes);
  for (unsigned i = threadIdx.x; i < 8; i += blockDim.x) {
    async_copy<kBytes>(bytes + i * kBytes, i < 5 ? in + i * kBytes : nowhere, i < 5);
  }
  async_copy_commit();
  async_copy_wait<0>();
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 8 * kBytes; i += blockDim.x) {
    out[i] = bytes[i];
  }
}

template <int kBytes>
void check_zero_fill() {
  for (const CopyTime time : {CopyTime::Eager, CopyTime::Lazy, CopyTime::Random}) {
    SeededStream stream({.copy_time = time});
    std::vector<unsigned char> in(8 * kBytes);
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i] = static_cast<unsigned char>(i + 1);
    }
    std::vector<unsigned char> out(in.size(), 0xAA);
    launch(copy_some<kBytes>, {1, 3, 8 * kBytes}, stream, out.data(), in.data(), nullptr);
    std::fill(in.begin() + 5 * kBytes, in.end(), 0);
    EXPECT_EQ(out, in);
  }
}

TEST(AsyncCopy, FillsWithZerosWithoutReadingWhereItIsOff) {
  check_zero_fill<4>();
  check_zero_fill<8>();
  check_zero_fill<16>();
}

__global__ void copy_from_to(const std::uint32_t* in, unsigned from, unsigned to) {
  OCTAVO_DYNAMIC_SHARED(bytes);
  async_copy<16>(bytes + to, in + from, true);
}
__global__ void copy_to_global(const std::uint32_t* in, std::uint32_t* out) {
  async_copy<4>(out, in, true);
}
__global__ void copy_within_shared() {
  OCTAVO_DYNAMIC_SHARED(bytes);
  async_copy<4>(bytes, bytes + 16, true);
}

TEST(AsyncCopy, MisalignedAndMisplacedOnesAreFound) {
  alignas(16) std::uint32_t in[12] = {};
  launch(copy_from_to, {1, 1, 64}, {}, in, 4u, 16u);
  EXPECT_THAT(kernel_error(copy_from_to, {1, 1, 64}, {}, in, 1u, 16u),
              HasSubstr("is not aligned to 16 bytes"));
  EXPECT_THAT(kernel_error(copy_from_to, {1, 1, 64}, {}, in, 4u, 8u),
              HasSubstr("is not aligned to 16 bytes"));
  EXPECT_THAT(kernel_error(copy_to_global, {1, 1, 64}, {}, in, in + 4),
              HasSubstr("the destination is not in shared memory"));
  EXPECT_THAT(kernel_error(copy_within_shared, {1, 1, 64}, {}),
              HasSubstr("the source is not in global memory"));
}

}  // namespace
}  // namespace emulated
}  // namespace octavo::cuda
