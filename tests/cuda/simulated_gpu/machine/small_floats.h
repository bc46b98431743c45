// Floats of 8 and 16 bits: what binary32 rounds to, and back. Written from what the formats are,
// not from the kernels or the reference, which they check.
//
// Pure functions: any thread.
#pragma once

#include <cstdint>

namespace octavo::simulated_gpu {

struct SmallFloat {
  int exponent_bits;
  int mantissa_bits;
  std::uint32_t largest;   ///< The code of the largest number, without a sign.
  std::uint32_t overflow;  ///< The code of what is larger.
  std::uint32_t nan;       ///< The code of a NaN that comes out.
};

inline constexpr SmallFloat kF16 = {5, 10, 0x7BFF, 0x7C00, 0x7FFF};
inline constexpr SmallFloat kBF16 = {8, 7, 0x7F7F, 0x7F80, 0x7FFF};
/// The two of 8 bits as .satfinite has them: too large is the largest. NaN has no sign.
inline constexpr SmallFloat kE4M3 = {4, 3, 0x7E, 0x7E, 0x7F};
inline constexpr SmallFloat kE5M2 = {5, 2, 0x7B, 0x7B, 0x7F};

/// The code of the nearest number, of two as near the even one.
std::uint32_t encode(const SmallFloat& format, float x);

/// Exact. Of E4M3, 0x7F is the NaN and all else numbers; of the others, the largest exponent is
/// infinity and NaN.
float decode(const SmallFloat& format, std::uint32_t code);

}  // namespace octavo::simulated_gpu
