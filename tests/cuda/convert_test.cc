// The kernels' conversions against the reference's: every code of every format, and 8.4 million
// floats, on and around the ties of each.
#include "cuda/kernels/convert.cuh"

#include <cstdint>
#include <vector>

#include "float_bits.h"
#include "kernel_testing.h"
#include <gtest/gtest.h>

#include "tests/ref_cpu/numerics/samples.h"

namespace octavo::cuda_test {
namespace {

using numerics_test::from_bits;
using numerics_test::same;

/// to[i] = kOne(from[i])
template <auto kOne, typename From, typename To>
__global__ void convert_kernel(const From* from, To* to, std::uint32_t n) {
  const std::uint32_t threads = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
    to[i] = kOne(from[i]);
  }
}

/// to[i] = kPair(from[i], from[n - 1 - i])
template <auto kPair>
__global__ void convert_pairs_kernel(const float* from, std::uint32_t* to, std::uint32_t n) {
  const std::uint32_t threads = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
    to[i] = kPair(from[i], from[n - 1 - i]);
  }
}

/// Element 1 of an array, written and read again, and the words it lies in.
struct ReadBack {
  std::uint32_t words[3];
  float read;
};

template <DType kDType>
__global__ void read_back_kernel(const float* from, ReadBack* to, std::uint32_t n) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    to[i] = {{0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu}, 0.0f};
    cuda::store_element(kDType, to[i].words, 1, from[i]);
    to[i].read = cuda::load_element(kDType, to[i].words, 1);
  }
}

const std::vector<float>& samples() {
  static const std::vector<float> floats = [] {
    std::vector<float> all;
    numerics_test::visit_dense_floats([&](std::uint32_t bits) { all.push_back(from_bits(bits)); });
    return all;
  }();
  return floats;
}

template <auto kOne, auto kPair, typename Reference>
void expect_narrows(Reference reference, int bits) {
  const std::vector<float>& floats = samples();
  const auto n = static_cast<std::uint32_t>(floats.size());
  const std::vector<std::uint32_t> codes =
      results_of(convert_kernel<kOne, float, std::uint32_t>, floats);
  for (std::uint32_t i = 0; i < n; ++i) {
    ASSERT_EQ(codes[i], reference(floats[i])) << i;
  }
  const std::vector<std::uint32_t> pairs = results_of(convert_pairs_kernel<kPair>, floats);
  for (std::uint32_t i = 0; i < n; ++i) {
    ASSERT_EQ(pairs[i], codes[i] | codes[n - 1 - i] << bits) << i;
  }
}

template <auto kOne, typename Reference>
void expect_widens(Reference reference, std::uint32_t codes) {
  std::vector<std::uint32_t> from(codes);
  for (std::uint32_t i = 0; i < codes; ++i) {
    from[i] = i;
  }
  const std::vector<float> to = results_of(convert_kernel<kOne, std::uint32_t, float>, from);
  for (std::uint32_t i = 0; i < codes; ++i) {
    ASSERT_TRUE(same(to[i], reference(i))) << i;
  }
}

__device__ float first_of_e4m3x2(std::uint32_t codes) {
  return cuda::e4m3x2_to_f32(codes).x;
}
__device__ float second_of_e4m3x2(std::uint32_t codes) {
  return cuda::e4m3x2_to_f32(codes).y;
}

TEST(CudaConvert, F16) {
  expect_narrows<cuda::f32_to_f16, cuda::f32_to_f16x2>(
      [](float x) { return ref_cpu::f32_to_f16(x); }, 16);
  expect_widens<cuda::f16_to_f32>(
      [](std::uint32_t code) { return ref_cpu::f16_to_f32(static_cast<std::uint16_t>(code)); },
      0x10000);
}

TEST(CudaConvert, BF16) {
  expect_narrows<cuda::f32_to_bf16, cuda::f32_to_bf16x2>(
      [](float x) { return ref_cpu::f32_to_bf16(x); }, 16);
  expect_widens<cuda::bf16_to_f32>(
      [](std::uint32_t code) { return ref_cpu::bf16_to_f32(static_cast<std::uint16_t>(code)); },
      0x10000);
}

TEST(CudaConvert, E4M3) {
  expect_narrows<cuda::f32_to_e4m3, cuda::f32_to_e4m3x2>(
      [](float x) { return ref_cpu::f32_to_e4m3(x); }, 8);
  expect_widens<cuda::e4m3_to_f32>(
      [](std::uint32_t code) { return ref_cpu::e4m3_to_f32(static_cast<std::uint8_t>(code)); },
      0x100);
  expect_widens<first_of_e4m3x2>(
      [](std::uint32_t code) { return ref_cpu::e4m3_to_f32(static_cast<std::uint8_t>(code)); },
      0x10000);
  expect_widens<second_of_e4m3x2>(
      [](std::uint32_t code) { return ref_cpu::e4m3_to_f32(static_cast<std::uint8_t>(code >> 8)); },
      0x10000);
}

TEST(CudaConvert, E5M2) {
  expect_narrows<cuda::f32_to_e5m2, cuda::f32_to_e5m2x2>(
      [](float x) { return ref_cpu::f32_to_e5m2(x); }, 8);
  expect_widens<cuda::e5m2_to_f32>(
      [](std::uint32_t code) { return ref_cpu::e5m2_to_f32(static_cast<std::uint8_t>(code)); },
      0x100);
}

TEST(CudaConvert, ElementsAreReadAndWrittenAsTheirTypeSays) {
  const std::vector<float> floats{1.5f, -0.0f, 1e-6f, 3e38f};
  const auto expect = [&](auto kernel, auto narrowed) {
    const std::vector<ReadBack> results = results_of(kernel, floats);
    for (std::size_t i = 0; i < floats.size(); ++i) {
      EXPECT_TRUE(same(results[i].read, narrowed(floats[i]))) << floats[i];
      EXPECT_EQ(results[i].words[2], 0xFFFFFFFFu);
      EXPECT_EQ(results[i].words[0] & 0xFFFFu, 0xFFFFu);
    }
  };
  expect(read_back_kernel<DType::F32>, [](float x) { return x; });
  expect(read_back_kernel<DType::F16>,
         [](float x) { return ref_cpu::f16_to_f32(ref_cpu::f32_to_f16(x)); });
  expect(read_back_kernel<DType::BF16>,
         [](float x) { return ref_cpu::bf16_to_f32(ref_cpu::f32_to_bf16(x)); });
}

}  // namespace
}  // namespace octavo::cuda_test
