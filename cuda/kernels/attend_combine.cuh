// Chunks become one result (NUMERICS.md, 8.4): maxima, then sums over the chunks in their order. In
// fast mode (section 9) maxima are of the chunks so far, so that a block that goes from chunk to
// chunk itself can do the same (attend_fast_wide.cuh).
//
// No launch of its own: a block counts itself when its partial results are written, and the last of
// a tile and KV head combines all of theirs. Which block that is shows in no result. A warp does a
// row, a lane quads of its elements: elements are independent, chunks are not. It reads
// 4 * (v_head_dim + 2) bytes a row and chunk from the L2 cache while other blocks attend, but for
// the last tiles of a launch.
#pragma once

#include "attend_scores.cuh"
#include "attend_tile.cuh"
#include "exact_math.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr int kQuadElements = 4 * 32;  ///< Of a warp, a quad a lane.

enum class Combination {
  Maximum,  ///< Chunks are weighed by the largest score of all.
  Folded,   ///< What there is so far and the next chunk are weighed by the larger score of the two.
};

/// A row whose chunks are combined.
struct CombineRow {
  std::int64_t index;   ///< token * q_heads + head
  std::int64_t out_at;  ///< First element in arg.out.
  std::int64_t slot;    ///< Of the first chunk that it sees.
  std::int32_t first_chunk;
  std::int32_t chunks;  ///< That it sees; 0: nothing.
  float sink;           ///< In powers of two; -infinity without.
  bool has_sink;
};

/// What finish_item shares among the threads of a block.
template <std::size_t kRows>
struct FinishShared {
  AttendItem item;
  CombineRow rows[kRows];
};

__device__ __forceinline__ CombineRow find_combine_row(const AttendPlan& plan,
                                                       const AttendItem& item,
                                                       int row) {
  const AttendArg& arg = plan.arg;
  const std::int64_t token = token_of(plan, item.tile, row);
  const std::int64_t head = head_of(plan, item.tile, item.kv_head, row);
  const PositionRange seen = seen_by(plan, item.tile, row);
  CombineRow found = {};
  found.index = token * arg.q_heads + head;
  found.out_at = token * arg.out.token_stride + head * arg.out.head_stride;
  if (!seen.empty()) {
    found.first_chunk = seen.begin / kChunkPositions;
    found.chunks = (seen.end - 1) / kChunkPositions - found.first_chunk + 1;
    AttendItem first = item;
    first.chunk = found.first_chunk;
    found.slot = slot_of(plan, first, row);
  }
  found.has_sink = arg.sinks != nullptr;
  found.sink =
      found.has_sink ? __fadd_rn(__fmul_rn(arg.sinks[head], kLog2E), 0.0f) : minus_infinity();
  return found;
}

/// (m, l) of a chunk of those that the row sees; (-infinity, 0) beyond them.
__device__ __forceinline__ float2 max_sum_of(const AttendPlan& plan,
                                             const CombineRow& row,
                                             std::int32_t c) {
  float2 max_sum = make_float2(minus_infinity(), 0.0f);
  load_current(reinterpret_cast<const float2*>(plan.max_sums) + row.slot + c, c < row.chunks,
               max_sum);
  return max_sum;
}

/// M, in all lanes. `mine`: the m of the chunk whose number is the lane's.
__device__ __forceinline__ float max_of_chunks(const AttendPlan& plan,
                                               const CombineRow& row,
                                               float mine) {
  float m = row.sink > minus_infinity() ? row.sink : minus_infinity();
  m = mine > m ? mine : m;
  for (std::int32_t c = static_cast<int>(threadIdx.x) % 32 + 32; c < row.chunks; c += 32) {
    const float chunk = max_sum_of(plan, row, c).x;
    m = chunk > m ? chunk : m;
  }
  OCTAVO_UNROLL
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(kWholeWarp, m, offset);
    m = other > m ? other : m;
  }
  return m;
}

/// L before any chunk is added to it: the sink's weight, if there is a sink.
__device__ __forceinline__ float sum_of_sink(const CombineRow& row, float m) {
  if (row.chunks == 0) {
    return m > minus_infinity() ? 1.0f : 0.0f;
  }
  return row.has_sink ? exp2_spec(__fsub_rn(row.sink, m)) : 0.0f;
}

/// The lane's quads of kAhead chunks, those of them that are there.
template <int kAhead>
__device__ __forceinline__ void load_chunks(const float* outs,
                                            int v_head_dim,
                                            int chunks,
                                            Registers<float4, kAhead>& part) {
  OCTAVO_UNROLL
  for (int i = 0; i < kAhead; ++i) {
    load_current(reinterpret_cast<const float4*>(outs + std::int64_t{i} * v_head_dim), i < chunks,
                 part[i]);
  }
}

__device__ __forceinline__ float4 times(float4 o, float x) {
  return make_float4(__fmul_rn(o.x, x), __fmul_rn(o.y, x), __fmul_rn(o.z, x), __fmul_rn(o.w, x));
}

__device__ __forceinline__ float4 add_weighted(float4 part, float x, float4 o) {
  return make_float4(__fmaf_rn(part.x, x, o.x), __fmaf_rn(part.y, x, o.y),
                     __fmaf_rn(part.z, x, o.z), __fmaf_rn(part.w, x, o.w));
}

/// M and L of a row, and what its chunks are weighed by: lane i has that of chunk i of 32.
template <Combination kHow>
struct ChunkSums;

template <>
struct ChunkSums<Combination::Maximum> {
  float m;
  float l;
  float weight;

  /// `mine`: the m of the lane's chunk of the first 32.
  __device__ __forceinline__ void begin(const AttendPlan& plan, const CombineRow& row, float mine) {
    m = max_of_chunks(plan, row, mine);
    l = sum_of_sink(row, m);
  }

  __device__ __forceinline__ void weigh(float mine) { weight = exp2_spec(__fsub_rn(mine, m)); }

  /// Chunk c of the 32; `sum`: its l.
  __device__ __forceinline__ void add(int c, float sum, float4 part, float4& o) {
    const float x = __shfl_sync(kWholeWarp, weight, c);
    l = __fmaf_rn(sum, x, l);
    o = add_weighted(part, x, o);
  }
};

template <>
struct ChunkSums<Combination::Folded> {
  float m;  ///< Of the chunks that are weighed.
  float l;
  float weight;
  float before;  ///< Of everything before the lane's chunk.

  __device__ __forceinline__ void begin(const AttendPlan& /*plan*/,
                                        const CombineRow& row,
                                        float /*mine*/) {
    m = row.sink > minus_infinity() ? row.sink : minus_infinity();
    l = row.sink == minus_infinity() ? 0.0f : exp2_spec(__fsub_rn(row.sink, m));
  }

  __device__ __forceinline__ void weigh(float mine) {
    const unsigned lane = threadIdx.x % 32;
    float largest = mine > m ? mine : m;
    OCTAVO_UNROLL
    for (unsigned offset = 1; offset < 32; offset *= 2) {
      const float other = __shfl_up_sync(kWholeWarp, largest, offset);
      largest = lane >= offset && other > largest ? other : largest;
    }
    const float others = __shfl_up_sync(kWholeWarp, largest, 1);
    weight = exp2_spec(__fsub_rn(mine, largest));
    before = exp2_spec(__fsub_rn(lane == 0 ? m : others, largest));
    m = __shfl_sync(kWholeWarp, largest, 31);
  }

  __device__ __forceinline__ void add(int c, float sum, float4 part, float4& o) {
    const float x = __shfl_sync(kWholeWarp, weight, c);
    const float y = __shfl_sync(kWholeWarp, before, c);
    l = __fmaf_rn(sum, x, __fmul_rn(l, y));
    o = add_weighted(part, x, times(o, y));
  }
};

__device__ __forceinline__ float log_sum_exp(float m, float l) {
  const bool nothing = m == minus_infinity() && l == 0.0f;
  const float lse = __fmaf_rn(m, kLn2High, __fmaf_rn(m, kLn2Low, log_spec(l)));
  return nothing ? minus_infinity() : one_nan(lse);
}

/// Partial results as the caller asked for them: zeros where a chunk is not seen, and the seen ones
/// where they were computed elsewhere.
__device__ __forceinline__ void store_partials(const AttendPlan& plan, const CombineRow& row) {
  const AttendArg& arg = plan.arg;
  const std::int64_t v_head_dim = arg.values.head_dim;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (std::int64_t chunk = 0; chunk < arg.max_chunks; ++chunk) {
    const std::int64_t c = chunk - row.first_chunk;
    const bool seen = c >= 0 && c < row.chunks;
    if (seen && plan.in_partials) {
      continue;
    }
    const std::int64_t at = row.index * arg.max_chunks + chunk;
    const float* const out = plan.outs + (row.slot + c) * v_head_dim;
    if (lane == 0) {
      const float2 max_sum = seen ? max_sum_of(plan, row, static_cast<std::int32_t>(c))
                                  : make_float2(minus_infinity(), 0.0f);
      arg.partial_max_sum[2 * at] = max_sum.x;
      arg.partial_max_sum[2 * at + 1] = max_sum.y;
    }
    OCTAVO_NO_UNROLL
    for (std::int64_t d = 4 * lane; d < v_head_dim; d += kQuadElements) {
      float4 x = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      load_current(reinterpret_cast<const float4*>(out + d), seen, x);
      float* const to = arg.partial_out + at * v_head_dim + d;  // Aligned to four bytes alone.
      to[0] = x.x;
      to[1] = x.y;
      to[2] = x.z;
      to[3] = x.w;
    }
  }
}

/// What is asked for of M and L.
__device__ __forceinline__ void store_row_sums(const AttendArg& arg,
                                               std::int64_t index,
                                               float m,
                                               float l) {
  if (arg.max_sum != nullptr) {
    arg.max_sum[2 * index] = m;
    arg.max_sum[2 * index + 1] = one_nan(l);
  }
  if (arg.lse != nullptr) {
    arg.lse[index] = log_sum_exp(m, l);
  }
}

/// The quotients of a quad from element d on, or zeros where the row sees nothing. A loop, so that
/// there is the code of one division and of one conversion.
__device__ __forceinline__ void store_result(
    const AttendPlan& plan, const CombineRow& row, std::int64_t d, float l, float4 o) {
  const StepResultArg& out = plan.arg.out;
  OCTAVO_NO_UNROLL
  for (int e = 0; e < 4; ++e) {
    const float x = row.chunks == 0 ? 0.0f : one_nan(__fdiv_rn(o.x, l));
    store_element(out.dtype, out.data, row.out_at + d + e, x);
    o = make_float4(o.y, o.z, o.w, o.x);
  }
}

/// Elements first .. + kQuadElements - 1 of a row's result; with the first of all, its sums.
/// kAhead loads of a lane are in flight, the first of them while the warp looks for M.
template <int kAhead, Combination kHow>
__device__ __forceinline__ void combine_quads(const AttendPlan& plan,
                                              const CombineRow& row,
                                              int first) {
  static_assert(32 % kAhead == 0);
  const AttendArg& arg = plan.arg;
  const int v_head_dim = static_cast<int>(arg.values.head_dim);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int d = first + 4 * lane;
  const int chunks = row.chunks;
  const int loads = d < v_head_dim ? chunks : 0;
  const float* outs = plan.outs + row.slot * v_head_dim + d;
  float4 o = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  float2 max_sum = make_float2(minus_infinity(), 0.0f);  // Of a chunk, a chunk a lane.
  ChunkSums<kHow> sums = {};
  Registers<float4, kAhead> part = {};
  int c = 0;
  do {
    load_chunks<kAhead>(outs, v_head_dim, loads - c, part);
    outs += kAhead * v_head_dim;
    if (c % 32 == 0) {
      max_sum = max_sum_of(plan, row, c + lane);
      if (c == 0) {
        sums.begin(plan, row, max_sum.x);
      }
      sums.weigh(max_sum.x);
    }
    OCTAVO_UNROLL
    for (int i = 0; i < kAhead; ++i) {
      if (c + i >= chunks) {
        break;
      }
      sums.add(c + i, __shfl_sync(kWholeWarp, max_sum.y, c + i), part[i], o);
    }
    c += kAhead;
  } while (c < chunks);
  if (d < v_head_dim) {
    store_result(plan, row, d, sums.l, o);
  }
  if (d == 0) {
    store_row_sums(arg, row.index, sums.m, sums.l);
  }
}

/// Whether there is anything to do for the block. finish_item has the item then, after a barrier.
template <std::size_t kRows>
__device__ __forceinline__ bool begin_item(const AttendItem& item, FinishShared<kRows>& shared) {
  if (item.tile.num_rows > 0 && threadIdx.x == 0) {
    shared.item = item;
  }
  return item.tile.num_rows > 0;
}

/// The end of every block that has an item, for all of its threads: the last one of a tile and KV
/// head combines. `shared.item` is the block's.
///
/// The barrier and the first fence put the partial results of the whole block before its count; the
/// second fence and barrier put those of all blocks, once all are counted, before what is read of
/// them. The last to be counted brings the counter back to zero, for the next launch.
template <int kThreads, int kAhead, Combination kHow = Combination::Maximum, std::size_t kRows>
__device__ __forceinline__ void finish_item(const AttendPlan& plan, FinishShared<kRows>& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();
  const AttendItem& item = shared.item;
  if (item.chunks > 1) {
    int is_last = 0;
    if (thread == 0) {
      const auto most = static_cast<unsigned>(item.chunks) - 1;
      __threadfence();
      is_last = atomicInc(counter_of(plan, item), most) == most ? 1 : 0;
      __threadfence();
    }
    if (__syncthreads_or(is_last) == 0) {
      return;
    }
  }
  if (thread < item.tile.num_rows) {
    shared.rows[thread] = find_combine_row(plan, item, thread);
  }
  __syncthreads();
  OCTAVO_NO_UNROLL
  for (int i = thread / 32; i < item.tile.num_rows; i += kThreads / 32) {
    OCTAVO_NO_UNROLL
    for (int first = 0; first < plan.arg.values.head_dim; first += kQuadElements) {
      combine_quads<kAhead, kHow>(plan, shared.rows[i], first);
    }
    if (plan.arg.partial_out != nullptr) {
      store_partials(plan, shared.rows[i]);
    }
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
