// What the threads of a block share while they attend over integer rows (NUMERICS.md, S2), and the
// fixed point that queries and weights are put into.
//
// A block is four warps; it does one item: up to eight rows against one chunk. Every product is one
// of integer tensor cores, m16n8k32: a 13-bit query or 15-bit weight is two 8-bit limbs, and the
// sixteen rows of the left operand are the high limbs of eight rows and then their low limbs. So
// the lane that gets a high sum also gets the low one, and no row of the operand is padding.
// Integer sums have no order; fragments follow the memory layout.
#pragma once

#include "attend_tile.cuh"
#include "exact_math.cuh"
#include "platform.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr int kIntThreads = 128;
constexpr int kIntWarps = kIntThreads / 32;
constexpr int kIntRows = 8;  ///< Of a tile.
constexpr int kQueryBits = 13;
constexpr int kWeightBits = 15;
// Paddings that spread rows over the banks of shared memory: by 8 of 32 words a row.
constexpr int kDotStride = kChunkPositions + 8;
constexpr int kLimbStride = kChunkPositions + 32;

/// Head dims are done in slices of this many elements; the last may be partly empty.
constexpr int kSliceElements = 64;
template <int kHeadDim>
struct ValueShape {
  static constexpr int kSlices = (kHeadDim + kSliceElements - 1) / kSliceElements;
  static constexpr int kSumStride = kSlices * kSliceElements + 8;
};

/// Everything is indexed by row of the tile, or by position relative to the chunk. Rows beyond the
/// tile's and positions that no row sees are unspecified where nothing else is said.
template <int kHeadDim>
struct IntShared {
  /// The exact dot products.
  std::int32_t dots[kIntRows][kDotStride];
  /// The exact weighted sums: element 8 n + e of slice s lies at 64 s + 8 e + n.
  std::int32_t sums[kIntRows][ValueShape<kHeadDim>::kSumStride];
  /// High limbs of row r at [r], low ones at [r + 8]; of the queries until the dots are done, then
  /// of the weights (0 where a row does not see a position).
  alignas(16) std::uint8_t limbs[2 * kIntRows][kLimbStride];
  const std::uint8_t* key_rows[kChunkPositions];
  const std::uint8_t* value_rows[kChunkPositions];
  float key_scales[kChunkPositions];
  float value_scales[kChunkPositions];
  std::int64_t slots[kIntRows];  ///< Where (m, l) and o go.
  std::int32_t begins[kIntRows];
  std::int32_t ends[kIntRows];
  float score_factor[kIntRows];  ///< Of a dot; NaN where the query is not finite.
  float out_factor[kIntRows];    ///< Of a weighted sum; NaN where a weight is not finite.
};

/// 2^e for e in [-126, 127].
__device__ __forceinline__ float power_of_two(int e) {
  return __uint_as_float(static_cast<std::uint32_t>(e + 127) << 23);
}

/// The scaling of values whose largest magnitude is given, to kBits bits.
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

/// rint(x * to_integer), or 0 when some value is not finite.
__device__ __forceinline__ std::int32_t to_fixed(float x, FixedPoint scale) {
  return scale.to_integer > 0.0f ? __float2int_rn(__fmul_rn(x, scale.to_integer)) : 0;
}

__device__ __forceinline__ std::uint32_t larger(std::uint32_t a, std::uint32_t b) {
  return a < b ? b : a;
}

/// Four int4 codes of a word as int8, times 16: bits 7..4 of each byte hold code + 8, and flipping
/// the top bit subtracts 8 * 16. Sums of such products are 16 times too large, exactly.
__device__ __forceinline__ std::uint32_t high_nibbles(std::uint32_t word) {
  return (word & 0xF0F0F0F0u) ^ 0x80808080u;
}
__device__ __forceinline__ std::uint32_t low_nibbles(std::uint32_t word) {
  return ((word << 4) & 0xF0F0F0F0u) ^ 0x80808080u;
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
