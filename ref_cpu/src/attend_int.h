// S2: the fixed-point side of attention over integer rows. Queries become 13-bit integers relative
// to a power of two above the largest of a row, weights 15-bit ones relative to the largest of a
// chunk; products and sums of integers are exact, so they have no order.
//
// Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "exact_math.h"
#include "float_bits.h"
#include "simd.h"

namespace octavo::ref_cpu {

/// e with x < 2^e and, for x >= 2^-100, 2^(e - 1) <= x; at least -99. `magnitude` is the bits of a
/// finite x >= 0.
OCTAVO_LANES int exponent_above(std::uint32_t magnitude) noexcept {
  return std::max(static_cast<int>(magnitude >> 23), 27) - 126;
}

/// 2^e for e in [-126, 127].
OCTAVO_LANES float power_of_two(int e) noexcept {
  return float_of(static_cast<std::uint32_t>(e + 127) << 23);
}

/// The nearest integer, ties to even, of |x| <= 2^22.
OCTAVO_LANES std::int32_t nearest_integer(float x) noexcept {
  return static_cast<std::int32_t>(bits_of(x + kRoundMagic) - bits_of(kRoundMagic));
}

/// The scaling of values whose largest magnitude is given, to `kBits` bits.
struct FixedPoint {
  float to_integer = 0.0f;    ///< 2^(kBits - e); 0 when some value is not finite.
  float from_integer = 0.0f;  ///< 2^(e - kBits); NaN likewise, so that everything becomes NaN.
};

template <int kBits>
OCTAVO_LANES FixedPoint fixed_point(std::uint32_t largest_magnitude) noexcept {
  if (largest_magnitude >= 0x7F800000u) {
    return {0.0f, float_of(kNanBits)};
  }
  const int e = exponent_above(largest_magnitude);
  return {power_of_two(kBits - e), power_of_two(e - kBits)};
}

/// integers[i] = rint(x[i] * to_integer); 0 when some x is not finite.
template <int kBits, typename Integer>
OCTAVO_LANES FixedPoint to_fixed_point(const float* x, std::int64_t n, Integer* integers) noexcept {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, bits_of(x[i]) & 0x7FFFFFFFu);
  }
  const FixedPoint scale = fixed_point<kBits>(largest);
  const bool finite = scale.to_integer > 0.0f;
  for (std::int64_t i = 0; i < n; ++i) {
    const float y = finite ? x[i] * scale.to_integer : 0.0f;
    integers[i] = static_cast<Integer>(nearest_integer(y));
  }
  return scale;
}

inline constexpr int kQueryBits = 13;
inline constexpr int kWeightBits = 15;

}  // namespace octavo::ref_cpu
