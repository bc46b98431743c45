// Division by a reciprocal gives what division gives, wherever it is asked.
#include "src/divisor.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "tests/ref_cpu/numerics/samples.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
namespace {

constexpr std::uint32_t kEnd = 1u << 31;  // Of the numbers that may be divided.

void expect_exact(std::uint32_t by) {
  const Divisor divisor = make_divisor(by);
  const auto expect_quotient = [&](std::uint64_t n) {
    if (n < kEnd) {
      const auto number = static_cast<std::uint32_t>(n);
      ASSERT_EQ(quotient(number, divisor), number / by) << number << " / " << by;
    }
  };
  for (std::uint64_t n = 0; n < 70; ++n) {
    expect_quotient(n);
    expect_quotient(kEnd - 1 - n);
  }
  // Beside multiples, where a quotient changes: the first ones, the last ones, some between.
  const std::uint64_t multiples = kEnd / by;
  for (std::uint64_t i = 0; i <= 40; ++i) {
    for (const std::uint64_t factor :
         {i, multiples - (i < multiples ? i : multiples), i * multiples / 40}) {
      const std::uint64_t n = factor * by;
      expect_quotient(n);
      expect_quotient(n + 1);
      expect_quotient(n == 0 ? 0 : n - 1);
    }
  }
}

TEST(Divisor, ByEverySmallNumber) {
  for (std::uint32_t by = 1; by <= 3000; ++by) {
    expect_exact(by);
  }
}

TEST(Divisor, ByNumbersAroundPowersOfTwo) {
  for (unsigned shift = 3; shift <= 31; ++shift) {
    for (const std::uint32_t apart : {0u, 1u, 2u, 3u}) {
      expect_exact((1u << shift) - 1 - apart);
      if (shift < 31) {
        expect_exact((1u << shift) + apart);
      }
    }
  }
}

TEST(Divisor, ByAnyNumber) {
  numerics_test::Random random(7);
  for (int i = 0; i < 20000; ++i) {
    const std::uint32_t by = static_cast<std::uint32_t>(random.next()) >> (random.next() % 31);
    if (by > 0 && by < kEnd) {
      expect_exact(by);
    }
  }
}

}  // namespace
}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
