#include "tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace octavo::emulation {
namespace {

constexpr int kFractionBits = 25;
constexpr int kHalfFraction = 10;  // Of a 16-bit float; BF16's 7 bits fit.
constexpr int kFloatFraction = 23;
constexpr int kZeroExponent = -126;

// `value` * 2^`shift`, cut off toward zero.
std::int64_t shifted(std::int64_t value, int shift) {
  if (shift >= 0) {
    return value * (std::int64_t{1} << shift);
  }
  return shift <= -63 ? 0 : value / (std::int64_t{1} << -shift);
}

// `sum` * 2^`exponent`, cut off toward zero.
float truncated(std::int64_t sum, int exponent) {
  const std::uint64_t size = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const int bits = 64 - std::countl_zero(size);
  // The last place kept: the 24th bit, or the smallest that a float has.
  const int dropped = std::max(bits - (kFloatFraction + 1), -149 - exponent);
  const std::uint64_t kept = dropped <= 0 ? size : dropped >= 64 ? 0 : size >> dropped;
  const float magnitude = std::ldexp(static_cast<float>(kept), exponent + std::max(dropped, 0));
  return sum < 0 ? -magnitude : magnitude;
}

struct Aligned {
  std::int64_t significand;
  int exponent;
};

Aligned taken_apart(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto fraction = static_cast<std::int64_t>(bits & 0x7FFFFFu);
  const int field = static_cast<int>(bits >> kFloatFraction & 0xFFu);
  const std::int64_t size = field == 0 ? fraction : fraction + (1 << kFloatFraction);
  return {(bits >> 31) != 0 ? -size : size, field == 0 ? -126 : field - 127};
}

}  // namespace

TensorCoreTerm tensor_core_term(HalfFormat format, std::uint16_t code) {
  const bool is_bf16 = format == HalfFormat::BF16;
  const int fraction_bits = is_bf16 ? 7 : 10;
  const int bias = is_bf16 ? 127 : 15;
  const int special = is_bf16 ? 0xFF : 0x1F;
  const int field = code >> fraction_bits & special;
  const int fraction = code & ((1 << fraction_bits) - 1);
  const bool is_negative = (code >> 15) != 0;
  const int size = (field == 0 ? fraction : fraction + (1 << fraction_bits))
                   << (kHalfFraction - fraction_bits);
  int exponent = std::max(field, 1) - bias;
  float value = std::ldexp(static_cast<float>(size), exponent - kHalfFraction);
  if (field == special) {
    value = fraction != 0 ? std::nanf("") : HUGE_VALF;
  }
  if (size == 0) {
    exponent = kZeroExponent;
  }
  return {is_negative ? -size : size, exponent, is_negative ? -value : value};
}

float tensor_core_sum(const TensorCoreTerm (&a)[kTensorCoreTerms],
                      const TensorCoreTerm (&b)[kTensorCoreTerms],
                      float c) {
  const Aligned start = taken_apart(c);
  int largest = start.significand == 0 ? kZeroExponent : start.exponent;
  // Whatever is not finite shows in a plain sum: an infinity or a NaN stays one.
  double plain = static_cast<double>(c);
  for (unsigned k = 0; k < kTensorCoreTerms; ++k) {
    largest = std::max(largest, a[k].exponent + b[k].exponent);
    plain += static_cast<double>(a[k].value) * static_cast<double>(b[k].value);
  }
  if (!std::isfinite(plain)) {
    return std::isnan(plain) ? std::bit_cast<float>(0x7FFFFFFFu) : static_cast<float>(plain);
  }
  std::int64_t sum =
      shifted(start.significand, kFractionBits - kFloatFraction + start.exponent - largest);
  for (unsigned k = 0; k < kTensorCoreTerms; ++k) {
    const std::int64_t product = std::int64_t{a[k].significand} * b[k].significand;
    sum += shifted(product,
                   kFractionBits - 2 * kHalfFraction + a[k].exponent + b[k].exponent - largest);
  }
  return truncated(sum, largest - kFractionBits);
}

}  // namespace octavo::emulation
