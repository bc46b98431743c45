// The softmax of a chunk (NUMERICS.md, 8.2) for one row by one warp: what all attention kernels
// share.
#pragma once

#include "attend_tile.cuh"
#include "exact_math.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr unsigned kWholeWarp = 0xFFFFFFFFu;
constexpr int kPositionsPerLane = kChunkPositions / 32;

/// What lane j holds of a row: positions j, j + 32, ... of the chunk.
struct LaneScores {
  float x[kPositionsPerLane];
};

/// A score in powers of two: `scaled` is the dot, times the token's scale where the codec has one.
/// A zero may have either sign, which shows in the maximum alone: max_of_row makes it +0.
__device__ __forceinline__ float finish_score(float scaled, float factor, float cap) {
  float s = __fmul_rn(scaled, factor);
  if (cap > 0.0f) {
    s = __fmul_rn(tanh_spec(s), cap);
  }
  return s;
}

/// m of scores that are -infinity where the row does not see a position. A NaN is passed over.
__device__ __forceinline__ float max_of_row(const LaneScores& scores) {
  float m = minus_infinity();
  OCTAVO_UNROLL
  for (int i = 0; i < kPositionsPerLane; ++i) {
    m = fmaxf(m, scores.x[i]);
  }
  OCTAVO_UNROLL
  for (int offset = 16; offset > 0; offset /= 2) {
    m = fmaxf(m, __shfl_xor_sync(kWholeWarp, m, offset));
  }
  return __fadd_rn(m, 0.0f);  // No -0.
}

/// l of weights that are +0 where the row does not see a position.
__device__ __forceinline__ float sum_of_row(const LaneScores& weights) {
  float l = 0.0f;
  OCTAVO_UNROLL
  for (int i = 0; i < kPositionsPerLane; ++i) {
    l = __fadd_rn(l, weights.x[i]);
  }
  OCTAVO_UNROLL
  for (int offset = 1; offset < 32; offset *= 2) {
    l = __fadd_rn(l, __shfl_xor_sync(kWholeWarp, l, offset));
  }
  return l;
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
