// The causal convolution against a float64 one over the plain history, and the ways of cutting it
// that must not change a bit.

#include <cmath>
#include <cstdint>
#include <vector>

#include "samples.h"
#include "simd.h"
#include "state_case.h"
#include "state_ops.h"
#include <gtest/gtest.h>

namespace octavo::ref_cpu {
namespace {

using namespace numerics_test;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kSlots = 3;
constexpr std::int32_t kSlot = 1;

/// One convolution over `tokens` inputs of one slot, all operands random.
struct ConvCase {
  std::int64_t dim;
  std::int64_t width;
  std::int64_t tokens;
  bool silu;
  bool has_bias;
  Array x, weight_values, bias, initial, state, out;
  std::int64_t x_stride, out_stride;

  ConvCase(std::uint64_t seed,
           DType dtype,
           DType state_dtype,
           std::int64_t d,
           std::int64_t w,
           std::int64_t t)
      : ConvCase(Random(seed), dtype, state_dtype, d, w, t) {}
  ConvCase(
      Random random, DType dtype, DType state_dtype, std::int64_t d, std::int64_t w, std::int64_t t)
      : dim(d),
        width(w),
        tokens(t),
        silu(random.below(2) == 0),
        has_bias(random.below(2) == 0),
        x(Array::random(dtype, t * (d + 3), random, 3.0f)),
        weight_values(
            Array::random(random.below(2) == 0 ? DType::BF16 : DType::F32, d * (w + 1), random)),
        bias(Array::random(weight_values.dtype(), d, random)),
        initial(Array::random(state_dtype, kSlots * d * w, random, 3.0f)),
        state(initial),
        out(dtype, t * (d + 5)),
        x_stride(d + 3),
        out_stride(d + 5) {
    out.poison();
  }

  /// Runs tokens [begin, end), channels [first, last).
  void run(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last) {
    const std::int32_t cu_seqlens[] = {0, static_cast<std::int32_t>(begin),
                                       static_cast<std::int32_t>(end)};
    const std::int32_t slots[] = {0, kSlot};
    const ConvUpdateArg arg{
        .step = {.cu_seqlens_q = cu_seqlens,
                 .slot_ids = slots,
                 .batch = 2,
                 .tokens = end,
                 .max_query_len = end},
        .state = {.data = state.data(), .dtype = state.dtype(), .slot_stride = dim * width},
        .x = operand(x, x_stride),
        .out = result(out, out_stride),
        .weight = weight(weight_values),
        .bias = has_bias ? weight(bias) : WeightArg{},
        .dim = dim,
        .width = width,
        .silu = silu};
    conv_update(arg, 1, {first, last});
  }
  void run() { run(0, tokens, 0, dim); }

  /// Input `age` of channel c: the window's for negative ones.
  double history(std::int64_t c, std::int64_t token) const {
    return token < 0 ? initial[(kSlot * dim + c) * width + width + token] : x[token * x_stride + c];
  }
};

void expect_within_bound(const ConvCase& conv) {
  for (std::int64_t t = 0; t < conv.tokens; ++t) {
    for (std::int64_t c = 0; c < conv.dim; ++c) {
      double sum = conv.has_bias ? conv.bias[c] : 0;
      double magnitude = std::fabs(sum);
      double rounded_in = 0;
      for (std::int64_t j = 0; j <= conv.width; ++j) {
        const double term =
            conv.weight_values[c * (conv.width + 1) + j] * conv.history(c, t - conv.width + j);
        sum += term;
        magnitude += std::fabs(term);
        rounded_in += std::fabs(term) * unit_of(conv.state.dtype());
      }
      double error = gamma(static_cast<double>(conv.width + 1)) * (magnitude + rounded_in) +
                     rounded_in + static_cast<double>(conv.width + 1) * tiny_of(conv.state.dtype());
      double value = sum;
      if (conv.silu) {
        value = sum * exact_sigmoid(sum);
        error = kSiluSlope * error + kSiluError * (std::fabs(value) + kSiluSlope * error);
      }
      const double bound = widened(stored(value, error, conv.out.dtype()));
      ASSERT_LE(std::fabs(conv.out[t * conv.out_stride + c] - value), bound)
          << "token " << t << " channel " << c << " width " << conv.width;
    }
  }
}

/// The window afterwards is the history's end, exactly as its dtype holds it.
void expect_window(const ConvCase& conv) {
  for (std::int64_t c = 0; c < conv.dim; ++c) {
    for (std::int64_t i = 0; i < conv.width; ++i) {
      Array one(conv.state.dtype(), 1);
      one.set(0, static_cast<float>(conv.history(c, conv.tokens - conv.width + i)));
      ASSERT_EQ(conv.state[(kSlot * conv.dim + c) * conv.width + i], one[0]);
    }
  }
}

/// Slots 0 and 2, and whatever lies between rows of the result, keep their bytes.
void expect_nothing_else_written(ConvCase& conv) {
  for (std::int64_t i = 0; i < conv.state.size(); ++i) {
    if (i / std::max<std::int64_t>(conv.dim * conv.width, 1) != kSlot) {
      ASSERT_EQ(conv.state[i], conv.initial[i]);
    }
  }
  for (std::int64_t i = 0; i < conv.out.size(); ++i) {
    if (i % conv.out_stride >= conv.dim) {
      ASSERT_TRUE(std::isnan(conv.out[i]));
    }
  }
}

const DType kFloats[] = {DType::F32, DType::F16, DType::BF16};
const std::int64_t kWidths[] = {0, 1, 3, 4, 9};
const std::int64_t kTokens[] = {1, 2, 7, 64, 65, 150};

template <typename Visit>
void visit_cases(Visit visit) {
  std::uint64_t seed = 0;
  for (const DType dtype : kFloats) {
    for (const DType state_dtype : kFloats) {
      for (const std::int64_t width : kWidths) {
        for (const std::int64_t tokens : kTokens) {
          const std::int64_t dim = 1 + static_cast<std::int64_t>(++seed * 7 % 80);
          visit(ConvCase(seed, dtype, state_dtype, dim, width, tokens));
        }
      }
    }
  }
}

TEST(ConvUpdate, IsWithinTheDerivedBoundOfAFloat64OracleAndKeepsTheLastInputs) {
  visit_cases([](ConvCase conv) {
    conv.run();
    expect_within_bound(conv);
    expect_window(conv);
    expect_nothing_else_written(conv);
  });
}

TEST(ConvUpdate, GivesTheSameBitsHoweverThePromptIsCut) {
  Random random(5);
  visit_cases([&](ConvCase whole) {
    ConvCase cut = whole;
    whole.run();
    for (std::int64_t begin = 0; begin < cut.tokens;) {
      const std::int64_t end =
          begin + 1 + random.below(std::min<std::int64_t>(cut.tokens - begin, 70));
      cut.run(begin, end, 0, cut.dim);
      begin = end;
    }
    ASSERT_EQ(whole.out, cut.out);
    ASSERT_EQ(whole.state, cut.state);
  });
}

TEST(ConvUpdate, GivesTheSameBitsHoweverTheChannelsAreParted) {
  Random random(6);
  visit_cases([&](ConvCase whole) {
    ConvCase parted = whole;
    whole.run();
    for (std::int64_t first = 0; first < parted.dim;) {
      const std::int64_t last = first + 1 + random.below(parted.dim - first);
      parted.run(0, parted.tokens, first, last);
      first = last;
    }
    ASSERT_EQ(whole.out, parted.out);
    ASSERT_EQ(whole.state, parted.state);
  });
}

TEST(ConvUpdate, GivesTheSameBitsInBothCompilations) {
  visit_cases([](ConvCase fast) {
    ConvCase plain = fast;
    fast.run();
    force_simd(false);
    plain.run();
    force_simd(true);
    ASSERT_EQ(fast.out, plain.out);
    ASSERT_EQ(fast.state, plain.state);
  });
}

TEST(ConvUpdate, MayOverwriteItsInput) {
  visit_cases([](ConvCase apart) {
    apart.out_stride = apart.x_stride;
    ConvCase in_place = apart;
    apart.run();
    Array& x = in_place.x;
    const std::int32_t cu_seqlens[] = {0, static_cast<std::int32_t>(in_place.tokens)};
    const std::int32_t slots[] = {kSlot};
    conv_update({.step = {.cu_seqlens_q = cu_seqlens,
                          .slot_ids = slots,
                          .batch = 1,
                          .tokens = in_place.tokens,
                          .max_query_len = in_place.tokens},
                 .state = {.data = in_place.state.data(),
                           .dtype = in_place.state.dtype(),
                           .slot_stride = in_place.dim * in_place.width},
                 .x = operand(x, in_place.x_stride),
                 .out = result(x, in_place.x_stride),
                 .weight = weight(in_place.weight_values),
                 .bias = in_place.has_bias ? weight(in_place.bias) : WeightArg{},
                 .dim = in_place.dim,
                 .width = in_place.width,
                 .silu = in_place.silu},
                0, {0, in_place.dim});
    ASSERT_EQ(apart.state, in_place.state);
    for (std::int64_t t = 0; t < apart.tokens; ++t) {
      for (std::int64_t c = 0; c < apart.dim; ++c) {
        ASSERT_EQ(apart.out[t * apart.x_stride + c], x[t * apart.x_stride + c]);
      }
    }
  });
}

TEST(ConvUpdate, TakesTheWidestWindowAndLeavesASequenceWithoutTokensAlone) {
  ConvCase conv(77, DType::F32, DType::F32, 33, kMaxConvWidth, 300);
  conv.run(0, 0, 0, conv.dim);
  EXPECT_EQ(conv.state, conv.initial);
  conv.run();
  expect_within_bound(conv);
  expect_window(conv);
}

TEST(ConvUpdate, AddsTheTapsFromTheOldestToTheNewestAfterTheBias) {
  // 2^24 + 1 is not a float, so the order shows: ((1 + 2^24) - 2^24) + 1 = 1, not 2.
  ConvCase conv(1, DType::F32, DType::F32, 1, 2, 1);
  conv.silu = false;
  conv.has_bias = true;
  conv.bias = Array(DType::F32, 1);
  conv.weight_values = Array(DType::F32, 3);
  conv.bias.set(0, 1.0f);
  for (int tap = 0; tap < 3; ++tap) {
    conv.weight_values.set(tap, 1.0f);
  }
  conv.state.set(kSlot * 2 + 0, 0x1p24f);
  conv.state.set(kSlot * 2 + 1, -0x1p24f);
  conv.x.set(0, 1.0f);
  conv.run();
  EXPECT_EQ(conv.out[0], 1.0);
}

}  // namespace
}  // namespace octavo::ref_cpu
