// The model of a tensor core's sums, by cases whose cuts were worked out by hand.
#include "tensor_core.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "random.h"
#include <gtest/gtest.h>

namespace octavo::emulation {
namespace {

constexpr HalfFormat kBoth[] = {HalfFormat::BF16, HalfFormat::F16};

// The code of a value that the format has, not subnormal.
std::uint16_t code_of(HalfFormat format, float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (format == HalfFormat::BF16 || x == 0.0f) {
    return static_cast<std::uint16_t>(bits >> 16);
  }
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000u) |
                                    ((bits >> 13 & 0x3FFFFu) - (112u << 10)));
}

struct Pair {
  float a;
  float b;
};

// The first terms as given, the others 0 * 0.
float sum_of(HalfFormat format, const std::vector<Pair>& pairs, float c) {
  std::uint16_t a[kTensorCoreTerms] = {};
  std::uint16_t b[kTensorCoreTerms] = {};
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    a[k] = code_of(format, pairs[k].a);
    b[k] = code_of(format, pairs[k].b);
  }
  return tensor_core_sum(tensor_core_terms(format, a), tensor_core_terms(format, b), c);
}

// What the code stands for, by the definition of its format.
double value_of(HalfFormat format, std::uint32_t code) {
  if (format == HalfFormat::BF16) {
    return static_cast<double>(std::bit_cast<float>(code << 16));
  }
  const int field = static_cast<int>(code >> 10 & 31u);
  const int fraction = static_cast<int>(code & 1023u);
  double size = field == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, field - 25);
  if (field == 31) {
    size = fraction == 0 ? HUGE_VAL : std::nan("");
  }
  return code >> 15 != 0 ? -size : size;
}

TEST(TensorCore, ReadsEveryCodeOfBothFormats) {
  for (const HalfFormat format : kBoth) {
    for (std::uint32_t code = 0; code < 0x10000; ++code) {
      std::uint16_t codes[kTensorCoreTerms] = {};
      codes[3] = static_cast<std::uint16_t>(code);
      const TensorCoreTerms terms = tensor_core_terms(format, codes);
      const double value = value_of(format, code);
      ASSERT_EQ(terms.are_finite, std::isfinite(value)) << code;
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(terms.values[3])) << code;
      } else {
        ASSERT_EQ(static_cast<double>(terms.values[3]), value) << code;
      }
      if (terms.are_finite) {
        ASSERT_EQ(std::ldexp(terms.significands[3], terms.exponents[3] - 10), value) << code;
      }
    }
  }
}

TEST(TensorCore, AddsExactlyWhatFits) {
  for (const HalfFormat format : kBoth) {
    EXPECT_EQ(sum_of(format, {{1.5f, 2.0f}, {-3.0f, 0.25f}}, 10.0f), 12.25f);
    EXPECT_EQ(sum_of(format, {}, -7.5f), -7.5f);
    EXPECT_EQ(sum_of(format, {{1.0f, 1.0f}, {-1.0f, 1.0f}}, 0.0f), 0.0f);
  }
}

TEST(TensorCore, CutsTheResultTowardZero) {
  // 1 + 2^-24 lies halfway, 1 + 2^-24 + 2^-25 above it: rounding to nearest would go up.
  for (const HalfFormat format : kBoth) {
    const Pair tiny{0x1p-12f, 0x1p-12f};
    const Pair tinier{0x1p-12f, 0x1p-13f};
    EXPECT_EQ(sum_of(format, {tiny, tinier}, 1.0f), 1.0f);
    EXPECT_EQ(sum_of(format, {{-0x1p-12f, 0x1p-12f}, {-0x1p-12f, 0x1p-13f}}, -1.0f), -1.0f);
    EXPECT_EQ(sum_of(format, {tiny, tiny}, 1.0f), 1.0f + 0x1p-23f);
  }
}

TEST(TensorCore, KeepsTwentyFiveBitsBehindTheLargestTerm) {
  for (const HalfFormat format : kBoth) {
    // Beside 1, 2^-25 is kept (and shows where the 1 goes away) and 2^-26 is not, however many.
    const Pair one{1.0f, 1.0f};
    const Pair kept{0x1p-12f, 0x1p-13f};
    const Pair cut{0x1p-13f, 0x1p-13f};
    EXPECT_EQ(sum_of(format, {one, kept}, -1.0f), 0x1p-25f);
    EXPECT_EQ(sum_of(format, {one, cut, cut, cut, cut}, -1.0f), 0.0f);
    // Cut toward zero, term by term: -1.5 * 2^-25 is -2^-25, 1.5 * 2^-25 is 2^-25.
    EXPECT_EQ(sum_of(format, {one, {-1.5f * 0x1p-12f, 0x1p-13f}}, -1.0f), -0x1p-25f);
    EXPECT_EQ(sum_of(format, {one, {1.5f * 0x1p-12f, 0x1p-13f}}, -1.0f), 0x1p-25f);
    // The float counts as a term like the others.
    EXPECT_EQ(sum_of(format, {one, {-1.0f, 1.0f}}, 0x1.8p-25f), 0x1p-25f);
  }
}

TEST(TensorCore, DoesNotNormaliseProducts) {
  // 1.5 * 1.5 = 2.25 has the exponent 0, so 2^-25 beside it is kept. The float 2.25 has 1.
  for (const HalfFormat format : kBoth) {
    const Pair kept{0x1p-12f, 0x1p-13f};
    const Pair large{1.5f, 1.5f};
    const Pair other{-1.125f, 1.0f};
    EXPECT_EQ(sum_of(format, {large, other, other, kept}, 0.0f), 0x1p-25f);
    EXPECT_EQ(sum_of(format, {other, other, kept}, 2.25f), 0.0f);
  }
}

TEST(TensorCore, KeepsSubnormals) {
  EXPECT_EQ(sum_of(HalfFormat::BF16, {{0x1p-100f, 0x1p-40f}}, 0.0f), 0x1p-140f);
  EXPECT_EQ(sum_of(HalfFormat::BF16, {}, 0x1p-149f), 0x1p-149f);
  EXPECT_EQ(sum_of(HalfFormat::BF16, {{0x1p-100f, 0x1p-51f}}, 0.0f), 0.0f);
}

TEST(TensorCore, OverflowsAndCarriesWhatIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(sum_of(HalfFormat::BF16, {{0x1p100f, 0x1p100f}}, 0.0f), infinity);
  EXPECT_EQ(sum_of(HalfFormat::BF16, {{0x1p127f, -1.5f}}, -0x1p127f), -infinity);
  EXPECT_EQ(sum_of(HalfFormat::BF16, {{infinity, 2.0f}}, 1.0f), infinity);
  const float none = sum_of(HalfFormat::BF16, {{infinity, 0.0f}}, 1.0f);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(none), 0x7FFFFFFFu);
  EXPECT_TRUE(std::isnan(sum_of(HalfFormat::BF16, {{infinity, 1.0f}}, -infinity)));
  EXPECT_TRUE(std::isnan(sum_of(HalfFormat::BF16, {}, std::nanf(""))));
}

TEST(TensorCore, StaysWithinItsBoundOfTheExactSum) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<Pair> pairs;
    double exact = 0;
    double largest = 0;
    const auto draw = [&] {
      const auto fraction = static_cast<float>(random.below(256)) - 128.0f;
      return std::ldexp(fraction, static_cast<int>(random.below(12)) - 12);
    };
    const float c = draw();
    exact = c;
    largest = std::abs(exact);
    for (unsigned k = 0; k < kTensorCoreTerms; ++k) {
      const Pair pair{draw(), draw()};
      pairs.push_back(pair);
      const double product = static_cast<double>(pair.a) * static_cast<double>(pair.b);
      exact += product;
      largest = std::max(largest, std::abs(product));
    }
    const double bound = 17 * 0x1p-25 * largest + 0x1p-23 * std::abs(exact);
    EXPECT_NEAR(sum_of(HalfFormat::BF16, pairs, c), exact, bound);
  }
}

}  // namespace
}  // namespace octavo::emulation
