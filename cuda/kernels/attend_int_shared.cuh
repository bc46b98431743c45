// What the threads of a block share while they attend over integer rows (NUMERICS.md, S2), and the
// fixed point that queries and weights are put into.
//
// A block is four warps; it does one item: up to eight rows against one chunk. Every product is one
// of integer tensor cores, m16n8k32: a 13-bit query or 15-bit weight is two 8-bit limbs, and the
// sixteen rows of the left operand are the high limbs of eight rows and then their low limbs. So
// the lane that gets a high sum also gets the low one, and no row of the operand is padding.
// Integer sums have no order; fragments follow the memory layout.
#pragma once

#include "attend_fixed_point.cuh"
#include "attend_item_shared.cuh"
#include "platform.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr int kIntRows = 8;  ///< Of a tile.
constexpr int kQueryBits = 13;
constexpr int kWeightBits = 15;
// Paddings that spread rows over the banks of shared memory: by 8 of 32 words a row.
constexpr int kDotStride = kChunkPositions + 8;
constexpr int kLimbStride = kChunkPositions + 32;

template <int kHeadDim>
struct ValueShape {
  static constexpr int kSlices = (kHeadDim + kSliceElements - 1) / kSliceElements;
  static constexpr int kSumStride = kSlices * kSliceElements + 8;
};

template <int kHeadDim>
struct IntShared : ItemShared<kIntRows> {
  /// The exact dot products.
  std::int32_t dots[kIntRows][kDotStride];
  /// The exact weighted sums: element 8 n + e of slice s lies at 64 s + 8 e + n.
  std::int32_t sums[kIntRows][ValueShape<kHeadDim>::kSumStride];
  /// High limbs of row r at [r], low ones at [r + 8]; of the queries until the dots are done, then
  /// of the weights (0 where a row does not see a position).
  alignas(16) std::uint8_t limbs[2 * kIntRows][kLimbStride];
};

/// rint(x * to_integer), or 0 when some value is not finite.
__device__ __forceinline__ std::int32_t to_fixed(float x, FixedPoint scale) {
  return __float2int_rn(scaled(x, scale));
}

/// rint(x * to_integer) of a weight in the low 16 bits: the product is exact, and the sum rounds
/// it. Something else for a weight that is not finite; then all results are NaN whatever the sums
/// are.
__device__ __forceinline__ std::uint32_t to_fixed_bits16(float x, FixedPoint scale) {
  return __float_as_uint(__fmaf_rn(x, scale.to_integer, kRoundMagic));
}

/// Four int4 codes of a word as int8, times 16: bits 7..4 of each byte hold code + 8, and flipping
/// the top bit subtracts 8 * 16. Sums of such products are 16 times too large, exactly.
__device__ __forceinline__ std::uint32_t high_nibbles(std::uint32_t word) {
  return and_xor(word, 0xF0F0F0F0u, 0x80808080u);
}
__device__ __forceinline__ std::uint32_t low_nibbles(std::uint32_t word) {
  return and_xor(word << 4, 0xF0F0F0F0u, 0x80808080u);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
