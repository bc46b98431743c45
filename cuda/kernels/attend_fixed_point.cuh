// Scaling by powers of two, so that the largest of some values fills a format (NUMERICS.md, S2).
#pragma once

#include "exact_math.cuh"
#include "platform.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// 2^e for e in [-126, 127].
__device__ __forceinline__ float power_of_two(int e) {
  return __uint_as_float(static_cast<std::uint32_t>(e + 127) << 23);
}

/// The scaling of values whose largest magnitude is given, to magnitudes up to 2^kBits.
struct FixedPoint {
  float to_integer = 0.0f;    ///< 0 when some value is not finite.
  float from_integer = 0.0f;  ///< NaN likewise, so that everything becomes NaN.
};

/// `largest`: the bits of the largest magnitude. An infinity or a NaN has the largest of all.
template <int kBits>
__device__ __forceinline__ FixedPoint fixed_point(std::uint32_t largest) {
  if (largest >= 0x7F800000u) {
    return {0.0f, nan_spec()};
  }
  const int exponent = static_cast<int>(largest >> 23);
  const int e = (exponent > 27 ? exponent : 27) - 126;
  return {power_of_two(kBits - e), power_of_two(e - kBits)};
}

/// x * to_integer, or 0 when some value is not finite.
__device__ __forceinline__ float scaled(float x, FixedPoint scale) {
  return scale.to_integer > 0.0f ? __fmul_rn(x, scale.to_integer) : 0.0f;
}

__device__ __forceinline__ std::uint32_t larger(std::uint32_t a, std::uint32_t b) {
  return a < b ? b : a;
}

/// The largest over lanes that differ in the bits below kLanes.
template <int kLanes>
__device__ __forceinline__ std::uint32_t largest_of_lanes(std::uint32_t x) {
  for (int apart = kLanes / 2; apart > 0; apart /= 2) {
    x = larger(x, __shfl_xor_sync(0xFFFFFFFFu, x, apart));
  }
  return x;
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
