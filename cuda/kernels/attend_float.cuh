// Attention over float rows, keys and values alike: one item of a plan a block (NUMERICS.md, 8.1 to
// 8.3, S1).
//
// Grid: num_items(plan) blocks of 128 threads, up to 32 KiB of shared memory. A block reads every
// key and value that some row of its tile sees once, 16 bytes (fp8: 8) a lane and copy, seven
// copies a thread in flight (F32: three); values start to arrive while the softmax runs. With a
// group of one to four that is memory-bound; with eight rows the multiply-adds, 2 * 8 * head_dim a
// token, take about as long as 16-bit rows do and longer than fp8 rows.
#pragma once

#include "attend_float_shape.cuh"
#include "attend_float_sums.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// Addresses and scales of the positions that the tile sees; ranges and slots of its rows.
template <typename Shape>
__device__ __forceinline__ void float_setup(const AttendPlan& plan,
                                            const AttendItem& item,
                                            PositionRange hull,
                                            FloatShared<Shape>& shared) {
  const AttendArg& arg = plan.arg;
  const int thread = static_cast<int>(threadIdx.x);
  OCTAVO_UNROLL
  for (int t = thread; t < kChunkPositions; t += kFloatThreads) {
    if (t >= hull.begin && t < hull.end) {
      const RowPlace place = place_of(plan, item.tile, item.chunk * kChunkPositions + t);
      shared.key_rows[t] = row_data(arg.keys, item.kv_head, place);
      shared.value_rows[t] = row_data(arg.values, item.kv_head, place);
      if constexpr (Shape::kScaled) {
        shared.key_scales[t] = *row_scale(arg.keys, item.kv_head, place);
        shared.value_scales[t] = *row_scale(arg.values, item.kv_head, place);
      }
    }
  }
  if (thread < Shape::kRows) {
    PositionRange range;
    if (thread < item.tile.num_rows) {
      range = part_of_chunk(seen_by(plan, item.tile, thread), item.chunk);
      shared.slot[thread] = slot_of(plan, item, thread);
    }
    shared.begin[thread] = range.begin;
    shared.end[thread] = range.end;
  }
}

/// Queries as numbers, [rows][head_dim], where the scores will lie; 0 beyond the tile's rows. A
/// warp a row: whose query it is takes a division to find.
template <typename Shape>
__device__ __forceinline__ void stage_queries(const AttendPlan& plan,
                                              const AttendItem& item,
                                              FloatShared<Shape>& shared) {
  const StepOperandArg& query = plan.arg.query;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  OCTAVO_NO_UNROLL
  for (int row = static_cast<int>(threadIdx.x) / 32; row < Shape::kRows; row += kFloatWarps) {
    const bool exists = row < item.tile.num_rows;
    const std::int64_t from =
        exists ? token_of(plan, item.tile, row) * query.token_stride +
                     head_of(plan, item.tile, item.kv_head, row) * query.head_stride
               : 0;
    OCTAVO_UNROLL
    for (int d = lane; d < Shape::kHeadDim; d += 32) {
      shared.scores[row * Shape::kHeadDim + d] =
          exists ? load_element(query.dtype, query.data, from + d) : 0.0f;
    }
  }
}

/// The thread's unit of every row's query.
template <typename Shape>
__device__ __forceinline__ void read_queries(const FloatThread& at,
                                             const FloatShared<Shape>& shared,
                                             float (&q)[Shape::kRows][8]) {
  const int unit = at.active ? at.unit : 0;
  OCTAVO_UNROLL
  for (int row = 0; row < Shape::kRows; ++row) {
    const float* const from = shared.scores + row * Shape::kHeadDim + 8 * unit;
    OCTAVO_UNROLL
    for (int e = 0; e < 8; e += 4) {
      const float4 x = *reinterpret_cast<const float4*>(from + e);
      q[row][e] = x.x;
      q[row][e + 1] = x.y;
      q[row][e + 2] = x.z;
      q[row][e + 3] = x.w;
    }
  }
}

/// Dots of the row become capped scores where they lie. Apart from the softmax and in a loop of its
/// own because it is rare and long: a tanh for each position of a lane would be a quarter of the
/// kernel's code.
template <typename Shape>
__device__ __forceinline__ void cap_scores(const AttendArg& arg,
                                           int row,
                                           FloatShared<Shape>& shared) {
  OCTAVO_NO_UNROLL
  for (int t = shared.begin[row] + static_cast<int>(threadIdx.x) % 32; t < shared.end[row];
       t += 32) {
    float& score = shared.scores[score_at<Shape>(row, t % Shape::kStreams, t / Shape::kStreams)];
    float s = score;
    if constexpr (Shape::kScaled) {
      s = __fmul_rn(s, shared.key_scales[t]);
    }
    score = finish_score(s, arg.score_factor, arg.cap_factor);
  }
  __syncwarp();
}

/// One warp a row: dots become weights, (m, l) goes out.
template <typename Shape>
__device__ __forceinline__ void float_softmax(const AttendPlan& plan,
                                              int row,
                                              FloatShared<Shape>& shared) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int begin = shared.begin[row];
  const int end = shared.end[row];
  if (begin >= end) {
    return;
  }
  const bool capped = plan.arg.cap_factor > 0.0f;
  if (capped) {
    cap_scores(plan.arg, row, shared);
  }
  LaneScores p;
  OCTAVO_UNROLL
  for (int i = 0; i < kPositionsPerLane; ++i) {
    const int t = lane + 32 * i;
    p.x[i] = minus_infinity();
    if (t >= begin && t < end) {
      float s = shared.scores[score_at<Shape>(row, t % Shape::kStreams, t / Shape::kStreams)];
      if constexpr (Shape::kScaled) {
        s = capped ? s : __fmul_rn(s, shared.key_scales[t]);
      }
      p.x[i] = capped ? s : finish_score(s, plan.arg.score_factor, 0.0f);
    }
  }
  const float m = max_of_row(p);
  OCTAVO_UNROLL
  for (int i = 0; i < kPositionsPerLane; ++i) {
    const int t = lane + 32 * i;
    p.x[i] = t >= begin && t < end ? exp2_spec(__fsub_rn(p.x[i], m)) : 0.0f;
    float w = p.x[i];
    if constexpr (Shape::kScaled) {
      w = __fmul_rn(w, shared.value_scales[t]);  // Not used where the row does not see t.
    }
    shared.scores[score_at<Shape>(row, t % Shape::kStreams, t / Shape::kStreams)] = w;
  }
  const float l = sum_of_row(p);
  if (lane == 0) {
    store_max_sum(plan, shared.slot[row], m, l);
  }
}

/// Which rows see each position, for chunks that some row sees a part of.
template <typename Shape>
__device__ __forceinline__ void mark_seen(FloatShared<Shape>& shared) {
  for (int t = static_cast<int>(threadIdx.x); t < kChunkPositions; t += kFloatThreads) {
    unsigned seen = 0;
    OCTAVO_UNROLL
    for (int row = 0; row < Shape::kRows; ++row) {
      seen |= (t >= shared.begin[row] && t < shared.end[row] ? 1u : 0u) << row;
    }
    shared.seen[t] = static_cast<std::uint8_t>(seen);
  }
}

/// Queries and keys become dots; the first values are on their way then. kFull: every row of the
/// tile sees the whole chunk.
template <typename Shape, bool kFull>
__device__ __forceinline__ void multiply_keys(const FloatThread& at, FloatShared<Shape>& shared) {
  fetch_first<Shape, kFull>(shared.key_rows, at, shared);
  float q[Shape::kRows][8];
  read_queries(at, shared, q);
  __syncthreads();  // Dots go where the queries are.
  float_dots<Shape, kFull>(at, q, shared);
  fetch_first<Shape, kFull>(shared.value_rows, at, shared);
}

/// The partial results of an item that has a chunk.
template <typename Shape>
__device__ __forceinline__ void attend_to_floats(const AttendPlan& plan,
                                                 const AttendItem& item,
                                                 FloatShared<Shape>& shared) {
  const PositionRange hull = seen_by_tile(plan, item);
  float_setup(plan, item, hull, shared);
  stage_queries(plan, item, shared);
  const FloatThread at = float_thread<Shape>(hull);
  __syncthreads();
  // Both ends grow with the row, so the first and the last tell of all.
  const bool full = shared.end[0] == kChunkPositions && shared.begin[item.tile.num_rows - 1] == 0;
  if (full) {
    multiply_keys<Shape, true>(at, shared);
  } else {
    multiply_keys<Shape, false>(at, shared);
    mark_seen(shared);
  }
  __syncthreads();
  for (int row = static_cast<int>(threadIdx.x) / 32; row < item.tile.num_rows; row += kFloatWarps) {
    float_softmax(plan, row, shared);
  }
  __syncthreads();
  float o[Shape::kRows * 8];
  if (full) {
    weigh_values<Shape, true>(at, o, shared);
  } else {
    weigh_values<Shape, false>(at, o, shared);
  }
  float_outs<Shape>(plan, item, at, o, shared);
}

/// Blocks of a multiprocessor: what the registers of the sums leave room for, of a combination, of
/// whole F32 units, and of conversions of E4M3 where no instruction does them.
constexpr int float_blocks(RowFormat format, int rows) {
  const bool converts = format == RowFormat::E4M3 && !OCTAVO_HAS_FP8_INSTRUCTIONS;
  if (rows > 4 || format == RowFormat::F32 || converts) {
    return rows > 4 ? 4 : 5;
  }
  return rows > 2 ? 6 : 7;
}

template <typename Shape>
__global__ void __launch_bounds__(kFloatThreads, float_blocks(Shape::kFormat, Shape::kRows))
    attend_float(const AttendPlan plan) {
  OCTAVO_SHARED(FloatShared<Shape>, shared);
  const AttendItem item = find_item(plan);
  if (!begin_item(item, shared.finish)) {
    return;
  }
  if (item.chunks > 0) {
    attend_to_floats(plan, item, shared);
  }
  finish_item<kFloatThreads, Shape::kRows >= 8 ? 16 : 8>(plan, shared.finish);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
