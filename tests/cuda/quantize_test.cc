// Quotients of quantized rows without a division, against the division: scales over the whole range
// that takes them, elements on and around the ties of codes, and down to where they vanish.
#include "cuda/kernels/quantize.cuh"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tests/ref_cpu/numerics/samples.h"

namespace octavo::cuda_test {
namespace {

using numerics_test::from_bits;
using numerics_test::Random;

constexpr std::uint32_t kThreads = 64;

struct Division {
  float x = 0.0f;
  float scale = 1.0f;
  float quotient = 0.0f;
  bool by_inverse = false;
};

__global__ void divide_kernel(Division* divisions, std::uint32_t n) {
  for (std::uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads) {
    Division& division = divisions[i];
    const cuda::RowDivisor by = cuda::divisor_of(division.scale);
    division.by_inverse = by.inverse != 0.0f;
    division.quotient = cuda::quotient_of_row(division.x, by);
  }
}

std::vector<Division> divided(std::vector<Division> divisions) {
  const auto n = static_cast<std::uint32_t>(divisions.size());
  cuda::launch(divide_kernel, {{4}, {kThreads}}, {}, divisions.data(), n);
  return divisions;
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
  for (const Division& division : divided(divisions)) {
    const float expected = division.x / division.scale;
    ASSERT_TRUE(division.by_inverse);
    if (std::abs(division.x) >= 0x1p-102f && std::abs(expected) >= 0x1p-126f) {
      ASSERT_EQ(division.quotient, expected) << division.x << " / " << division.scale;
    } else {
      ASSERT_LT(std::abs(division.quotient), 0x1p-40f) << division.x << " / " << division.scale;
      ASSERT_LT(std::abs(expected), 0x1p-40f);
    }
  }
}

TEST(QuotientOfRow, IsNotForScalesWhoseInverseIsNotThere) {
  for (const float scale : {0.0f, -1.0f, 0x1p-61f, 0x1.000002p+60f, 0x1p-140f, HUGE_VALF, NAN}) {
    EXPECT_EQ(cuda::divisor_of(scale).inverse, 0.0f) << scale;
  }
  for (const float scale : {0x1p-60f, 1.0f, 0x1p+60f}) {
    EXPECT_NE(cuda::divisor_of(scale).inverse, 0.0f) << scale;
  }
}

TEST(QuotientOfRow, GetsTheSignOfItsElement) {
  for (const float x : {0.0f, 1.5f, 0x1p-149f, HUGE_VALF}) {
    for (const float sign : {1.0f, -1.0f, 0.0f, -0.0f}) {
      const float signed_x = cuda::with_sign_of(-x, sign);
      EXPECT_EQ(std::abs(signed_x), x);
      EXPECT_EQ(std::signbit(signed_x), std::signbit(sign));
    }
  }
}

}  // namespace
}  // namespace octavo::cuda_test
