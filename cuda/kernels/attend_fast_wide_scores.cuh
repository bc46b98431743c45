// Fast attention of wide tiles: a warp's scores of a chunk, and their weights as operands. All of
// them are in registers; every operation is one of attend_fast.cuh, in its order.
#pragma once

#include "attend_fast_wide_rows.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// x[o][0] and [1] are of the lane's first row, [2] and [3] of its second: of the positions of rows
/// 2 tig and 2 tig + 1 of octet o. First scores, then what becomes of them.
struct WideScores {
  float x[kOctets][4];
};

/// Weights as left operands, sixteen positions each.
struct WideWeights {
  std::uint32_t a[kOctets / 2][4];
  float m[2];
  float l[2];
  float out_factor[2];
};

/// The left operand of the products of piece p: the queries of the lane's two rows.
template <DType kDType, int kHeadDim>
struct WideQueries {
  using Key = FastKeyShape<kDType, kHeadDim>;
  std::uint32_t a[Key::kProducts][4];

  __device__ __forceinline__ void load(const WideShared<kDType, kHeadDim>& shared, int p) {
    OCTAVO_UNROLL
    for (int j = 0; j < Key::kProducts; ++j) {
      const std::uint16_t* const from = shared.queries[threadIdx.x / 32][p][j][threadIdx.x % 32];
      std::memcpy(a[j], __builtin_assume_aligned(from, sizeof a[j]), sizeof a[j]);
    }
  }
};

/// Dots of the warp's rows with all keys that some of them see; 0 with others.
template <DType kDType, int kHeadDim>
__device__ __forceinline__ void multiply_keys_wide(const WideShared<kDType, kHeadDim>& shared,
                                                   const WideView& view,
                                                   WideScores& scores) {
  using Key = FastKeyShape<kDType, kHeadDim>;
  constexpr int kSpan = 128;  // Positions that are left out together.
  const int group = static_cast<int>(threadIdx.x) % 32 / 4;
  const int tig = static_cast<int>(threadIdx.x) % 4;
  OCTAVO_UNROLL
  for (int span = 0; span < kChunkPositions; span += kSpan) {
    const int octet = span / 8;
    OCTAVO_UNROLL
    for (int o = octet; o < octet + kSpan / 8; ++o) {
      OCTAVO_UNROLL
      for (int i = 0; i < 4; ++i) {
        scores.x[o][i] = 0.0f;
      }
    }
    if (!view.reaches(span, kSpan)) {
      continue;  // The same for the whole warp.
    }
    OCTAVO_UNROLL
    for (int p = 0; p < Key::kPieces; ++p) {
      WideQueries<kDType, kHeadDim> queries;
      queries.load(shared, p);
      OCTAVO_UNROLL
      for (int o = octet; o < octet + kSpan / 8; ++o) {
        const uint4 key =
            *reinterpret_cast<const uint4*>(&shared.keys[8 * o + group][(p * 4 + tig) * 16]);
        const std::uint32_t words[4] = {key.x, key.y, key.z, key.w};
        OCTAVO_UNROLL
        for (int j = 0; j < Key::kProducts; ++j) {
          multiply_add<FastFormat<kDType>::kHalf>(scores.x[o], queries.a[j],
                                                  pair_of<kDType>(words, 2 * j),
                                                  pair_of<kDType>(words, 2 * j + 1));
        }
      }
    }
  }
}

/// Dots become logits in powers of two, -infinity where a row does not see.
template <DType kDType, int kHeadDim>
__device__ __forceinline__ void finish_wide_scores(const WideShared<kDType, kHeadDim>& shared,
                                                   std::int32_t chunk,
                                                   const WideView& view,
                                                   WideScores& scores) {
  const int tig = static_cast<int>(threadIdx.x) % 4;
  const float factors[2] = {shared.score_factor[row_of_lane(0)],
                            shared.score_factor[row_of_lane(1)]};
  OCTAVO_UNROLL
  for (int o = 0; o < kOctets; ++o) {
    OCTAVO_UNROLL
    for (int i = 0; i < 4; ++i) {
      float s = scores.x[o][i];
      if constexpr (FastFormat<kDType>::kBytes) {
        s = __fmul_rn(s, shared.key_scales[chunk % 2][position_of(o, 2 * tig) + i % 2]);
      }
      scores.x[o][i] = finish_score(s, factors[i / 2], 0.0f);
    }
  }
  if (view.is_whole) {
    return;  // The same for the whole warp.
  }
  OCTAVO_UNROLL
  for (int o = 0; o < kOctets; ++o) {
    OCTAVO_UNROLL
    for (int i = 0; i < 4; ++i) {
      const bool sees = contains(view.rows[i / 2], position_of(o, 2 * tig) + i % 2);
      scores.x[o][i] = sees ? scores.x[o][i] : minus_infinity();
    }
  }
}

/// m of the lane's row r, in the four lanes that have a part of it.
__device__ __forceinline__ float max_of_wide_row(const WideScores& scores, int r) {
  float m = minus_infinity();
  OCTAVO_UNROLL
  for (int o = 0; o < kOctets; ++o) {
    m = fmaxf(m, fmaxf(scores.x[o][2 * r], scores.x[o][2 * r + 1]));
  }
  m = fmaxf(m, __shfl_xor_sync(kWholeWarp, m, 1));
  m = fmaxf(m, __shfl_xor_sync(kWholeWarp, m, 2));
  return __fadd_rn(m, 0.0f);  // No -0.
}

/// l, added up as sum_of_row (attend_scores.cuh) does: positions 32 apart in their order, then a
/// tree over the bits of a position from the lowest on.
__device__ __forceinline__ float sum_of_wide_row(const WideScores& p, int r) {
  float sums[4][2];  // Of the four octets of 32 positions.
  OCTAVO_UNROLL
  for (int o = 0; o < kOctets; ++o) {
    OCTAVO_UNROLL
    for (int i = 0; i < 2; ++i) {
      const float x = p.x[o][2 * r + i];
      sums[o % 4][i] = o < 4 ? x : __fadd_rn(sums[o % 4][i], x);
    }
  }
  float halves[2];
  OCTAVO_UNROLL
  for (int h = 0; h < 2; ++h) {
    const float even = __fadd_rn(sums[2 * h][0], sums[2 * h][1]);
    const float odd = __fadd_rn(sums[2 * h + 1][0], sums[2 * h + 1][1]);
    float l = __fadd_rn(even, odd);
    l = __fadd_rn(l, __shfl_xor_sync(kWholeWarp, l, 1));
    halves[h] = __fadd_rn(l, __shfl_xor_sync(kWholeWarp, l, 2));
  }
  return __fadd_rn(halves[0], halves[1]);
}

/// The scaling of the lane's row r to F16, by the largest of its weights.
__device__ __forceinline__ FixedPoint scale_of_wide_row(const WideScores& weights, int r) {
  std::uint32_t largest = 0;
  OCTAVO_UNROLL
  for (int o = 0; o < kOctets; ++o) {
    OCTAVO_UNROLL
    for (int i = 0; i < 2; ++i) {
      largest = larger(largest, __float_as_uint(magnitude(weights.x[o][2 * r + i])));
    }
  }
  return fixed_point<kHalfBits>(largest_of_lanes<4>(largest));
}

/// Softmax of the warp's rows from their finished scores, which are used up. Where a row sees
/// nothing of the chunk its weights are NaN: whoever sums leaves it out.
template <DType kDType, int kHeadDim>
__device__ __forceinline__ void weigh_wide_rows(const WideShared<kDType, kHeadDim>& shared,
                                                std::int32_t chunk,
                                                WideScores& scores,
                                                WideWeights& weights) {
  constexpr bool kHalf = FastFormat<kDType>::kHalf;
  const int tig = static_cast<int>(threadIdx.x) % 4;
  OCTAVO_UNROLL
  for (int r = 0; r < 2; ++r) {
    weights.m[r] = max_of_wide_row(scores, r);
    OCTAVO_UNROLL
    for (int o = 0; o < kOctets; ++o) {
      OCTAVO_UNROLL
      for (int i = 2 * r; i < 2 * r + 2; ++i) {
        scores.x[o][i] = exp2_fast(__fsub_rn(scores.x[o][i], weights.m[r]));
      }
    }
    weights.l[r] = sum_of_wide_row(scores, r);
    if constexpr (FastFormat<kDType>::kBytes) {
      OCTAVO_UNROLL
      for (int o = 0; o < kOctets; ++o) {
        OCTAVO_UNROLL
        for (int i = 0; i < 2; ++i) {
          float& w = scores.x[o][2 * r + i];
          w = __fmul_rn(w, shared.value_scales[chunk % 2][position_of(o, 2 * tig) + i]);
        }
      }
    }
    FixedPoint scale = {1.0f, 1.0f};
    if constexpr (kHalf) {
      scale = scale_of_wide_row(scores, r);
    }
    OCTAVO_UNROLL
    for (int o = 0; o < kOctets; ++o) {
      const float low = scaled(scores.x[o][2 * r], scale);
      const float high = scaled(scores.x[o][2 * r + 1], scale);
      weights.a[o / 2][o % 2 * 2 + r] = kHalf ? f32_to_f16x2(low, high) : f32_to_bf16x2(low, high);
    }
    weights.out_factor[r] = scale.from_integer;
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
