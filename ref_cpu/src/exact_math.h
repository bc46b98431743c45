// The elementary functions of the reference, by written operations only: NUMERICS.md has their
// coefficients, orders and error bounds. Never libm.
//
// Branch-free, so that loops over them vectorise. A NaN gives a NaN. Pure functions.
#pragma once

#include <cstdint>
#include <limits>

#include "float_bits.h"
#include "simd.h"

namespace octavo::ref_cpu {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

inline constexpr float kRoundMagic = 12582912.0f;  ///< 1.5 * 2^23: x + it - it rounds |x| < 2^22.
// Specified to the bit, whatever the library calls these numbers.
// NOLINTBEGIN(modernize-use-std-numbers)
inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLn2High = 0x1.62e430p-1f;
inline constexpr float kLn2Low = -0x1.05c610p-29f;
// NOLINTEND(modernize-use-std-numbers)

/// x; of all NaNs the one that results have.
OCTAVO_LANES float one_nan(float x) noexcept {
  return x == x ? x : float_of(kNanBits);
}

/// 2^x for x < 127.5; 0 below -126 (no subnormal results); meaningless from 127.5 on.
OCTAVO_LANES float exp2_spec(float x) noexcept {
  const float t = x + kRoundMagic;  // The nearest integer, in the low bits.
  const float f = x - (t - kRoundMagic);
  float p = 0x1.42585ap-17f;
  p = fma_rn(p, f, 0x1.43064ap-13f);
  p = fma_rn(p, f, 0x1.5df22ep-10f);
  p = fma_rn(p, f, 0x1.3b2b46p-7f);
  p = fma_rn(p, f, 0x1.c6b066p-5f);
  p = fma_rn(p, f, 0x1.ebfbe0p-3f);
  p = fma_rn(p, f, kLn2High);
  p = fma_rn(p, f, 1.0f);
  const float y = float_of(bits_of(p) + (bits_of(t) << 23));
  const float number = x < -126.0f ? 0.0f : y;
  return x == x ? number : float_of(kNanBits);
}

inline constexpr float kExpMin = -0x1.5d589ep+6f;  ///< Below (< ln 2^-126): exp_spec is 0.
inline constexpr float kExpMax = 0x1.62e42ep+6f;   ///< Above: exp_spec is infinity.

/// e^x for every x; 0 below 2^-126, infinity above the largest float.
OCTAVO_LANES float exp_spec(float x) noexcept {
  const float t = fma_rn(x, kLog2E, kRoundMagic);
  const float n = t - kRoundMagic;
  const float high = fma_rn(-n, kLn2High, x);  // Exact.
  const float r = fma_rn(-n, kLn2Low, high);
  float p = 0x1.6ac74cp-10f;
  p = fma_rn(p, r, 0x1.123de0p-7f);
  p = fma_rn(p, r, 0x1.555858p-5f);
  p = fma_rn(p, r, 0x1.55548cp-3f);
  p = fma_rn(p, r, 0x1.fffffcp-2f);
  p = fma_rn(p, r, 1.0f);
  p = fma_rn(p, r, 1.0f);
  const float y = float_of(bits_of(p) + (bits_of(t) << 23));
  const float low = x < kExpMin ? 0.0f : y;
  const float number = x > kExpMax ? float_of(0x7F800000u) : low;
  return x == x ? number : float_of(kNanBits);
}

namespace exact_math_detail {

OCTAVO_LANES float magnitude(float x) noexcept {
  return float_of(bits_of(x) & 0x7FFFFFFFu);
}
OCTAVO_LANES float negated_magnitude(float x) noexcept {
  return float_of(bits_of(x) | 0x80000000u);
}

/// 2 atanh(s) for |s| <= 1/3.
OCTAVO_LANES float twice_atanh(float s) noexcept {
  const float z = s * s;
  float q = 0x1.f090acp-4f;
  q = fma_rn(q, z, 0x1.b72ad8p-4f);
  q = fma_rn(q, z, 0x1.250514p-3f);
  q = fma_rn(q, z, 0x1.9996d8p-3f);
  q = fma_rn(q, z, 0x1.555558p-2f);
  const float w = s + s;
  return fma_rn(w, z * q, w);
}

}  // namespace exact_math_detail

/// 1 / (1 + e^-x), in [0, 1].
OCTAVO_LANES float sigmoid_spec(float x) noexcept {
  const float e = exp_spec(exact_math_detail::negated_magnitude(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

/// x * sigmoid(x); -0 for all x below kExpMin, minus infinity included.
OCTAVO_LANES float silu_spec(float x) noexcept {
  const float sigmoid = sigmoid_spec(x);
  return (x < -88.0f ? -88.0f : x) * sigmoid;
}

/// ln(1 + e^x) >= 0.
OCTAVO_LANES float softplus_spec(float x) noexcept {
  const float u = exp_spec(exact_math_detail::negated_magnitude(x));
  const float tail = exact_math_detail::twice_atanh(u / (2.0f + u));
  return (x > 0.0f ? x : 0.0f) + tail;
}

/// tanh(x), in [-1, 1], odd. A soft cap is cap * tanh(s / cap).
OCTAVO_LANES float tanh_spec(float x) noexcept {
  const float a = exact_math_detail::magnitude(x);
  const float z = a * a;
  float p = -0x1.750ce4p-8f;
  p = fma_rn(p, z, 0x1.51f8cep-6f);
  p = fma_rn(p, z, -0x1.b835a4p-5f);
  p = fma_rn(p, z, 0x1.1106f6p-3f);
  p = fma_rn(p, z, -0x1.555532p-2f);
  const float near_zero = fma_rn(a, z * p, a);
  const float e = exp_spec(-2.0f * a);
  const float far_out = (1.0f - e) / (1.0f + e);
  const float y = a < 0.625f ? near_zero : far_out;
  return float_of(bits_of(y) | (bits_of(x) & 0x80000000u));
}

/// ln x for x > 0, subnormals included; -infinity at +-0, NaN below.
OCTAVO_LANES float log_spec(float x) noexcept {
  const bool tiny = x < 0x1p-126f;
  const std::uint32_t bits = bits_of(tiny ? x * 0x1p+24f : x);
  // The exponent that leaves a mantissa m in [sqrt(1/2), sqrt(2)).
  const std::int32_t exponent = static_cast<std::int32_t>(bits - 0x3F3504F3u) >> 23;
  const float m = float_of(bits - (static_cast<std::uint32_t>(exponent) << 23));
  const float n = static_cast<float>(exponent) - (tiny ? 24.0f : 0.0f);
  const float log_m = exact_math_detail::twice_atanh((m - 1.0f) / (m + 1.0f));
  const float y = fma_rn(n, kLn2High, fma_rn(n, kLn2Low, log_m));
  const float number = x < float_of(0x7F800000u) ? y : x;  // Infinity and NaN pass.
  const float positive = x == 0.0f ? float_of(0xFF800000u) : number;
  return x >= 0.0f ? positive : float_of(kNanBits);
}

}  // namespace octavo::ref_cpu
