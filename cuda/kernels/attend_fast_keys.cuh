// Fast attention: queries as operands of tensor cores, and their products with the keys of a chunk.
//
// Right operand: eight keys a step, one a group of four lanes. A lane loads 16 consecutive bytes of
// its key and feeds them to the products as they stand, four elements to each; the queries'
// fragments take the order of elements that results.
#pragma once

#include "attend_fast_shared.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// How the lanes of a warp share the bytes of a key: lane `tig` of four has 16 bytes of each piece
/// of 64. The last piece may be partly empty.
template <DType kDType, int kHeadDim>
struct FastKeyShape {
  static constexpr int kElementBytes = FastFormat<kDType>::kElementBytes;
  static constexpr int kRowBytes = kHeadDim * kElementBytes;
  static constexpr int kPieces = (kRowBytes + 63) / 64;
  static constexpr int kLaneElements = 16 / kElementBytes;
  static constexpr int kProducts = kLaneElements / 4;
  static constexpr int kPaddedDim = kPieces * 4 * kLaneElements;
  static constexpr int kQueryElements = kPaddedDim / 8;  ///< A thread's, as queries are loaded.
  /// Steps of eight keys a warp that are loaded at once: about 32 registers.
  static constexpr int kStepsAhead = kPieces > 4 ? 1 : kPieces > 2 ? 2 : kPieces > 1 ? 4 : 8;
  static_assert(kPaddedDim <= kOperandStride);
};

/// A query as operands, and the factor of its scores, by eight threads; a row that is not there and
/// elements beyond the head's are 0. operand(d): where that of element d goes.
template <DType kDType, int kHeadDim, typename Operand>
__device__ __forceinline__ void load_query(const AttendPlan& plan,
                                           const AttendItem& item,
                                           int row,
                                           const Operand& operand,
                                           float& score_factor) {
  using Shape = FastKeyShape<kDType, kHeadDim>;
  constexpr bool kHalf = FastFormat<kDType>::kHalf;
  const int lane = static_cast<int>(threadIdx.x) % 8;
  const StepOperandArg& query = plan.arg.query;
  float x[Shape::kQueryElements] = {};
  std::uint32_t largest = 0;
  if (row < item.tile.num_rows) {
    const std::int64_t base = token_of(plan, item.tile, row) * query.token_stride +
                              head_of(plan, item.tile, item.kv_head, row) * query.head_stride;
    OCTAVO_UNROLL
    for (int i = 0; i < Shape::kQueryElements; ++i) {
      const int d = lane + 8 * i;
      x[i] = d < kHeadDim ? load_element(query.dtype, query.data, base + d) : 0.0f;
    }
  }
  FixedPoint scale = {1.0f, 1.0f};
  if constexpr (kHalf) {
    OCTAVO_UNROLL
    for (int i = 0; i < Shape::kQueryElements; ++i) {
      largest = larger(largest, __float_as_uint(magnitude(x[i])));
    }
    scale = fixed_point<kHalfBits>(largest_of_lanes<8>(largest));
  }
  OCTAVO_UNROLL
  for (int i = 0; i < Shape::kQueryElements; ++i) {
    operand(lane + 8 * i) = operand_of<kHalf>(scaled(x[i], scale));
  }
  if (lane == 0) {
    score_factor = __fmul_rn(plan.arg.score_factor, scale.from_integer);
  }
}

/// A lane's bytes of one key; zeros for a null `row` and beyond its end.
template <DType kDType, int kHeadDim>
struct FastKey {
  using Shape = FastKeyShape<kDType, kHeadDim>;
  std::uint32_t words[Shape::kPieces][4];

  __device__ __forceinline__ void load(const std::uint8_t* row, int tig) {
    OCTAVO_UNROLL
    for (int p = 0; p < Shape::kPieces; ++p) {
      const int at = (p * 4 + tig) * 16;
      const bool on = row != nullptr && at < Shape::kRowBytes;
      const uint4 loaded =
          on ? __ldg(reinterpret_cast<const uint4*>(row + at)) : make_uint4(0, 0, 0, 0);
      words[p][0] = loaded.x;
      words[p][1] = loaded.y;
      words[p][2] = loaded.z;
      words[p][3] = loaded.w;
    }
  }
};

/// The left operand of all products: rows lane / 4 and lane / 4 + 8.
template <DType kDType, int kHeadDim>
struct FastQueries {
  using Shape = FastKeyShape<kDType, kHeadDim>;
  std::uint32_t a[Shape::kPieces][Shape::kProducts][4];

  __device__ __forceinline__ void load(const FastShared& shared, int row, int tig) {
    OCTAVO_UNROLL
    for (int p = 0; p < Shape::kPieces; ++p) {
      OCTAVO_UNROLL
      for (int j = 0; j < Shape::kProducts; ++j) {
        const int first = (p * 4 + tig) * Shape::kLaneElements + 4 * j;
        const uint2 upper = four_operands(&shared.operand[row][first]);
        const uint2 lower = four_operands(&shared.operand[row + 8][first]);
        a[p][j][0] = upper.x;
        a[p][j][1] = lower.x;
        a[p][j][2] = upper.y;
        a[p][j][3] = lower.y;
      }
    }
  }

  /// Dots with keys 2 tig and 2 tig + 1 of a step: of row lane / 4 in c[0], c[1], of the row eight
  /// further in c[2], c[3].
  __device__ __forceinline__ void multiply(const FastKey<kDType, kHeadDim>& key,
                                           float (&c)[4]) const {
    OCTAVO_UNROLL
    for (int p = 0; p < Shape::kPieces; ++p) {
      OCTAVO_UNROLL
      for (int j = 0; j < Shape::kProducts; ++j) {
        multiply_add<FastFormat<kDType>::kHalf>(c, a[p][j], pair_of<kDType>(key.words[p], 2 * j),
                                                pair_of<kDType>(key.words[p], 2 * j + 1));
      }
    }
  }
};

/// Dots of all rows with the keys of `seen`. Steps go round the warps; several steps' loads are in
/// flight before the first product waits.
template <DType kDType, int kHeadDim>
__device__ __forceinline__ void multiply_keys_fast(PositionRange seen,
                                                   int num_rows,
                                                   FastShared& shared) {
  using Shape = FastKeyShape<kDType, kHeadDim>;
  constexpr int kSteps = kChunkPositions / (8 * kItemWarps);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int group = static_cast<int>(threadIdx.x) % 32 / 4;
  const int tig = static_cast<int>(threadIdx.x) % 4;
  FastQueries<kDType, kHeadDim> queries;
  queries.load(shared, group, tig);
  OCTAVO_NO_UNROLL
  for (int first = 0; first < kSteps; first += Shape::kStepsAhead) {
    FastKey<kDType, kHeadDim> keys[Shape::kStepsAhead];
    OCTAVO_UNROLL
    for (int u = 0; u < Shape::kStepsAhead; ++u) {
      const int t = ((first + u) * kItemWarps + warp) * 8 + group;
      keys[u].load(contains(seen, t) ? shared.key_rows[t] : nullptr, tig);
    }
    OCTAVO_UNROLL
    for (int u = 0; u < Shape::kStepsAhead; ++u) {
      const int t = ((first + u) * kItemWarps + warp) * 8;
      if (t + 8 <= seen.begin || t >= seen.end) {
        continue;  // The same for the whole warp.
      }
      float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
      queries.multiply(keys[u], c);
      if (group < num_rows) {
        *reinterpret_cast<float2*>(&shared.sums.scores[group][t + 2 * tig]) =
            make_float2(c[0], c[1]);
      }
      if (group + 8 < num_rows) {
        *reinterpret_cast<float2*>(&shared.sums.scores[group + 8][t + 2 * tig]) =
            make_float2(c[2], c[3]);
      }
    }
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
