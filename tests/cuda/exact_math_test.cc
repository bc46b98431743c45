// The kernels' elementary functions against the reference's, on every 2003rd float and on all
// around the values at which they turn.

#include "exact_math.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernel_testing.h"
#include <gtest/gtest.h>

#include "cuda/kernels/exact_math.cuh"
#include "tests/ref_cpu/numerics/samples.h"

namespace octavo::cuda_test {
namespace {

using numerics_test::from_bits;
using numerics_test::same;
using numerics_test::to_bits;

/// The domain of exp2_spec ends at 127.5.
__device__ float exp2_in_domain(float x) {
  return x < 127.5f ? cuda::exp2_spec(x) : 0.0f;
}

/// to[i] = kFunction(from[i])
template <auto kFunction>
__global__ void apply_kernel(const float* from, float* to, std::uint32_t n) {
  const std::uint32_t threads = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
    to[i] = kFunction(from[i]);
  }
}

const std::vector<float>& samples() {
  static const std::vector<float> floats = [] {
    std::vector<float> all;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 2003) {
      all.push_back(from_bits(static_cast<std::uint32_t>(bits)));
    }
    for (const float turn : {0.0f, 0x1p-126f, 0.5f, 0.625f, 1.0f, 88.0f, 126.0f, 127.5f,
                             16777216.0f, ref_cpu::kExpMax, -ref_cpu::kExpMin, 3.4028235e38f}) {
      for (std::uint32_t step = 0; step < 64; ++step) {
        const std::uint32_t bits = to_bits(turn) + step - (to_bits(turn) < 32 ? 0 : 32);
        all.push_back(from_bits(bits));
        all.push_back(from_bits(bits | 0x80000000u));
      }
    }
    return all;
  }();
  return floats;
}

template <auto kFunction, typename Reference>
void expect_equal(Reference reference) {
  const std::vector<float>& floats = samples();
  const std::vector<float> results = results_of(apply_kernel<kFunction>, floats);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    ASSERT_TRUE(same(results[i], reference(floats[i]))) << floats[i];
  }
}

TEST(CudaExactMath, Exp2) {
  expect_equal<exp2_in_domain>([](float x) { return x < 127.5f ? ref_cpu::exp2_spec(x) : 0.0f; });
}

TEST(CudaExactMath, Exp) {
  expect_equal<cuda::exp_spec>([](float x) { return ref_cpu::exp_spec(x); });
}

TEST(CudaExactMath, TwiceAtanh) {
  expect_equal<cuda::twice_atanh_spec>(
      [](float x) { return ref_cpu::exact_math_detail::twice_atanh(x); });
}

TEST(CudaExactMath, Sigmoid) {
  expect_equal<cuda::sigmoid_spec>([](float x) { return ref_cpu::sigmoid_spec(x); });
}

TEST(CudaExactMath, Silu) {
  expect_equal<cuda::silu_spec>([](float x) { return ref_cpu::silu_spec(x); });
}

TEST(CudaExactMath, Softplus) {
  expect_equal<cuda::softplus_spec>([](float x) { return ref_cpu::softplus_spec(x); });
}

TEST(CudaExactMath, Tanh) {
  expect_equal<cuda::tanh_spec>([](float x) { return ref_cpu::tanh_spec(x); });
}

TEST(CudaExactMath, Log) {
  expect_equal<cuda::log_spec>([](float x) { return ref_cpu::log_spec(x); });
}

TEST(CudaExactMath, BitsOfSigns) {
  expect_equal<cuda::magnitude>([](float x) { return std::fabs(x); });
  expect_equal<cuda::negated>([](float x) { return -x; });
  expect_equal<cuda::one_nan>([](float x) { return x; });
}

}  // namespace
}  // namespace octavo::cuda_test
