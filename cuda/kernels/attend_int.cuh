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

/// Addresses of the rows of `seen`, two a thread, and their scales on the way. Positions that no
/// row sees may have no block: nothing is made of them.
template <int kHeadDim>
__device__ __forceinline__ void locate_rows(const AttendPlan& plan,
                                            const AttendItem& item,
                                            PositionRange seen,
                                            IntShared<kHeadDim>& shared) {
  const AttendArg& arg = plan.arg;
  OCTAVO_UNROLL
  for (int i = 0; i < kChunkPositions / kIntThreads; ++i) {
    const int t = static_cast<int>(threadIdx.x) + kIntThreads * i;
    if (t < seen.begin || t >= seen.end) {
      continue;
    }
    const RowPlace place = place_of(arg.step, item.tile.sequence, item.chunk * kChunkPositions + t);
    shared.key_rows[t] = row_data(arg.keys, item.kv_head, place);
    shared.value_rows[t] = row_data(arg.values, item.kv_head, place);
    async_copy<4>(&shared.key_scales[t], row_scale(arg.keys, item.kv_head, place), true);
    async_copy<4>(&shared.value_scales[t], row_scale(arg.values, item.kv_head, place), true);
  }
  async_copy_commit();
}

/// What later phases need of the item, so that no register keeps it.
template <int kHeadDim>
__device__ __forceinline__ void describe_rows(const AttendPlan& plan,
                                              const AttendItem& item,
                                              IntShared<kHeadDim>& shared) {
  const int row = static_cast<int>(threadIdx.x);
  if (row < item.tile.num_rows) {
    const PositionRange seen = part_of_chunk(seen_by(plan, item.tile, row), item.chunk);
    shared.begins[row] = seen.begin;
    shared.ends[row] = seen.end;
    shared.slots[row] = slot_of(plan, item, row);
  }
}

/// A lane's positions of one row: lane + 32 i.
struct RowLane {
  static constexpr int kPositions = kChunkPositions / 32;
  float x[kPositions];
};

/// Dots of a row become logits in powers of two, -infinity where the row does not see.
template <int kHeadDim>
__device__ __forceinline__ void finish_scores(
    float cap, PositionRange seen, int row, const IntShared<kHeadDim>& shared, RowLane& scores) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float factor = shared.score_factor[row];
  OCTAVO_UNROLL
  for (int i = 0; i < RowLane::kPositions; ++i) {
    const int t = lane + 32 * i;
    float s = __fmul_rn(static_cast<float>(shared.dots[row][t]), shared.key_scales[t]);
    s = __fmul_rn(s, factor);
    if (cap > 0.0f) {
      s = __fmul_rn(tanh_spec(s), cap);
    }
    s = __fadd_rn(s, 0.0f);
    scores.x[i] = t >= seen.begin && t < seen.end ? s : minus_infinity();
  }
}

/// Weights of a row into limbs, and their scaling. w <= 2^15 in fixed point, so that unsigned limbs
/// hold it: scales are never negative.
template <int kHeadDim>
__device__ __forceinline__ void split_weights(PositionRange seen,
                                              int row,
                                              const RowLane& p,
                                              IntShared<kHeadDim>& shared) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  RowLane w;
  std::uint32_t largest = 0;
  OCTAVO_UNROLL
  for (int i = 0; i < RowLane::kPositions; ++i) {
    const int t = lane + 32 * i;
    const bool on = t >= seen.begin && t < seen.end;
    w.x[i] = on ? __fmul_rn(p.x[i], shared.value_scales[t]) : 0.0f;
    largest = larger(largest, __float_as_uint(magnitude(w.x[i])));
  }
  OCTAVO_UNROLL
  for (int apart = 16; apart > 0; apart /= 2) {
    largest = larger(largest, __shfl_xor_sync(0xFFFFFFFFu, largest, apart));
  }
  const FixedPoint scale = fixed_point<kWeightBits>(largest);
  OCTAVO_UNROLL
  for (int i = 0; i < RowLane::kPositions; ++i) {
    const std::int32_t fixed = to_fixed(w.x[i], scale);
    shared.limbs[row][lane + 32 * i] = static_cast<std::uint8_t>(fixed >> 8);
    shared.limbs[row + kIntRows][lane + 32 * i] = static_cast<std::uint8_t>(fixed & 0xFF);
  }
  if (lane == 0) {
    shared.out_factor[row] = scale.from_integer;
  }
}

/// Softmax of one row by one warp.
template <int kHeadDim>
__device__ __forceinline__ void weigh_row(const AttendPlan& plan,
                                          int row,
                                          IntShared<kHeadDim>& shared) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const PositionRange seen = {shared.begins[row], shared.ends[row]};
  RowLane p;
  finish_scores(plan.arg.cap_factor, seen, row, shared, p);
  float m = minus_infinity();
  OCTAVO_UNROLL
  for (int i = 0; i < RowLane::kPositions; ++i) {
    m = p.x[i] > m ? p.x[i] : m;  // A NaN is passed over.
  }
  OCTAVO_UNROLL
  for (int apart = 1; apart < 32; apart *= 2) {
    const float other = __shfl_xor_sync(0xFFFFFFFFu, m, apart);
    m = other > m ? other : m;
  }
  float l = 0.0f;
  OCTAVO_UNROLL
  for (int i = 0; i < RowLane::kPositions; ++i) {
    const int t = lane + 32 * i;
    const bool on = t >= seen.begin && t < seen.end;
    p.x[i] = on ? exp2_spec(__fsub_rn(p.x[i], m)) : 0.0f;
    l = __fadd_rn(l, p.x[i]);
  }
  OCTAVO_UNROLL
  for (int apart = 1; apart < 32; apart *= 2) {
    l = __fadd_rn(l, __shfl_xor_sync(0xFFFFFFFFu, l, apart));
  }
  split_weights(seen, row, p, shared);
  if (lane == 0) {
    store_max_sum(plan, shared.slots[row], m, l);
  }
}

template <bool kInt4, int kHeadDim>
__device__ __forceinline__ void store_outs(const AttendPlan& plan,
                                           int num_rows,
                                           const IntShared<kHeadDim>& shared) {
  constexpr int kQuads = kHeadDim / 4;
  const int count = num_rows * kQuads;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kIntThreads) {
    const int row = i / kQuads;
    const int d = i % kQuads * 4;
    store_out(plan, shared.slots[row], d, finished_values<kInt4>(shared, row, d));
  }
}

/// kInt4Keys, kInt4Values: which of the two codecs keys and values have.
template <bool kInt4Keys, bool kInt4Values, int kHeadDim>
__global__ void __launch_bounds__(kIntThreads, 5) attend_int_kernel(const AttendPlan plan) {
  OCTAVO_SHARED(IntShared<kHeadDim>, shared);
  const AttendItem item = find_item(plan);
  if (item.tile.num_rows <= 0) {
    return;
  }
  const int num_rows = item.tile.num_rows;
  const PositionRange seen = seen_by_tile(plan, item);
  describe_rows(plan, item, shared);
  locate_rows(plan, item, seen, shared);
  split_queries<kInt4Keys>(plan, item, shared);
  constexpr int kSums = sizeof(shared.sums) / sizeof(std::int32_t);
  for (int i = static_cast<int>(threadIdx.x); i < kSums; i += kIntThreads) {
    (&shared.sums[0][0])[i] = 0;
  }
  __syncthreads();

  multiply_keys<kInt4Keys>(seen, num_rows, shared);
  ValuesAhead<kInt4Values> ahead;
  ahead.load(shared, seen);
  async_copy_wait<0>();
  __syncthreads();

  const int warp = static_cast<int>(threadIdx.x) / 32;
  for (int row = warp; row < num_rows; row += kIntWarps) {
    weigh_row(plan, row, shared);
  }
  __syncthreads();

  weigh_values(seen, num_rows, ahead, shared);
  __syncthreads();

  store_outs<kInt4Values>(plan, num_rows, shared);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
