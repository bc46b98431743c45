// Elementary functions against double, on a dense sample of every function's whole range; the
// largest errors over *all* floats stand in NUMERICS.md and are the limits here.

#include "exact_math.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "samples.h"
#include <gtest/gtest.h>

namespace octavo::ref_cpu {
namespace {

using numerics_test::from_bits;
using numerics_test::to_bits;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kUnit = 0x1p-24;

/// Floats in their order, as integers.
std::int64_t rank_of(float x) {
  const auto bits = static_cast<std::int64_t>(to_bits(x));
  return bits < 0x80000000 ? bits : 0x80000000 - bits;
}
float at_rank(std::int64_t rank) {
  return from_bits(static_cast<std::uint32_t>(rank >= 0 ? rank : 0x80000000 - rank));
}

struct Function {
  std::string name;
  float (*spec)(float);
  double (*exact)(double);
  float low;  // The sampled range.
  float high;
  double relative_units;  // Largest relative error, in 2^-24, where the exact value is normal.
  float result_low;
  float result_high;
};

double exact_sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double exact_softplus(double x) {
  return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
}

const Function kFunctions[] = {
    {"exp2", [](float x) { return exp2_spec(x); }, [](double x) { return std::exp2(x); }, -126.0f,
     127.0f, 1.131, 0x1p-126f, 0x1p127f},
    {"exp", [](float x) { return exp_spec(x); }, [](double x) { return std::exp(x); }, kExpMin,
     kExpMax, 1.281, 0x1p-126f, std::numeric_limits<float>::max()},
    {"sigmoid", [](float x) { return sigmoid_spec(x); }, exact_sigmoid, kExpMin, 90.0f, 2.967, 0.0f,
     1.0f},
    {"silu", [](float x) { return silu_spec(x); }, [](double x) { return x * exact_sigmoid(x); },
     kExpMin, 90.0f, 3.773, -0.2785f, 90.0f},
    {"softplus", [](float x) { return softplus_spec(x); }, exact_softplus, kExpMin, 90.0f, 3.788,
     0.0f, 90.0f},
    {"tanh", [](float x) { return tanh_spec(x); }, [](double x) { return std::tanh(x); }, -20.0f,
     20.0f, 2.61, -1.0f, 1.0f},
    {"log", [](float x) { return log_spec(x); }, [](double x) { return std::log(x); }, 0x1p-149f,
     std::numeric_limits<float>::max(), 2.949, -103.3f, 88.73f},
};

class ExactMath : public testing::TestWithParam<Function> {};

INSTANTIATE_TEST_SUITE_P(Functions, ExactMath, testing::ValuesIn(kFunctions), [](const auto& name) {
  return name.param.name;
});

TEST_P(ExactMath, ErrorIsWithinTheStatedOneOnADenseSample) {
  const Function& function = GetParam();
  double worst = 0;
  float worst_at = 0;
  for (std::int64_t rank = rank_of(function.low); rank <= rank_of(function.high); rank += 2003) {
    const float x = at_rank(rank);
    const float y = function.spec(x);
    ASSERT_GE(y, function.result_low) << x;
    ASSERT_LE(y, function.result_high) << x;
    const double exact = function.exact(static_cast<double>(x));
    const double error = std::fabs(static_cast<double>(y) - exact);
    if (std::fabs(exact) >= 0x1p-126 && error > worst * std::fabs(exact)) {
      worst = error / std::fabs(exact);
      worst_at = x;
    }
  }
  EXPECT_LE(worst / kUnit, function.relative_units) << "at " << worst_at;
  EXPECT_GT(worst / kUnit, 0.4) << "the measurement sees nothing";
}

TEST_P(ExactMath, NeverFallsByMoreThanTwoPlacesWhereTheFunctionRises) {
  const Function& function = GetParam();
  if (function.name == "silu") {
    return;  // Falls to its minimum first.
  }
  numerics_test::Random random(3);
  for (int start = 0; start < 2000; ++start) {
    std::int64_t rank =
        rank_of(function.low) + random.below(rank_of(function.high) - rank_of(function.low) - 600);
    std::int64_t last = rank_of(function.spec(at_rank(rank)));
    for (int i = 0; i < 500; ++i) {
      const std::int64_t next = rank_of(function.spec(at_rank(++rank)));
      ASSERT_GE(next, last - 2) << at_rank(rank);
      last = next;
    }
  }
}

/// exp2 and exp once more, from their description and with libm's fma and ldexp.
float written_exp2(float x) {
  const float coefficients[] = {0x1.42585ap-17f, 0x1.43064ap-13f, 0x1.5df22ep-10f, 0x1.3b2b46p-7f,
                                0x1.c6b066p-5f,  0x1.ebfbe0p-3f,  0x1.62e430p-1f,  1.0f};
  const float n = std::nearbyint(x);
  float p = 0;
  for (const float coefficient : coefficients) {
    p = std::fma(p, x - n, coefficient);
  }
  return std::ldexp(p, static_cast<int>(n));
}
float written_exp(float x) {
  const float coefficients[] = {
      0x1.6ac74cp-10f, 0x1.123de0p-7f, 0x1.555858p-5f, 0x1.55548cp-3f, 0x1.fffffcp-2f, 1.0f, 1.0f};
  const float n = std::fma(x, 0x1.715476p+0f, 12582912.0f) - 12582912.0f;
  const float high = std::fma(-n, 0x1.62e430p-1f, x);
  const float r = std::fma(-n, -0x1.05c610p-29f, high);
  float p = 0;
  for (const float coefficient : coefficients) {
    p = std::fma(p, r, coefficient);
  }
  return std::ldexp(p, static_cast<int>(n));
}

TEST(Exp2Spec, IsTheWrittenPolynomialAndExactAtIntegers) {
  for (std::int64_t rank = rank_of(-126.0f); rank < rank_of(127.0f); rank += 5003) {
    const float x = at_rank(rank);
    ASSERT_EQ(to_bits(exp2_spec(x)), to_bits(written_exp2(x))) << x;
  }
  for (int n = -126; n <= 127; ++n) {
    EXPECT_EQ(exp2_spec(static_cast<float>(n)), std::ldexp(1.0f, n));
  }
  // Where a multiplication and an addition instead of one of the fma would show, the early ones in
  // a handful of all floats only.
  for (const float x : {-0x1.bb0218p+1f, -0x1.d4fb7ep+1f, -0x1.efbac2p+1f, -0x1.efb11p+1f,
                        -0x1.effe9ep+1f, -0x1.efffeep+1f}) {
    EXPECT_EQ(to_bits(exp2_spec(x)), to_bits(written_exp2(x))) << x;
  }
}

TEST(ExpSpec, IsTheWrittenPolynomial) {
  for (std::int64_t rank = rank_of(kExpMin); rank <= rank_of(kExpMax); rank += 5003) {
    const float x = at_rank(rank);
    ASSERT_EQ(to_bits(exp_spec(x)), to_bits(written_exp(x))) << x;
  }
  for (const float x : {-0x1.e8459ap+1f, -0x1.ec3d1p+1f, -0x1.efd208p+1f, -0x1.effdp+1f,
                        -0x1.effe4cp+1f, -0x1.efffd2p+1f}) {
    EXPECT_EQ(to_bits(exp_spec(x)), to_bits(written_exp(x))) << x;
  }
}

TEST(Exp2Spec, EndsAsStated) {
  EXPECT_EQ(to_bits(exp2_spec(from_bits(to_bits(-126.0f) + 1))), 0u);
  EXPECT_EQ(to_bits(exp2_spec(-kInfinity)), 0u);
  EXPECT_EQ(to_bits(exp2_spec(-1e30f)), 0u);
  EXPECT_EQ(to_bits(exp2_spec(-0.0f)), to_bits(1.0f));
  EXPECT_EQ(to_bits(exp2_spec(from_bits(0xFFC00001u))), kNanBits);
}

TEST(ExpSpec, EndsAsStated) {
  EXPECT_GE(exp_spec(kExpMin), 0x1p-126f);
  EXPECT_EQ(to_bits(exp_spec(from_bits(to_bits(kExpMin) + 1))), 0u);
  EXPECT_EQ(to_bits(exp_spec(-kInfinity)), 0u);
  EXPECT_TRUE(std::isfinite(exp_spec(kExpMax)));
  EXPECT_EQ(exp_spec(from_bits(to_bits(kExpMax) + 1)), kInfinity);
  EXPECT_EQ(exp_spec(kInfinity), kInfinity);
  EXPECT_EQ(to_bits(exp_spec(-0.0f)), to_bits(1.0f));
  EXPECT_EQ(to_bits(exp_spec(from_bits(0x7F800001u))), kNanBits);
}

TEST(SigmoidSpec, EndsAsStated) {
  EXPECT_EQ(sigmoid_spec(0.0f), 0.5f);
  EXPECT_EQ(sigmoid_spec(kInfinity), 1.0f);
  EXPECT_EQ(to_bits(sigmoid_spec(-kInfinity)), 0u);
  EXPECT_TRUE(std::isnan(sigmoid_spec(from_bits(kNanBits))));
}

TEST(SiluSpec, EndsAsStated) {
  EXPECT_EQ(to_bits(silu_spec(0.0f)), 0u);
  EXPECT_EQ(to_bits(silu_spec(-0.0f)), 0x80000000u);
  EXPECT_EQ(silu_spec(kInfinity), kInfinity);
  EXPECT_EQ(to_bits(silu_spec(-kInfinity)), 0x80000000u);
  EXPECT_EQ(to_bits(silu_spec(-1e30f)), 0x80000000u);
  EXPECT_EQ(silu_spec(1e30f), 1e30f);
  EXPECT_TRUE(std::isnan(silu_spec(from_bits(kNanBits))));
}

TEST(SoftplusSpec, EndsAsStated) {
  EXPECT_EQ(to_bits(softplus_spec(-kInfinity)), 0u);
  EXPECT_EQ(to_bits(softplus_spec(-1e30f)), 0u);
  EXPECT_EQ(softplus_spec(kInfinity), kInfinity);
  EXPECT_EQ(softplus_spec(1e30f), 1e30f);
  EXPECT_NEAR(softplus_spec(0.0f), 0.6931472f, 1e-7f);
  EXPECT_TRUE(std::isnan(softplus_spec(from_bits(kNanBits))));
  for (float x = 0.0f; x < 100.0f; x += 0.37f) {
    EXPECT_GE(softplus_spec(x), x);
  }
}

TEST(TanhSpec, IsOddAndEndsAsStated) {
  EXPECT_EQ(to_bits(tanh_spec(0.0f)), 0u);
  EXPECT_EQ(to_bits(tanh_spec(-0.0f)), 0x80000000u);
  EXPECT_EQ(tanh_spec(kInfinity), 1.0f);
  EXPECT_EQ(tanh_spec(-kInfinity), -1.0f);
  EXPECT_TRUE(std::isnan(tanh_spec(from_bits(kNanBits))));
  for (std::int64_t rank = 0; rank < rank_of(30.0f); rank += 40009) {
    const float x = at_rank(rank);
    ASSERT_EQ(to_bits(tanh_spec(-x)), to_bits(-tanh_spec(x)));
    ASSERT_LE(tanh_spec(x), x);
  }
}

TEST(LogSpec, EndsAsStated) {
  EXPECT_EQ(to_bits(log_spec(1.0f)), 0u);
  EXPECT_EQ(log_spec(0.0f), -kInfinity);
  EXPECT_EQ(log_spec(-0.0f), -kInfinity);
  EXPECT_EQ(log_spec(kInfinity), kInfinity);
  EXPECT_EQ(to_bits(log_spec(-1.0f)), kNanBits);
  EXPECT_TRUE(std::isnan(log_spec(from_bits(kNanBits))));
}

}  // namespace
}  // namespace octavo::ref_cpu
