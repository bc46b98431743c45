// Arithmetic of binary32: rounded to nearest even, subnormals kept. A NaN that comes out is
// 0x7FFFFFFF, whatever went in, as GPUs have it.
#include <bit>
#include <cmath>
#include <cstdint>

#include "cuda/emulation/random.h"
#include "tests/cuda/simulated_gpu/machine/instruction_set.h"
#include "tests/cuda/simulated_gpu/machine/lanewise.h"

namespace octavo::simulated_gpu {
namespace {

float one_nan(float x) {
  return x == x ? x : std::bit_cast<float>(0x7FFFFFFFu);
}

float sum(float a, float b) {
  return one_nan(a + b);
}
float difference(float a, float b) {
  return one_nan(a - b);
}
float product(float a, float b) {
  return one_nan(a * b);
}
float quotient(float a, float b) {
  return one_nan(a / b);
}
float fused(float a, float b, float c) {
  return one_nan(std::fma(a, b, c));
}
float root(float a) {
  return one_nan(std::sqrt(a));
}

// The other one of a NaN; -0 is less than 0.
float greater_number(float a, float b) {
  if (a == b) {
    return std::signbit(a) ? b : a;
  }
  return one_nan(a != a || a < b ? b : a);
}
float lesser_number(float a, float b) {
  if (a == b) {
    return std::signbit(a) ? a : b;
  }
  return one_nan(a != a || b < a ? b : a);
}

// ex2.approx.ftz: 2^a with a relative error up to 2^-22, 1 for 0, no subnormal in or out. Which
// error, PTX leaves open: one drawn by the argument.
float power_of_two(float a) {
  if (std::fpclassify(a) == FP_SUBNORMAL || a == 0) {
    return 1.0f;
  }
  if (a != a || std::isinf(a)) {
    return one_nan(a > 0 ? a : (a < 0 ? 0.0f : a));
  }
  constexpr std::uint32_t kSteps = 1u << 20;
  constexpr double kErrorMax = 0x1p-22 - 0x1p-24;  // The rest is that of rounding.
  const double drawn = emulation::Random(std::bit_cast<std::uint32_t>(a)).below(kSteps);
  const double error = (2 * drawn / kSteps - 1) * kErrorMax;
  const auto result = static_cast<float>(std::exp2(double{a}) * (1 + error));
  return std::fpclassify(result) == FP_SUBNORMAL ? 0.0f : result;
}

}  // namespace

void add_float_instructions(InstructionSet& set) {
  add_lanewise<&sum>(set, "add.rn.f32");
  add_lanewise<&difference>(set, "sub.rn.f32");
  add_lanewise<&product>(set, "mul.rn.f32");
  add_lanewise<&quotient>(set, "div.rn.f32");
  add_lanewise<&fused>(set, "fma.rn.f32");
  add_lanewise<&root>(set, "sqrt.rn.f32");
  add_lanewise<&greater_number>(set, "max.f32");
  add_lanewise<&lesser_number>(set, "min.f32");
  add_lanewise<&power_of_two>(set, "ex2.approx.ftz.f32");
}

}  // namespace octavo::simulated_gpu
