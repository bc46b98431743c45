#include "tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace octavo::emulation {
namespace {

constexpr int kFractionBits = 25;
constexpr int kHalfFraction = 10;  // Of a 16-bit float; BF16's 7 bits fit.
constexpr int kFloatFraction = 23;
constexpr int kZeroExponent = -126;

// 2^`exponent` within the range of a double.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// `value` / 2^`places` for places >= 0, cut off toward zero.
std::int32_t cut(std::int32_t value, int places) {
  const std::int32_t sign = value >> 31;
  const std::int32_t size = (value ^ sign) - sign;
  return ((size >> std::min(places, 31)) ^ sign) - sign;
}

// `sum` * 2^`exponent`, cut off toward zero.
float truncated(std::int64_t sum, int exponent) {
  const std::uint64_t size = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const int bits = 64 - std::countl_zero(size);
  // The last place kept: the 24th bit, or the smallest that a float has.
  const int dropped = std::max(bits - (kFloatFraction + 1), -149 - exponent);
  const std::uint64_t kept = dropped <= 0 ? size : dropped >= 64 ? 0 : size >> dropped;
  const double magnitude =
      static_cast<double>(kept) * power_of_two(exponent + std::max(dropped, 0));
  return static_cast<float>(sum < 0 ? -magnitude : magnitude);
}

struct Taken {
  std::int32_t significand;
  int exponent;
};

Taken taken_apart(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto fraction = static_cast<std::int32_t>(bits & 0x7FFFFFu);
  const int field = static_cast<int>(bits >> kFloatFraction & 0xFFu);
  const std::int32_t size = field == 0 ? fraction : fraction + (1 << kFloatFraction);
  return {(bits >> 31) != 0 ? -size : size, field == 0 ? kZeroExponent : field - 127};
}

// A term that is not finite decides alone, or with another one.
float sum_of_special(const TensorCoreTerms& a, const TensorCoreTerms& b, float c) {
  double sum = static_cast<double>(c);
  for (unsigned k = 0; k < kTensorCoreTerms; ++k) {
    sum += static_cast<double>(a.values[k]) * static_cast<double>(b.values[k]);
  }
  return std::isnan(sum) ? std::bit_cast<float>(0x7FFFFFFFu) : static_cast<float>(sum);
}

}  // namespace

TensorCoreTerms tensor_core_terms(HalfFormat format,
                                  const std::uint16_t (&codes)[kTensorCoreTerms]) {
  const bool is_bf16 = format == HalfFormat::BF16;
  const int fraction_bits = is_bf16 ? 7 : 10;
  const int bias = is_bf16 ? 127 : 15;
  const int special = is_bf16 ? 0xFF : 0x1F;
  TensorCoreTerms terms;
  terms.are_finite = true;
  for (unsigned k = 0; k < kTensorCoreTerms; ++k) {
    const int field = codes[k] >> fraction_bits & special;
    const int fraction = codes[k] & ((1 << fraction_bits) - 1);
    const int hidden = field == 0 ? 0 : 1 << fraction_bits;
    const int size = (fraction + hidden) << (kHalfFraction - fraction_bits);
    const int exponent = std::max(field, 1) - bias;
    float value = static_cast<float>(size * power_of_two(exponent - kHalfFraction));
    if (field == special) {
      value = fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                            : std::numeric_limits<float>::infinity();
      terms.are_finite = false;
    }
    const bool is_negative = (codes[k] >> 15) != 0;
    terms.significands[k] = is_negative ? -size : size;
    terms.exponents[k] = size == 0 ? kZeroExponent : exponent;
    terms.values[k] = is_negative ? -value : value;
  }
  return terms;
}

float tensor_core_sum(const TensorCoreTerms& a, const TensorCoreTerms& b, float c) {
  if (!a.are_finite || !b.are_finite || !std::isfinite(c)) {
    return sum_of_special(a, b, c);
  }
  const Taken start = taken_apart(c);
  std::int32_t exponents[kTensorCoreTerms];
  std::int32_t largest = start.exponent;
  for (unsigned k = 0; k < kTensorCoreTerms; ++k) {
    exponents[k] = a.exponents[k] + b.exponents[k];
    largest = std::max(largest, exponents[k]);
  }
  // Every term is below 2^27 in size, before it is cut and after.
  std::int64_t sum =
      cut(start.significand * (1 << (kFractionBits - kFloatFraction)), largest - start.exponent);
  for (unsigned k = 0; k < kTensorCoreTerms; ++k) {
    const std::int32_t product = a.significands[k] * b.significands[k];
    sum += cut(product * (1 << (kFractionBits - 2 * kHalfFraction)), largest - exponents[k]);
  }
  return truncated(sum, largest - kFractionBits);
}

}  // namespace octavo::emulation
