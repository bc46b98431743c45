// The gated delta rule against a float64 recurrence that carries the derived error bound of every
// element along, and the ways of cutting it that must not change a bit.

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

constexpr std::int64_t kSlots = 2;
constexpr std::int32_t kSlot = 1;
constexpr float kL2Eps = 0.25f;  // Large enough to be seen beside the sum of squares.

struct DeltaShape {
  DType dtype;
  DType state_dtype;
  std::int64_t qk_heads;
  std::int64_t group;
  std::int64_t k_dim;
  std::int64_t v_dim;
  std::int64_t tokens;
  bool l2_norm;
  bool raw_gates;  ///< a_log, dt_bias and the sigmoid of b.
};

struct DeltaCase {
  DeltaShape shape;
  std::int64_t heads;
  float scale;
  Array q, k, v, a, b, a_log, dt_bias, initial, state, out;

  DeltaCase(std::uint64_t seed, const DeltaShape& s) : DeltaCase(Random(seed), s) {}
  DeltaCase(Random random, const DeltaShape& s)
      : shape(s),
        heads(s.qk_heads * s.group),
        scale(1.0f / std::sqrt(static_cast<float>(s.k_dim))),
        q(Array::random(s.dtype, s.tokens * qk_stride(), random)),
        k(Array::random(s.dtype, s.tokens * qk_stride(), random, s.l2_norm ? 2.0f : 1.7f * scale)),
        v(Array::random(s.dtype, s.tokens * v_stride(), random, 2.0f)),
        a(Array::random(s.raw_gates ? s.dtype : DType::F32, s.tokens * heads, random, 2.0f)),
        b(Array::random(a.dtype(), s.tokens * heads, random, 1.0f)),
        a_log(Array::random(DType::F32, heads, random, 1.0f)),
        dt_bias(Array::random(s.dtype, heads, random, 1.0f)),
        initial(Array::random(s.state_dtype, kSlots * heads * s.k_dim * s.v_dim, random)),
        state(initial),
        out(s.dtype, s.tokens * (v_stride() + 3)) {
    for (std::int64_t i = 0; i < a.size() && !s.raw_gates; ++i) {
      a.set(i, static_cast<float>(-std::fabs(a[i])));
      b.set(i, static_cast<float>(std::fabs(b[i])));
    }
    out.poison();
  }

  std::int64_t qk_stride() const { return shape.qk_heads * shape.k_dim + 1; }
  std::int64_t v_stride() const { return heads * shape.v_dim + 2; }
  std::int64_t out_index(std::int64_t t, std::int64_t h) const {
    return t * (v_stride() + 3) + h * shape.v_dim;
  }
  std::int64_t state_index(std::int64_t h, std::int64_t i) const {
    return ((kSlot * heads + h) * shape.k_dim + i) * shape.v_dim;
  }

  void run(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last) {
    const std::int32_t cu_seqlens[] = {static_cast<std::int32_t>(begin),
                                       static_cast<std::int32_t>(end)};
    const std::int32_t slots[] = {kSlot};
    gated_delta_update({.step = {.cu_seqlens_q = cu_seqlens,
                                 .slot_ids = slots,
                                 .batch = 1,
                                 .tokens = end,
                                 .max_query_len = end},
                        .state = {.data = state.data(),
                                  .dtype = state.dtype(),
                                  .slot_stride = heads * shape.k_dim * shape.v_dim},
                        .q = operand(q, qk_stride(), shape.k_dim),
                        .k = operand(k, qk_stride(), shape.k_dim),
                        .v = operand(v, v_stride(), shape.v_dim),
                        .a = operand(a, heads),
                        .b = operand(b, heads),
                        .out = result(out, v_stride() + 3, shape.v_dim),
                        .a_log = shape.raw_gates ? weight(a_log) : WeightArg{},
                        .dt_bias = shape.raw_gates ? weight(dt_bias) : WeightArg{},
                        .qk_heads = shape.qk_heads,
                        .heads = heads,
                        .k_dim = shape.k_dim,
                        .v_dim = shape.v_dim,
                        .scale = scale,
                        .b_sigmoid = shape.raw_gates,
                        .qk_l2_norm = shape.l2_norm,
                        .l2_eps = kL2Eps},
                       0, {first, last});
  }
  void run() { run(0, shape.tokens, 0, heads); }
};

/// One token's operands of one head in float64, with their relative errors.
struct ExactToken {
  std::vector<double> q, k;
  double decay, decay_error;
  double beta, beta_error;
  double q_error, k_error;
};

ExactToken exact_token(const DeltaCase& c, std::int64_t t, std::int64_t h) {
  ExactToken token{};
  const std::int64_t row = t * c.qk_stride() + h / c.shape.group * c.shape.k_dim;
  double q_squares = static_cast<double>(kL2Eps);
  double k_squares = q_squares;
  for (std::int64_t i = 0; i < c.shape.k_dim; ++i) {
    token.q.push_back(c.q[row + i]);
    token.k.push_back(c.k[row + i]);
    q_squares += token.q.back() * token.q.back();
    k_squares += token.k.back() * token.k.back();
  }
  const bool norm = c.shape.l2_norm;
  for (std::size_t i = 0; i < token.q.size(); ++i) {
    token.q[i] *= static_cast<double>(c.scale) / (norm ? std::sqrt(q_squares) : 1);
    token.k[i] /= norm ? std::sqrt(k_squares) : 1;
  }
  // Half of the sum's error, then the root, the division and the product.
  const double norm_error = gamma(dot_depth(c.shape.k_dim) + 1) / 2 + 3 * kU;
  token.q_error = norm ? norm_error : kU;
  token.k_error = norm ? norm_error : 0;
  double gate = c.a[t * c.heads + h];
  double gate_error = 0;
  token.beta = c.b[t * c.heads + h];
  if (c.shape.raw_gates) {
    const double rate = std::exp(c.a_log[h]);
    const double sum = gate + c.dt_bias[h];
    const double soft = exact_softplus(sum);
    gate = -rate * soft;
    gate_error = rate * (soft * (kExpError + kSoftplusError + kU) + kU * std::fabs(sum));
    token.beta = exact_sigmoid(token.beta);
    token.beta_error = kSigmoidError;
  }
  token.decay = std::exp(gate);
  token.decay_error = gate_error + kExpError;
  return token;
}

/// One column of one head's state with the bound of every element.
struct Column {
  std::vector<double> value, error;
};

/// The recurrence of NUMERICS.md and, beside it, that of the bound; returns the bound of the
/// output.
double step(const DeltaCase& c, const ExactToken& token, double v, Column& s, double& output) {
  const double depth = gamma(dot_depth(c.shape.k_dim));
  double held = 0;
  double held_error = 0;
  for (std::size_t i = 0; i < s.value.size(); ++i) {
    s.error[i] = token.decay *
                 (s.error[i] + (std::fabs(s.value[i]) + s.error[i]) * (token.decay_error + kU));
    s.value[i] *= token.decay;
    held += token.k[i] * s.value[i];
    held_error += std::fabs(token.k[i]) *
                  (s.error[i] + (std::fabs(s.value[i]) + s.error[i]) * (depth + token.k_error));
  }
  const double miss = v - held;
  const double miss_error = held_error + kU * (std::fabs(miss) + held_error);
  const double delta = miss * token.beta;
  const double delta_error =
      token.beta * (miss_error + (std::fabs(miss) + miss_error) * (token.beta_error + kU));
  output = 0;
  double error = 0;
  for (std::size_t i = 0; i < s.value.size(); ++i) {
    const double key = std::fabs(token.k[i]);
    const double exact_inputs =
        s.error[i] + key * (delta_error + (std::fabs(delta) + delta_error) * token.k_error);
    s.value[i] += token.k[i] * delta;
    s.error[i] = exact_inputs + kU * (std::fabs(s.value[i]) + exact_inputs);
    output += token.q[i] * s.value[i];
    error += std::fabs(token.q[i]) *
             (s.error[i] + (std::fabs(s.value[i]) + s.error[i]) * (depth + token.q_error));
    s.error[i] = stored(s.value[i], s.error[i], c.shape.state_dtype);
  }
  return widened(stored(output, error, c.shape.dtype));
}

void expect_within_bound(const DeltaCase& c) {
  for (std::int64_t h = 0; h < c.heads; ++h) {
    std::vector<ExactToken> tokens;
    for (std::int64_t t = 0; t < c.shape.tokens; ++t) {
      tokens.push_back(exact_token(c, t, h));
    }
    for (std::int64_t d = 0; d < c.shape.v_dim; ++d) {
      Column column;
      for (std::int64_t i = 0; i < c.shape.k_dim; ++i) {
        column.value.push_back(c.initial[c.state_index(h, i) + d]);
      }
      column.error.assign(column.value.size(), 0.0);
      for (std::int64_t t = 0; t < c.shape.tokens; ++t) {
        double output = 0;
        const double v = c.v[t * c.v_stride() + h * c.shape.v_dim + d];
        const double bound = step(c, tokens[static_cast<std::size_t>(t)], v, column, output);
        ASSERT_LE(std::fabs(c.out[c.out_index(t, h) + d] - output), bound)
            << "token " << t << " head " << h << " column " << d;
      }
      for (std::int64_t i = 0; i < c.shape.k_dim; ++i) {
        const auto at = static_cast<std::size_t>(i);
        ASSERT_LE(std::fabs(c.state[c.state_index(h, i) + d] - column.value[at]),
                  widened(column.error[at]));
      }
    }
  }
}

const DeltaShape kShapes[] = {
    {DType::BF16, DType::F32, 2, 2, 128, 128, 3, true, true},
    {DType::F32, DType::F32, 1, 3, 64, 33, 20, true, true},
    {DType::F32, DType::F32, 2, 1, 20, 40, 9, false, false},
    {DType::F16, DType::F16, 1, 2, 72, 64, 5, true, false},
    {DType::BF16, DType::BF16, 1, 1, 96, 31, 12, false, true},
    {DType::F32, DType::BF16, 3, 1, 8, 5, 40, true, true},
    {DType::F32, DType::F32, 1, 1, 1, 1, 6, false, true},
    {DType::F32, DType::F32, 1, 1, 7, 32, 6, true, false},
};

template <typename Visit>
void visit_cases(Visit visit) {
  std::uint64_t seed = 100;
  for (const DeltaShape& shape : kShapes) {
    visit(DeltaCase(++seed, shape));
  }
}

TEST(GatedDelta, IsWithinTheDerivedBoundOfAFloat64Oracle) {
  visit_cases([](DeltaCase c) {
    c.run();
    expect_within_bound(c);
    for (std::int64_t i = 0; i < c.state_index(0, 0); ++i) {
      ASSERT_EQ(c.state[i], c.initial[i]) << "another slot";
    }
  });
}

TEST(GatedDelta, GivesTheSameBitsHoweverThePromptIsCutAndTheHeadsAreParted) {
  Random random(2);
  visit_cases([&](DeltaCase whole) {
    DeltaCase cut = whole;
    whole.run();
    for (std::int64_t first = 0; first < cut.heads;) {
      const std::int64_t last = first + 1 + random.below(cut.heads - first);
      for (std::int64_t begin = 0; begin < cut.shape.tokens;) {
        const std::int64_t end = begin + 1 + random.below(cut.shape.tokens - begin);
        cut.run(begin, end, first, last);
        begin = end;
      }
      first = last;
    }
    ASSERT_EQ(whole.out, cut.out);
    ASSERT_EQ(whole.state, cut.state);
  });
}

TEST(GatedDelta, GivesTheSameBitsInBothCompilations) {
  visit_cases([](DeltaCase fast) {
    DeltaCase plain = fast;
    fast.run();
    force_simd(false);
    plain.run();
    force_simd(true);
    ASSERT_EQ(fast.out, plain.out);
    ASSERT_EQ(fast.state, plain.state);
  });
}

TEST(GatedDelta, WritesAValueUnderItsKeyAndReadsItBack) {
  // An orthonormal key, no decay, beta 1: the state then answers v for k, whatever it held.
  DeltaCase c(5, {DType::F32, DType::F32, 1, 1, 16, 8, 1, false, false});
  for (std::int64_t i = 0; i < 16; ++i) {
    c.k.set(i, i == 3 ? 1.0f : 0.0f);
    c.q.set(i, i == 3 ? 1.0f : 0.0f);
  }
  c.a.set(0, 0.0f);
  c.b.set(0, 1.0f);
  c.scale = 1.0f;
  c.run();
  for (std::int64_t d = 0; d < 8; ++d) {
    EXPECT_NEAR(c.out[d], c.v[d], 1e-6);
    EXPECT_EQ(c.state[c.state_index(0, 4) + d], c.initial[c.state_index(0, 4) + d]);
  }
}

}  // namespace
}  // namespace octavo::ref_cpu
