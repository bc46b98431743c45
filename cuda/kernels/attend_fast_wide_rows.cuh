// Fast attention of wide tiles: the sixteen rows of a warp, what they see of a chunk, and what
// there is of their results so far. A lane holds a part of two rows, of lane / 4 and of the one
// eight further; in arrays of two, the second is [1].
#pragma once

#include "attend_combine.cuh"
#include "attend_fast_wide_shared.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// The first row of the warp.
__device__ __forceinline__ int first_row_of_warp() {
  return static_cast<int>(threadIdx.x) / 32 * kWarpRows;
}

/// The lane's row r of the tile.
__device__ __forceinline__ int row_of_lane(int r) {
  return first_row_of_warp() + static_cast<int>(threadIdx.x) % 32 / 4 + 8 * r;
}

/// What a warp sees of a chunk.
struct WideView {
  PositionRange rows[2];  ///< The lane's.
  PositionRange all;      ///< Of the warp's rows together.
  bool is_whole;          ///< Every row sees all of the chunk.

  /// Whether some row of the warp may see one of `count` positions from `first` on.
  __device__ __forceinline__ bool reaches(int first, int count) const {
    return first + count > all.begin && first < all.end;
  }
};

/// Ranges grow with the row, so that the warp's first and last row say what all of them see.
template <DType kDType, int kHeadDim>
__device__ __forceinline__ WideView view_of_chunk(const WideShared<kDType, kHeadDim>& shared,
                                                  int num_rows,
                                                  std::int32_t chunk) {
  WideView view = {};
  const int first = first_row_of_warp();
  if (first < num_rows) {
    const PositionRange first_seen = shared.seen[first];
    const PositionRange last_seen = shared.seen[min(first + kWarpRows, num_rows) - 1];
    view.rows[0] = part_of_chunk(shared.seen[row_of_lane(0)], chunk);
    view.rows[1] = part_of_chunk(shared.seen[row_of_lane(1)], chunk);
    view.all = part_of_chunk({first_seen.begin, last_seen.end}, chunk);
    view.is_whole = part_of_chunk(last_seen, chunk).begin == 0 &&
                    part_of_chunk(first_seen, chunk).end == kChunkPositions;
  }
  return view;
}

/// The results of the chunks that are folded: M and L.
struct WideRows {
  float m[2];
  float l[2];

  /// Before any chunk: the sink, if there is one.
  __device__ __forceinline__ void begin(const AttendPlan& plan, const AttendItem& item) {
    OCTAVO_UNROLL
    for (int r = 0; r < 2; ++r) {
      const int row = min(row_of_lane(r), item.tile.num_rows - 1);
      const float sink = find_combine_row(plan, item, row).sink;
      m[r] = sink > minus_infinity() ? sink : minus_infinity();
      l[r] = sink == minus_infinity() ? 0.0f : exp2_spec(__fsub_rn(sink, m[r]));
    }
  }

  /// Takes m and l of a chunk of row r in. What its sums are multiplied by, and those before it.
  __device__ __forceinline__ float2 fold(int r, float chunk_m, float chunk_l) {
    const float largest = chunk_m > m[r] ? chunk_m : m[r];
    const float weight = exp2_spec(__fsub_rn(chunk_m, largest));
    const float before = exp2_spec(__fsub_rn(m[r], largest));
    m[r] = largest;
    l[r] = __fmaf_rn(chunk_l, weight, __fmul_rn(l[r], before));
    return make_float2(weight, before);
  }
};

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
