// Fast attention: the kernel, one item of a plan a block (NUMERICS.md, section 9).
//
// Grid: num_items(plan) blocks of 128 threads. A block reads every key and value that some row of
// its tile sees once; in decoding with a group of at most sixteen that is all the traffic there is,
// and memory bounds the kernel. In prefill a tile of sixteen rows reads its chunk from the L2
// cache, which would bound it; attend_fast_wide.cuh is for that, with the same results. In flight,
// a block has 8 to 16 KiB of keys (registers), then as much of values, the first of them through
// softmax; four blocks share a multiprocessor.
#pragma once

#include "attend_fast_keys.cuh"
#include "attend_fast_shared.cuh"
#include "attend_fast_values.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// Softmax of one row by one warp; its weights as operands.
template <bool kHalf>
__device__ __forceinline__ void weigh_row_fast(const AttendPlan& plan,
                                               int row,
                                               FastShared& shared) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const PositionRange seen = {shared.begins[row], shared.ends[row]};
  LaneScores p;
  finish_scores(plan.arg, seen, shared.score_factor[row], shared.sums.scores[row],
                shared.key_scales, p);
  const float m = max_of_row(p);
  OCTAVO_UNROLL
  for (int i = 0; i < kPositionsPerLane; ++i) {
    p.x[i] = contains(seen, lane + 32 * i) ? exp2_fast(__fsub_rn(p.x[i], m)) : 0.0f;
  }
  const float l = sum_of_row(p);
  const std::uint32_t largest = scale_weights(plan.arg, seen, shared.value_scales, p);
  FixedPoint scale = {1.0f, 1.0f};
  if constexpr (kHalf) {
    scale = fixed_point<kHalfBits>(largest_of_lanes<32>(largest));
  }
  OCTAVO_UNROLL
  for (int i = 0; i < kPositionsPerLane; ++i) {
    shared.operand[row][lane + 32 * i] = operand_of<kHalf>(scaled(p.x[i], scale));
  }
  if (lane == 0) {
    shared.out_factor[row] = scale.from_integer;
    store_max_sum(plan, shared.slots[row], m, l);
  }
}

/// The partial results of an item that has a chunk.
template <DType kDType, int kHeadDim>
__device__ __forceinline__ void attend_fast(const AttendPlan& plan,
                                            const AttendItem& item,
                                            FastShared& shared) {
  const int num_rows = item.tile.num_rows;
  const PositionRange seen = seen_by_tile(plan, item);
  describe_rows(plan, item, shared);
  locate_rows(plan, item, seen, shared);
  const int query = static_cast<int>(threadIdx.x) / 8;
  const auto operand = [&shared, query](int d) -> std::uint16_t& {
    return shared.operand[query][d];
  };
  load_query<kDType, kHeadDim>(plan, item, query, operand, shared.score_factor[query]);
  __syncthreads();

  multiply_keys_fast<kDType, kHeadDim>(seen, num_rows, shared);
  FastValuesAhead<kDType> ahead;
  ahead.template load<kHeadDim>(shared, seen);
  async_copy_wait<0>();
  __syncthreads();

  const int warp = static_cast<int>(threadIdx.x) / 32;
  for (int row = warp; row < num_rows; row += kItemWarps) {
    weigh_row_fast<FastFormat<kDType>::kHalf>(plan, row, shared);
  }
  __syncthreads();

  weigh_values_fast<kDType, kHeadDim>(plan, seen, num_rows, ahead, shared);
}

template <DType kDType, int kHeadDim>
__global__ void __launch_bounds__(kItemThreads, 4) attend_fast_kernel(const AttendPlan plan) {
  OCTAVO_SHARED(FastShared, shared);
  const AttendItem item = find_item(plan);
  if (!begin_item(item, shared.finish)) {
    return;
  }
  if (item.chunks > 0) {
    attend_fast<kDType, kHeadDim>(plan, item, shared);
  }
  finish_item<kItemThreads, 8, Combination::Folded>(plan, shared.finish);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
