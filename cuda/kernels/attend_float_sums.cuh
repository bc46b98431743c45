// The two loops of the tuned float kernels over a chunk's tokens, dots and weighted sums, and the
// trees that end them.
#pragma once

#include "attend_float_shape.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// The thread's unit of the dots of all rows with one key. A lane without a unit gives -0: adding
/// that changes nothing, not even a zero's sign, so the other side of the tree passes up.
template <typename Shape>
__device__ __forceinline__ void unit_dots(const FloatThread& at,
                                          const float (&q)[Shape::kRows][8],
                                          int stage,
                                          const FloatShared<Shape>& shared,
                                          float* dots) {
  if (!at.active) {
    OCTAVO_UNROLL
    for (int row = 0; row < Shape::kRows; ++row) {
      dots[row] = -0.0f;
    }
    return;
  }
  float key[8];
  read_slot(shared, stage, key);
  OCTAVO_UNROLL
  for (int row = 0; row < Shape::kRows; ++row) {
    float dot = __fmul_rn(q[row][0], key[0]);
    OCTAVO_UNROLL
    for (int e = 1; e < 8; ++e) {
      dot = __fmaf_rn(q[row][e], key[e], dot);
    }
    dots[row] = dot;
  }
}

/// The pairwise tree over a token's lanes, neighbours first. The order of a level's two operands
/// does not matter, so while several values are left a level also halves them: each lane keeps
/// those whose index agrees with its own in that bit. Lane j ends with value j mod kScores.
template <typename Shape>
__device__ __forceinline__ float reduce_dots(int unit, float (&dots)[Shape::kScores]) {
  OCTAVO_UNROLL
  for (int bit = 1; bit < Shape::kScores; bit *= 2) {
    const bool odd = (unit & bit) != 0;
    OCTAVO_UNROLL
    for (int i = 0; i < Shape::kScores; i += 2 * bit) {
      const float keep = odd ? dots[i + bit] : dots[i];
      const float send = odd ? dots[i] : dots[i + bit];
      dots[i] = __fadd_rn(keep, __shfl_xor_sync(kWholeWarp, send, bit));
    }
  }
  OCTAVO_UNROLL
  for (int bit = Shape::kScores; bit < Shape::kLanes; bit *= 2) {
    dots[0] = __fadd_rn(dots[0], __shfl_xor_sync(kWholeWarp, dots[0], bit));
  }
  return dots[0];
}

template <typename Shape, bool kFull>
__device__ __forceinline__ void float_dots(const FloatThread& at,
                                           const float (&q)[Shape::kRows][8],
                                           FloatShared<Shape>& shared) {
  constexpr int kTokens = Shape::kScoreTokens;
  OCTAVO_NO_UNROLL
  for (int step = at.first_step; step < at.end_step; step += Shape::kRoundSteps) {
    float dots[Shape::kScores];
    OCTAVO_UNROLL
    for (int i = 0; i < Shape::kRoundSteps; ++i) {
      const int stage = i % Shape::kStages;
      fetch_next<Shape, kFull>(shared.key_rows, at, step + i - stage, stage, shared);
      unit_dots<Shape>(at, q, stage, shared, dots + i % kTokens * Shape::kRows);
      if (i % kTokens == kTokens - 1) {
        const float dot = reduce_dots<Shape>(at.unit, dots);
        const int index = at.unit % Shape::kScores;
        const int token = step + i - (kTokens - 1) + index / Shape::kRows;
        if (at.unit < Shape::kScores) {
          shared.scores[score_at<Shape>(index % Shape::kRows, at.stream, token)] = dot;
        }
      }
    }
  }
}

/// Adds the value of a slot to the sums of the rows that see it. `weights`: of an even stage and of
/// the odd one after it.
template <typename Shape, bool kFull>
__device__ __forceinline__ void weigh_value(unsigned seen,
                                            const float2 (&weights)[Shape::kRows],
                                            int stage,
                                            const FloatShared<Shape>& shared,
                                            float (&o)[Shape::kRows * 8]) {
  float value[8];
  read_slot(shared, stage, value);
  OCTAVO_UNROLL
  for (int row = 0; row < Shape::kRows; ++row) {
    const float w = stage % 2 == 0 ? weights[row].x : weights[row].y;
    if (kFull || (seen >> row & 1u) != 0) {
      OCTAVO_UNROLL
      for (int e = 0; e < 8; ++e) {
        o[8 * row + e] = __fmaf_rn(w, value[e], o[8 * row + e]);
      }
    }
  }
}

/// The thread's unit of its stream, for all rows: one chain of multiply-adds an element, from +0
/// over the tokens that the row sees.
template <typename Shape, bool kFull>
__device__ __forceinline__ void weigh_values(const FloatThread& at,
                                             float (&o)[Shape::kRows * 8],
                                             FloatShared<Shape>& shared) {
  OCTAVO_UNROLL
  for (int i = 0; i < Shape::kRows * 8; ++i) {
    o[i] = 0.0f;
  }
  OCTAVO_NO_UNROLL
  for (int step = at.first_step; step < at.end_step; step += Shape::kStages) {
    OCTAVO_UNROLL
    for (int pair = 0; pair < Shape::kStages; pair += 2) {
      float2 weights[Shape::kRows];  // Of two tokens.
      OCTAVO_UNROLL
      for (int row = 0; row < Shape::kRows; ++row) {
        weights[row] = *reinterpret_cast<const float2*>(
            shared.scores + score_at<Shape>(row, at.stream, step + pair));
      }
      OCTAVO_UNROLL
      for (int stage = pair; stage < pair + 2; ++stage) {
        fetch_next<Shape, kFull>(shared.value_rows, at, step, stage, shared);
        const int t = at.stream + Shape::kStreams * (step + stage);
        const unsigned seen = kFull ? 0xFFu : shared.seen[t];
        if (at.active && seen != 0) {
          weigh_value<Shape, kFull>(seen, weights, stage, shared, o);
        }
      }
    }
  }
}

/// The tree over the streams of a warp, from lanes kBit apart on. Again each level halves what a
/// lane keeps: of kCount sums it ends with the first ones of `o`; returns which was the first.
template <int kBit, int kCount>
__device__ __forceinline__ int reduce_streams(float* o) {
  if constexpr (kBit < 32) {
    constexpr int kKept = kCount / 2;
    const bool odd = (static_cast<int>(threadIdx.x) & kBit) != 0;
    OCTAVO_UNROLL
    for (int i = 0; i < kKept; ++i) {
      const float keep = odd ? o[kKept + i] : o[i];
      const float send = odd ? o[i] : o[kKept + i];
      o[i] = __fadd_rn(keep, __shfl_xor_sync(kWholeWarp, send, kBit));
    }
    return (odd ? kKept : 0) + reduce_streams<2 * kBit, kKept>(o);
  } else {
    return 0;
  }
}

/// The tree over the warps, and the outs of rows first_row .. + kOutRows - 1.
template <typename Shape>
__device__ __forceinline__ void store_outs(const AttendPlan& plan,
                                           const AttendItem& item,
                                           int first_row,
                                           const FloatShared<Shape>& shared) {
  constexpr int kQuads = Shape::kHeadDim / 4;
  for (int x = static_cast<int>(threadIdx.x); x < Shape::kOutRows * kQuads; x += kFloatThreads) {
    const int row = x / kQuads;
    const int d = x % kQuads * 4;
    if (first_row + row >= item.tile.num_rows ||
        shared.begin[first_row + row] >= shared.end[first_row + row]) {
      continue;
    }
    float4 sums[kFloatWarps];
    OCTAVO_UNROLL
    for (int warp = 0; warp < kFloatWarps; ++warp) {
      sums[warp] = *reinterpret_cast<const float4*>(&shared.streams[warp][row][d]);
    }
    OCTAVO_UNROLL
    for (int half = 1; half < kFloatWarps; half *= 2) {
      OCTAVO_UNROLL
      for (int warp = 0; warp < kFloatWarps; warp += 2 * half) {
        float4& a = sums[warp];
        const float4& b = sums[warp + half];
        a = make_float4(__fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y), __fadd_rn(a.z, b.z),
                        __fadd_rn(a.w, b.w));
      }
    }
    store_out(plan, shared.slot[first_row + row], d, sums[0]);
  }
}

template <typename Shape>
__device__ __forceinline__ void float_outs(const AttendPlan& plan,
                                           const AttendItem& item,
                                           const FloatThread& at,
                                           float (&o)[Shape::kRows * 8],
                                           FloatShared<Shape>& shared) {
  constexpr int kKept = Shape::kRows * 8 / (32 / Shape::kLanes);
  static_assert(Shape::kOutRows == Shape::kRows || Shape::kLanes == 32);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int first = reduce_streams<Shape::kLanes, Shape::kRows * 8>(o);
  OCTAVO_UNROLL
  for (int batch = 0; batch < Shape::kRows / Shape::kOutRows; ++batch) {
    constexpr int kBatch = kKept / (Shape::kRows / Shape::kOutRows);
    __syncthreads();  // Slots and the batch before are done with.
    if (at.active) {
      OCTAVO_UNROLL
      for (int i = 0; i < kBatch; i += 2) {
        const int x = first + i;
        *reinterpret_cast<float2*>(&shared.streams[warp][x / 8][8 * at.unit + x % 8]) =
            make_float2(o[batch * kBatch + i], o[batch * kBatch + i + 1]);
      }
    }
    __syncthreads();
    store_outs<Shape>(plan, item, batch * Shape::kOutRows, shared);
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
