// What the tensor core kernels of attention share: where an item's rows lie, and the softmax of a
// row by a warp. A block is four warps.
#pragma once

#include "attend_combine.cuh"
#include "attend_scores.cuh"
#include "attend_tile.cuh"
#include "exact_math.cuh"
#include "platform.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr int kItemThreads = 128;
constexpr int kItemWarps = kItemThreads / 32;

/// Head dims are done in slices of this many elements of the values; the last may be partly empty.
constexpr int kSliceElements = 64;

/// In shared memory. Everything is indexed by row of the tile, or by position relative to the
/// chunk; rows beyond the tile's are unspecified.
template <std::size_t kRows>
struct ItemShared {
  alignas(16) const std::uint8_t* key_rows[kChunkPositions];
  alignas(16) const std::uint8_t* value_rows[kChunkPositions];
  float key_scales[kChunkPositions];  ///< Only with a codec, as all scales.
  float value_scales[kChunkPositions];
  std::int64_t slots[kRows];  ///< Where (m, l) and o go.
  std::int32_t begins[kRows];
  std::int32_t ends[kRows];
  float score_factor[kRows];  ///< Of a dot; NaN where the query is not finite.
  float out_factor[kRows];    ///< Of a weighted sum; NaN where a weight is not finite.
  FinishShared<kRows> finish;
};

__device__ __forceinline__ bool contains(PositionRange range, int t) {
  return t >= range.begin && t < range.end;
}

/// Addresses of rows, two a thread, and their scales on the way. A position that no row of the tile
/// sees may have no block: it stands for the nearest one of `seen`, so that whoever can do with any
/// bytes reads all positions alike.
template <std::size_t kRows>
__device__ __forceinline__ void locate_rows(const AttendPlan& plan,
                                            const AttendItem& item,
                                            PositionRange seen,
                                            ItemShared<kRows>& shared) {
  const AttendArg& arg = plan.arg;
  OCTAVO_UNROLL
  for (int i = 0; i < kChunkPositions / kItemThreads; ++i) {
    const int t = static_cast<int>(threadIdx.x) + kItemThreads * i;
    const int nearest = max(seen.begin, min(t, seen.end - 1));
    const RowPlace place = place_of(plan, item.tile, item.chunk * kChunkPositions + nearest);
    shared.key_rows[t] = row_data(arg.keys, item.kv_head, place);
    shared.value_rows[t] = row_data(arg.values, item.kv_head, place);
    if (arg.keys.scales != nullptr) {
      async_copy<4>(&shared.key_scales[t], row_scale(arg.keys, item.kv_head, place), true);
    }
    if (arg.values.scales != nullptr) {
      async_copy<4>(&shared.value_scales[t], row_scale(arg.values, item.kv_head, place), true);
    }
  }
  async_copy_commit();
}

/// What later phases need of the item, so that no register keeps it.
template <std::size_t kRows>
__device__ __forceinline__ void describe_rows(const AttendPlan& plan,
                                              const AttendItem& item,
                                              ItemShared<kRows>& shared) {
  const int row = static_cast<int>(threadIdx.x);
  if (row < item.tile.num_rows) {
    const PositionRange seen = part_of_chunk(seen_by(plan, item.tile, row), item.chunk);
    shared.begins[row] = seen.begin;
    shared.ends[row] = seen.end;
    shared.slots[row] = slot_of(plan, item, row);
  }
}

/// Dots of a row become logits in powers of two, -infinity where the row does not see.
template <typename Dot>
__device__ __forceinline__ void finish_scores(const AttendArg& arg,
                                              PositionRange seen,
                                              float factor,
                                              const Dot* dots,
                                              const float* scales,
                                              LaneScores& scores) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float cap = arg.cap_factor;
  const bool has_scales = arg.keys.scales != nullptr;
  OCTAVO_UNROLL
  for (int i = 0; i < kPositionsPerLane; ++i) {
    const int t = lane + 32 * i;
    float s = static_cast<float>(dots[t]);
    if (has_scales) {
      s = __fmul_rn(s, scales[t]);
    }
    s = finish_score(s, factor, cap);
    scores.x[i] = contains(seen, t) ? s : minus_infinity();
  }
}

/// Weights of a row: p times the scale of the value, +0 where the row does not see. Returns the
/// bits of the largest.
__device__ __forceinline__ std::uint32_t scale_weights(const AttendArg& arg,
                                                       PositionRange seen,
                                                       const float* scales,
                                                       LaneScores& p) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool has_scales = arg.values.scales != nullptr;
  std::uint32_t largest = 0;
  OCTAVO_UNROLL
  for (int i = 0; i < kPositionsPerLane; ++i) {
    const int t = lane + 32 * i;
    if (has_scales) {
      p.x[i] = contains(seen, t) ? __fmul_rn(p.x[i], scales[t]) : 0.0f;
    }
    const std::uint32_t size = __float_as_uint(magnitude(p.x[i]));
    largest = largest < size ? size : largest;
  }
  return largest;
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
