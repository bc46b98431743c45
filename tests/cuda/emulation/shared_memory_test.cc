// Static and dynamic shared memory: whose it is, what it starts with, how much there is.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernel_test.h"
#include <gmock/gmock-matchers.h>

namespace octavo::cuda {
inline namespace emulated {
namespace {

using testing::HasSubstr;

struct Scratch {
  float sums[3];
  int count;
};

// Reads what nobody wrote, then writes, for the next block to find if it could.
template <bool kWritesFirst>
__global__ void read_shared(float* out, unsigned char* bytes_out) {
  OCTAVO_SHARED(Scratch, scratch);
  OCTAVO_SHARED_ARRAY(float, table, 8);
  OCTAVO_DYNAMIC_SHARED(bytes);
  if (kWritesFirst && threadIdx.x == 0) {
    scratch.sums[1] = 1;
    table[7] = 1;
    bytes[4] = 1;
  }
  __syncthreads();
  if (threadIdx.x == 1) {
    out[blockIdx.x * 2] = scratch.sums[1];
    out[blockIdx.x * 2 + 1] = table[7];
    bytes_out[blockIdx.x] = bytes[4];
    scratch.sums[1] = 5;
    table[7] = 5;
    bytes[4] = 5;
  }
}

TEST(SharedMemory, ThatNobodyWroteIsPoisoned) {
  std::vector<float> out(6);
  std::vector<unsigned char> bytes(3);
  launch(read_shared<true>, {3, 2, 5}, {}, out.data(), bytes.data());
  EXPECT_EQ(out, std::vector<float>(6, 1.0f));
  EXPECT_EQ(bytes, std::vector<unsigned char>(3, 1));
  launch(read_shared<false>, {3, 2, 5}, {}, out.data(), bytes.data());
  for (const float value : out) {
    EXPECT_TRUE(std::isnan(value));
  }
  EXPECT_EQ(bytes, std::vector<unsigned char>(3, 0xFF));
}

__device__ int& counter() {
  OCTAVO_SHARED(int, count);
  return count;
}

__global__ void share_through_function(int* out) {
  if (threadIdx.x == 0) {
    counter() = 0;
  }
  __syncthreads();
  atomicAdd(&counter(), 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    out[blockIdx.x] = counter();
  }
}

TEST(SharedMemory, IsOneForTheBlockWhereverItIsNamed) {
  for (const int workers : {1, 3}) {
    SeededStream stream({.seed = 1, .workers = workers});
    std::vector<int> out(7);
    launch(share_through_function, {7, 50}, stream, out.data());
    EXPECT_EQ(out, std::vector<int>(7, 50));
  }
}

__global__ void alignments(std::uintptr_t* out) {
  OCTAVO_SHARED_ARRAY(unsigned char, bytes, 3);
  OCTAVO_SHARED_ARRAY(float, floats, 3);
  OCTAVO_SHARED_ARRAY(float4, quads, 3);
  OCTAVO_DYNAMIC_SHARED(dynamic);
  out[0] = reinterpret_cast<std::uintptr_t>(bytes);
  out[1] = reinterpret_cast<std::uintptr_t>(floats);
  out[2] = reinterpret_cast<std::uintptr_t>(quads);
  out[3] = reinterpret_cast<std::uintptr_t>(dynamic);
}

TEST(SharedMemory, IsAlignedAsAskedAndNoBetter) {
  std::vector<std::uintptr_t> out(4);
  launch(alignments, {1, 1, 8}, {}, out.data());
  EXPECT_NE(out[0] % 16, 0u);
  EXPECT_EQ(out[1] % 4, 0u);
  EXPECT_NE(out[1] % 16, 0u);
  EXPECT_EQ(out[2] % 32, 16u);
  EXPECT_EQ(out[3] % 256, 128u);
}

template <std::size_t kBytes>
__global__ void take_static(unsigned char* out) {
  OCTAVO_SHARED_ARRAY(unsigned char, bytes, kBytes);
  bytes[kBytes - 1] = 3;
  out[0] = bytes[kBytes - 1];
}

TEST(SharedMemory, BeyondWhatABlockHasIsRefused) {
  unsigned char out = 0;
  launch(take_static<48 * 1024>, {1, 1}, {}, &out);
  EXPECT_EQ(out, 3);
  launch(take_static<1024>, {1, 1, 226 * 1024}, {}, &out);
  EXPECT_THAT(kernel_error(take_static<48 * 1024 + 1>, {1, 1}, {}, &out),
              HasSubstr("no room for the shared memory bytes (49153 bytes) at "));
  EXPECT_THAT(kernel_error(take_static<1024>, {1, 1, 226 * 1024 + 1}, {}, &out),
              HasSubstr("no room for the shared memory"));
}

}  // namespace
}  // namespace emulated
}  // namespace octavo::cuda
