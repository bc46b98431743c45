// Quotients of quantized rows without a division, against the division: scales over the whole range
// that takes them, elements on and around the ties of codes, and down to where they vanish.
#include "cuda/kernels/quantize.cuh"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernel_testing.h"
#include <gtest/gtest.h>

#include "tests/ref_cpu/numerics/samples.h"

namespace octavo::cuda_test {
namespace {

using numerics_test::from_bits;
using numerics_test::Random;

struct Division {
  float x = 0.0f;
  float scale = 1.0f;
};

struct Quotient {
  float value = 0.0f;
  bool by_inverse = false;
};

__global__ void divide_kernel(const Division* divisions, Quotient* quotients, std::uint32_t n) {
  const std::uint32_t threads = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
    const cuda::RowDivisor by = cuda::divisor_of(divisions[i].scale);
    quotients[i] = {cuda::quotient_of_row(divisions[i].x, by), by.inverse != 0.0f};
  }
}

// The magnitude of x with the sign of `scale`.
__global__ void sign_kernel(const Division* signs, float* signed_x, std::uint32_t n) {
  const std::uint32_t threads = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
    signed_x[i] = cuda::with_sign_of(signs[i].x, signs[i].scale);
  }
}

// A mantissa: any, or one of those that rounding finds hard.
std::uint32_t random_mantissa(Random& random) {
  const auto bits = static_cast<std::uint32_t>(random.next()) & 0x7FFFFFu;
  switch (random.next() % 4) {
    case 0:
      return 0x7FFFFFu - (bits & 15u);
    case 1:
      return bits & 15u;
    default:
      return bits;
  }
}

// An element of a row of that scale: some way below the largest code, or next to where two codes
// meet.
float random_element(Random& random, float scale) {
  const auto sign = static_cast<std::uint32_t>(random.next() % 2) << 31;
  if (random.next() % 2 == 0) {
    const auto code = static_cast<float>(random.next() % 254) - 127.0f;
    const float tie = (code + 0.5f) * scale;
    const auto bits =
        static_cast<std::uint32_t>(std::bit_cast<std::uint32_t>(tie) + random.next() % 3);
    return from_bits(bits - 1);
  }
  const auto below =
      static_cast<std::uint32_t>(random.next() % (random.next() % 2 == 0 ? 12 : 160));
  const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(scale) >> 23) + 8;
  return from_bits((exponent > below ? exponent - below : 0) << 23 | random_mantissa(random) |
                   sign);
}

TEST(QuotientOfRow, IsThatOfTheDivision) {
  Random random(11);
  std::vector<Division> divisions;
  for (int i = 0; i < 400'000; ++i) {
    const auto exponent = static_cast<std::uint32_t>(127 - 60 + random.next() % 120);
    const float scale = from_bits(exponent << 23 | random_mantissa(random));
    divisions.push_back({.x = random_element(random, scale), .scale = scale});
  }
  const std::vector<Quotient> quotients = results_of(divide_kernel, divisions);
  for (std::size_t i = 0; i < divisions.size(); ++i) {
    const auto [x, scale] = divisions[i];
    const float expected = x / scale;
    ASSERT_TRUE(quotients[i].by_inverse);
    if (std::abs(x) >= 0x1p-102f && std::abs(expected) >= 0x1p-126f) {
      ASSERT_EQ(quotients[i].value, expected) << x << " / " << scale;
    } else {
      ASSERT_LT(std::abs(quotients[i].value), 0x1p-40f) << x << " / " << scale;
      ASSERT_LT(std::abs(expected), 0x1p-40f);
    }
  }
}

TEST(QuotientOfRow, IsNotForScalesWhoseInverseIsNotThere) {
  std::vector<Division> divisions;
  for (const float scale : {0.0f, -1.0f, 0x1p-61f, 0x1.000002p+60f, 0x1p-140f, HUGE_VALF, NAN}) {
    divisions.push_back({.scale = scale});
  }
  for (const Quotient& quotient : results_of(divide_kernel, divisions)) {
    EXPECT_FALSE(quotient.by_inverse);
  }
  for (const Quotient& quotient : results_of(
           divide_kernel, std::vector<Division>{{.scale = 0x1p-60f}, {}, {.scale = 0x1p+60f}})) {
    EXPECT_TRUE(quotient.by_inverse);
  }
}

TEST(QuotientOfRow, GetsTheSignOfItsElement) {
  std::vector<Division> signs;
  for (const float x : {0.0f, 1.5f, 0x1p-149f, HUGE_VALF}) {
    for (const float sign : {1.0f, -1.0f, 0.0f, -0.0f}) {
      signs.push_back({-x, sign});
    }
  }
  const std::vector<float> signed_x = results_of(sign_kernel, signs);
  for (std::size_t i = 0; i < signs.size(); ++i) {
    EXPECT_EQ(std::abs(signed_x[i]), -signs[i].x);
    EXPECT_EQ(std::signbit(signed_x[i]), std::signbit(signs[i].scale));
  }
}

}  // namespace
}  // namespace octavo::cuda_test
