// Attention over integer rows: the kernel, one item of a plan a block (NUMERICS.md, 8.1 to 8.3,
// S2).
//
// Grid: num_items(plan) blocks of 128 threads. A block reads every key and value that some row of
// its tile sees once, 2 * 256 * head_dim bytes of int8 or half of int4, besides 2 KiB of scales and
// the block ids; in decoding with a group of at most eight that is all the traffic there is, and
// memory bounds the kernel. In flight, a block has 8 to 16 KiB of keys (registers), then as much of
// values, the first of them through softmax; five blocks share a multiprocessor.
#pragma once

#include "attend_int_keys.cuh"
#include "attend_int_shared.cuh"
#include "attend_int_values.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// Softmax of one row by one warp; its weights into limbs. w <= 2^15 in fixed point, so that
/// unsigned limbs hold it: scales are never negative.
template <int kHeadDim>
__device__ __forceinline__ void weigh_row(const AttendPlan& plan,
                                          int row,
                                          IntShared<kHeadDim>& shared) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const PositionRange seen = {shared.begins[row], shared.ends[row]};
  LaneScores p;
  finish_scores(plan.arg, seen, shared.score_factor[row], shared.dots[row], shared.key_scales, p);
  const float m = max_of_row(p);
  // Of a position that the row does not see it is 2^-infinity = 0; or a NaN, where m is -infinity
  // and all that the row sees gives NaNs too.
  OCTAVO_UNROLL
  for (int i = 0; i < kPositionsPerLane; ++i) {
    p.x[i] = exp2_spec(__fsub_rn(p.x[i], m));
  }
  const float l = sum_of_row(p);
  const std::uint32_t largest = scale_weights(plan.arg, seen, shared.value_scales, p);
  const FixedPoint scale = fixed_point<kWeightBits>(largest_of_lanes<32>(largest));
  OCTAVO_UNROLL
  for (int i = 0; i < kPositionsPerLane; ++i) {
    const std::uint32_t fixed = to_fixed_bits16(p.x[i], scale);
    shared.limbs[row][lane + 32 * i] = static_cast<std::uint8_t>(fixed >> 8);
    shared.limbs[row + kIntRows][lane + 32 * i] = static_cast<std::uint8_t>(fixed);
  }
  if (lane == 0) {
    shared.out_factor[row] = scale.from_integer;
    store_max_sum(plan, shared.slots[row], m, l);
  }
}

template <bool kInt4, int kHeadDim>
__device__ __forceinline__ void store_outs(const AttendPlan& plan,
                                           int num_rows,
                                           const IntShared<kHeadDim>& shared) {
  constexpr int kQuads = kHeadDim / 4;
  const int count = num_rows * kQuads;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kItemThreads) {
    const int row = i / kQuads;
    const int d = i % kQuads * 4;
    store_out(plan, shared.slots[row], d, finished_values<kInt4>(shared, row, d));
  }
}

/// The partial results of an item that has a chunk.
template <bool kInt4Keys, bool kInt4Values, int kHeadDim>
__device__ __forceinline__ void attend_to_integers(const AttendPlan& plan,
                                                   const AttendItem& item,
                                                   IntShared<kHeadDim>& shared) {
  const int num_rows = item.tile.num_rows;
  const PositionRange seen = seen_by_tile(plan, item);
  describe_rows(plan, item, shared);
  locate_rows(plan, item, seen, shared);
  split_queries<kInt4Keys>(plan, item, shared);
  constexpr int kSums = sizeof(shared.sums) / sizeof(std::int32_t);
  for (int i = static_cast<int>(threadIdx.x); i < kSums; i += kItemThreads) {
    (&shared.sums[0][0])[i] = 0;
  }
  __syncthreads();

  multiply_keys<kInt4Keys>(seen, num_rows, shared);
  ValuesAhead<kInt4Values> ahead;
  ahead.load(shared);
  async_copy_wait<0>();
  __syncthreads();

  const int warp = static_cast<int>(threadIdx.x) / 32;
  for (int row = warp; row < num_rows; row += kItemWarps) {
    weigh_row(plan, row, shared);
  }
  __syncthreads();

  weigh_values(seen, num_rows, ahead, shared);
  __syncthreads();

  store_outs<kInt4Values>(plan, num_rows, shared);
}

/// kInt4Keys, kInt4Values: which of the two codecs keys and values have.
template <bool kInt4Keys, bool kInt4Values, int kHeadDim>
__global__ void __launch_bounds__(kItemThreads, 5) attend_int_kernel(const AttendPlan plan) {
  OCTAVO_SHARED(IntShared<kHeadDim>, shared);
  const AttendItem item = find_item(plan);
  if (!begin_item(item, shared.finish)) {
    return;
  }
  if (item.chunks > 0) {
    attend_to_integers<kInt4Keys, kInt4Values>(plan, item, shared);
  }
  finish_item<kItemThreads, 8>(plan, shared.finish);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
