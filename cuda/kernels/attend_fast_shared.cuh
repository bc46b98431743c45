// What the threads of a block share in fast attention (NUMERICS.md, section 9), and how stored
// elements become operands of float tensor cores.
//
// A block is four warps; it does one item: up to sixteen rows against one chunk. Products are
// m16n8k16 with float sums. BF16 rows are multiplied as they are; F16, E4M3 and E5M2 rows as F16,
// which holds all of their numbers, and then queries and weights are scaled by a power of two that
// brings the largest of a row close to the largest F16, so that none of any weight is lost.
#pragma once

#include <cmath>
#include <cstring>

#include "attend_fixed_point.cuh"
#include "attend_item_shared.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr int kFastRows = 16;  ///< Of a tile.
/// F16 queries and weights are below 2^15: half of what F16 holds.
constexpr int kHalfBits = 15;
/// Positions of a product of values, and the products that a warp adds up.
constexpr int kFastStepPositions = 16;
constexpr int kFastValueSteps = kChunkPositions / (kFastStepPositions * kItemWarps);
// Paddings that spread rows over the banks of shared memory: by 8 of 32 words a row.
constexpr int kScoreStride = kChunkPositions + 8;
constexpr int kOperandStride = kChunkPositions + 16;
constexpr int kPartStride = kSliceElements + 8;

struct FastShared : ItemShared<kFastRows> {
  /// First the scores; then, slice after slice, each warp's weighted sums: element 8 n + e of the
  /// slice lies at 8 e + n.
  union Sums {
    float scores[kFastRows][kScoreStride];
    float parts[kItemWarps][kFastRows][kPartStride];
  };
  Sums sums;
  /// The left operand in 16 bits: the queries until the scores are done, then the weights (0 where
  /// a row does not see a position).
  alignas(16) std::uint16_t operand[kFastRows][kOperandStride];
};

/// Four consecutive operands, from a multiple of four on.
__device__ __forceinline__ uint2 four_operands(const std::uint16_t* operands) {
  uint2 words;
  std::memcpy(&words, __builtin_assume_aligned(operands, sizeof words), sizeof words);
  return words;
}

/// 2^x within a relative 2^-22; results below 2^-126 may be 0.
__device__ __forceinline__ float exp2_fast(float x) {
#if defined(__CUDACC__)
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return std::exp2(x);
#endif
}

/// How a dtype is stored and multiplied.
template <DType kDType>
struct FastFormat {
  static constexpr bool kBytes = kDType == DType::E4M3 || kDType == DType::E5M2;
  static constexpr bool kHalf = kDType != DType::BF16;  ///< Multiplied as F16.
  static constexpr int kElementBytes = kBytes ? 1 : 2;
};

/// A float as the format of the products: exact or to nearest.
template <bool kHalf>
__device__ __forceinline__ std::uint16_t operand_of(float x) {
  return static_cast<std::uint16_t>(kHalf ? f32_to_f16(x) : f32_to_bf16(x));
}

template <bool kHalf>
__device__ __forceinline__ void multiply_add(float (&c)[4],
                                             const std::uint32_t (&a)[4],
                                             std::uint32_t b0,
                                             std::uint32_t b1) {
  if constexpr (kHalf) {
    mma_f16(c, a, b0, b1);
  } else {
    mma_bf16(c, a, b0, b1);
  }
}

/// Two fp8 codes, in the low 16 bits, as two F16: exact.
template <DType kDType>
__device__ __forceinline__ std::uint32_t widened_pair(std::uint32_t codes) {
  static_assert(FastFormat<kDType>::kBytes);
  if constexpr (kDType == DType::E5M2) {
    return __byte_perm(codes, 0, 0x1404);  // E5M2 is the upper byte of F16.
  } else {
#if OCTAVO_HAS_FP8_INSTRUCTIONS
    const __half2_raw pair =
        __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(codes), __NV_E4M3);
    return static_cast<std::uint32_t>(pair.y) << 16 | pair.x;
#else
    return f32_to_f16(e4m3_to_f32(codes)) | f32_to_f16(e4m3_to_f32(codes >> 8)) << 16;
#endif
  }
}

/// Pair `pair` of a lane's consecutive elements, from the words that hold them.
template <DType kDType>
__device__ __forceinline__ std::uint32_t pair_of(const std::uint32_t* words, int pair) {
  if constexpr (FastFormat<kDType>::kBytes) {
    return widened_pair<kDType>(words[pair / 2] >> (16 * (pair % 2)) & 0xFFFFu);
  } else {
    return words[pair];
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
