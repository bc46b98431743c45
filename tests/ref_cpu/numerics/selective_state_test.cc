// The selective state update against a float64 recurrence that carries the derived error bound of
// every element along, and the ways of cutting it that must not change a bit.

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

struct SelectiveShape {
  DType dtype;
  DType state_dtype;
  std::int64_t groups;
  std::int64_t heads_a_group;
  std::int64_t k_dim;
  std::int64_t v_dim;
  std::int64_t tokens;
  bool softplus;  ///< With a dt_bias.
  bool skip;      ///< D
  bool gate;      ///< z
};

struct SelectiveCase {
  SelectiveShape shape;
  std::int64_t heads;
  Array x, dt, b, c, z, a, d, dt_bias, initial, state, out;

  SelectiveCase(std::uint64_t seed, const SelectiveShape& s) : SelectiveCase(Random(seed), s) {}
  SelectiveCase(Random random, const SelectiveShape& s)
      : shape(s),
        heads(s.groups * s.heads_a_group),
        x(Array::random(s.dtype, s.tokens * x_stride(), random, 2.0f)),
        dt(Array::random(s.dtype, s.tokens * heads, random)),
        b(Array::random(s.dtype, s.tokens * bc_stride(), random)),
        c(Array::random(s.dtype, s.tokens * bc_stride(), random)),
        z(Array::random(s.dtype, s.tokens * x_stride(), random, 4.0f)),
        a(Array::random(DType::F32, heads, random, 3.0f)),
        d(Array::random(DType::F32, heads, random)),
        dt_bias(Array::random(s.dtype, heads, random)),
        initial(Array::random(s.state_dtype, kSlots * heads * s.k_dim * s.v_dim, random)),
        state(initial),
        out(s.dtype, s.tokens * (x_stride() + 1)) {
    for (std::int64_t h = 0; h < heads; ++h) {
      a.set(h, static_cast<float>(-std::fabs(a[h])));
    }
    for (std::int64_t i = 0; i < dt.size() && !s.softplus; ++i) {
      dt.set(i, static_cast<float>(std::fabs(dt[i])));
    }
    out.poison();
  }

  std::int64_t x_stride() const { return heads * shape.v_dim + 4; }
  std::int64_t bc_stride() const { return shape.groups * shape.k_dim + 3; }
  std::int64_t x_index(std::int64_t t, std::int64_t h) const {
    return t * x_stride() + h * shape.v_dim;
  }
  std::int64_t out_index(std::int64_t t, std::int64_t h) const {
    return t * (x_stride() + 1) + h * shape.v_dim;
  }
  std::int64_t state_index(std::int64_t h, std::int64_t n) const {
    return ((kSlot * heads + h) * shape.k_dim + n) * shape.v_dim;
  }

  void run(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last) {
    const std::int32_t cu_seqlens[] = {static_cast<std::int32_t>(begin),
                                       static_cast<std::int32_t>(end)};
    const std::int32_t slots[] = {kSlot};
    selective_state_update(
        {.step = {.cu_seqlens_q = cu_seqlens,
                  .slot_ids = slots,
                  .batch = 1,
                  .tokens = end,
                  .max_query_len = end},
         .state = {.data = state.data(),
                   .dtype = state.dtype(),
                   .slot_stride = heads * shape.k_dim * shape.v_dim},
         .x = operand(x, x_stride(), shape.v_dim),
         .dt = operand(dt, heads),
         .b = operand(b, bc_stride(), shape.k_dim),
         .c = operand(c, bc_stride(), shape.k_dim),
         .z = shape.gate ? operand(z, x_stride(), shape.v_dim) : StepOperandArg{},
         .out = result(out, x_stride() + 1, shape.v_dim),
         .a = weight(a),
         .d = shape.skip ? weight(d) : WeightArg{},
         .dt_bias = shape.softplus ? weight(dt_bias) : WeightArg{},
         .groups = shape.groups,
         .heads = heads,
         .k_dim = shape.k_dim,
         .v_dim = shape.v_dim,
         .dt_softplus = shape.softplus},
        0, {first, last});
  }
  void run() { run(0, shape.tokens, 0, heads); }
};

/// dt, the decay and their relative errors.
struct ExactStep {
  double dt, dt_error;
  double decay, decay_error;
};

ExactStep exact_step(const SelectiveCase& s, std::int64_t t, std::int64_t h) {
  ExactStep step{};
  step.dt = s.dt[t * s.heads + h];
  if (s.shape.softplus) {
    const double sum = step.dt + s.dt_bias[h];
    step.dt = exact_softplus(sum);
    step.dt_error = kSoftplusError + kU * std::fabs(sum) / step.dt;
  }
  const double exponent = step.dt * s.a[h];
  step.decay = std::exp(exponent);
  step.decay_error = std::fabs(exponent) * (step.dt_error + kU) + kExpError;
  return step;
}

struct Column {
  std::vector<double> value, error;
};

/// One token of one column: the recurrence and that of the bound. Returns the output's bound.
double advance(const SelectiveCase& s,
               std::int64_t t,
               std::int64_t h,
               std::int64_t column,
               Column& state,
               double& output) {
  const ExactStep step = exact_step(s, t, h);
  const std::int64_t bc = t * s.bc_stride() + h / s.shape.heads_a_group * s.shape.k_dim;
  const double x = s.x[s.x_index(t, h) + column];
  const double input = step.dt * x;
  const double input_error = std::fabs(input) * (step.dt_error + kU);
  const double depth = gamma(dot_depth(s.shape.k_dim));
  output = 0;
  double error = 0;
  for (std::int64_t n = 0; n < s.shape.k_dim; ++n) {
    double& value = state.value[static_cast<std::size_t>(n)];
    double& bound = state.error[static_cast<std::size_t>(n)];
    const double decayed_error =
        step.decay * (bound + (std::fabs(value) + bound) * (step.decay_error + kU));
    const double exact_inputs = decayed_error + std::fabs(s.b[bc + n]) * input_error;
    value = step.decay * value + s.b[bc + n] * input;
    bound = exact_inputs + kU * (std::fabs(value) + exact_inputs);
    output += s.c[bc + n] * value;
    error += std::fabs(s.c[bc + n]) * (bound + (std::fabs(value) + bound) * depth);
    bound = stored(value, bound, s.shape.state_dtype);
  }
  if (s.shape.skip) {
    output += s.d[h] * x;
    error += kU * (std::fabs(output) + error);
  }
  if (s.shape.gate) {
    const double z = s.z[s.x_index(t, h) + column];
    const double gate = z * exact_sigmoid(z);
    error = std::fabs(gate) * (error + (std::fabs(output) + error) * (kSiluError + kU));
    output *= gate;
  }
  return widened(stored(output, error, s.shape.dtype));
}

void expect_within_bound(const SelectiveCase& s) {
  for (std::int64_t h = 0; h < s.heads; ++h) {
    for (std::int64_t column = 0; column < s.shape.v_dim; ++column) {
      Column state;
      for (std::int64_t n = 0; n < s.shape.k_dim; ++n) {
        state.value.push_back(s.initial[s.state_index(h, n) + column]);
      }
      state.error.assign(state.value.size(), 0.0);
      for (std::int64_t t = 0; t < s.shape.tokens; ++t) {
        double output = 0;
        const double bound = advance(s, t, h, column, state, output);
        ASSERT_LE(std::fabs(s.out[s.out_index(t, h) + column] - output), bound)
            << "token " << t << " head " << h << " column " << column;
      }
      for (std::int64_t n = 0; n < s.shape.k_dim; ++n) {
        const auto at = static_cast<std::size_t>(n);
        ASSERT_LE(std::fabs(s.state[s.state_index(h, n) + column] - state.value[at]),
                  widened(state.error[at]));
      }
    }
  }
}

const SelectiveShape kShapes[] = {
    {DType::BF16, DType::F32, 2, 3, 128, 64, 3, true, true, true},
    {DType::F32, DType::F32, 1, 2, 16, 33, 25, true, true, false},
    {DType::F32, DType::F32, 2, 1, 20, 80, 9, false, false, true},
    {DType::F16, DType::F16, 1, 4, 64, 32, 5, true, false, false},
    {DType::BF16, DType::BF16, 1, 1, 96, 31, 12, true, true, true},
    {DType::F32, DType::BF16, 3, 1, 8, 5, 40, true, false, true},
    {DType::F32, DType::F32, 1, 1, 1, 1, 6, false, true, false},
};

template <typename Visit>
void visit_cases(Visit visit) {
  std::uint64_t seed = 200;
  for (const SelectiveShape& shape : kShapes) {
    visit(SelectiveCase(++seed, shape));
  }
}

TEST(SelectiveState, IsWithinTheDerivedBoundOfAFloat64Oracle) {
  visit_cases([](SelectiveCase s) {
    s.run();
    expect_within_bound(s);
    for (std::int64_t i = 0; i < s.state_index(0, 0); ++i) {
      ASSERT_EQ(s.state[i], s.initial[i]) << "another slot";
    }
  });
}

TEST(SelectiveState, GivesTheSameBitsHoweverThePromptIsCutAndTheHeadsAreParted) {
  Random random(2);
  visit_cases([&](SelectiveCase whole) {
    SelectiveCase cut = whole;
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

TEST(SelectiveState, GivesTheSameBitsInBothCompilations) {
  visit_cases([](SelectiveCase fast) {
    SelectiveCase plain = fast;
    fast.run();
    force_simd(false);
    plain.run();
    force_simd(true);
    ASSERT_EQ(fast.out, plain.out);
    ASSERT_EQ(fast.state, plain.state);
  });
}

}  // namespace
}  // namespace octavo::ref_cpu
