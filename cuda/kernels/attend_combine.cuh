// Chunks become one result (NUMERICS.md, 8.4): maxima, then sums over the chunks in their order.
//
// Grid: a block of 128 threads for each row of each tile and KV head, in x. Elements are
// independent, chunks are not: a thread takes elements through all chunks, four loads in flight.
// Reads what the item kernels wrote, 4 * (v_head_dim + 2) bytes a chunk; with many chunks that
// bounds it, with few the launch does.
#pragma once

#include "attend_scores.cuh"
#include "attend_tile.cuh"
#include "exact_math.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr int kCombineThreads = 128;
constexpr int kCombineBlocks = 7;  ///< On a multiprocessor: up to 73 registers a thread.
constexpr int kCombineWarps = kCombineThreads / 32;

struct CombineShared {
  float warp_max[kCombineWarps];
  float x[kCombineThreads];  ///< 2^(m - M) of as many chunks.
  float l[kCombineThreads];
};

/// A row whose chunks are combined.
struct CombineRow {
  std::int64_t index = 0;   ///< token * q_heads + head
  std::int64_t out_at = 0;  ///< First element in arg.out.
  std::int64_t slot = 0;    ///< Of the first chunk that it sees.
  std::int32_t first_chunk = 0;
  std::int32_t chunks = 0;  ///< That it sees; 0: nothing.
  float sink = 0.0f;        ///< In powers of two; -infinity without.
};

__device__ __forceinline__ CombineRow find_combine_row(const AttendPlan& plan,
                                                       const AttendItem& item,
                                                       int row) {
  const AttendArg& arg = plan.arg;
  const std::int64_t token = token_of(plan, item.tile, row);
  const std::int64_t head = head_of(plan, item.tile, item.kv_head, row);
  const PositionRange seen = seen_by(plan, item.tile, row);
  CombineRow found;
  found.index = token * arg.q_heads + head;
  found.out_at = token * arg.out.token_stride + head * arg.out.head_stride;
  if (!seen.empty()) {
    found.first_chunk = seen.begin / kChunkPositions;
    found.chunks = (seen.end - 1) / kChunkPositions - found.first_chunk + 1;
    AttendItem first = item;
    first.chunk = found.first_chunk;
    found.slot = slot_of(plan, first, row);
  }
  found.sink =
      arg.sinks == nullptr ? minus_infinity() : __fadd_rn(__fmul_rn(arg.sinks[head], kLog2E), 0.0f);
  return found;
}

/// M, in all threads.
__device__ __forceinline__ float max_of_chunks(const AttendPlan& plan,
                                               const CombineRow& row,
                                               CombineShared& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  float m = row.sink > minus_infinity() ? row.sink : minus_infinity();
  for (std::int32_t c = thread; c < row.chunks; c += kCombineThreads) {
    const float chunk = plan.max_sums[2 * (row.slot + c)];
    m = chunk > m ? chunk : m;
  }
  OCTAVO_UNROLL
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(kWholeWarp, m, offset);
    m = other > m ? other : m;
  }
  if (thread % 32 == 0) {
    shared.warp_max[thread / 32] = m;
  }
  __syncthreads();
  OCTAVO_UNROLL
  for (int warp = 0; warp < kCombineWarps; ++warp) {
    m = shared.warp_max[warp] > m ? shared.warp_max[warp] : m;
  }
  return m;
}

/// Adds a batch of chunks, whose x and l are in shared memory, to L and to the thread's elements.
template <int kElements>
__device__ __forceinline__ void add_chunks(const float* outs,
                                           std::int64_t v_head_dim,
                                           int count,
                                           int chunks,
                                           const CombineShared& shared,
                                           float& l,
                                           Registers<float, kElements>& o) {
  constexpr int kAhead = 4;
  for (int c0 = 0; c0 < chunks; c0 += kAhead) {
    Registers<float, kElements> part[kAhead];
    OCTAVO_UNROLL
    for (int i = 0; i < kAhead; ++i) {
      OCTAVO_UNROLL
      for (int e = 0; e < kElements; ++e) {
        part[i][e] = 0.0f;
        if (c0 + i < chunks && e < count) {
          part[i][e] = outs[(c0 + i) * v_head_dim + e * kCombineThreads];
        }
      }
    }
    OCTAVO_UNROLL
    for (int i = 0; i < kAhead; ++i) {
      if (c0 + i < chunks) {
        const float x = shared.x[c0 + i];
        l = __fmaf_rn(shared.l[c0 + i], x, l);
        OCTAVO_UNROLL
        for (int e = 0; e < kElements; ++e) {
          o[e] = __fmaf_rn(part[i][e], x, o[e]);
        }
      }
    }
  }
}

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
  for (std::int64_t chunk = 0; chunk < arg.max_chunks; ++chunk) {
    const std::int64_t c = chunk - row.first_chunk;
    const bool seen = c >= 0 && c < row.chunks;
    if (seen && plan.in_partials) {
      continue;
    }
    const std::int64_t at = row.index * arg.max_chunks + chunk;
    const float* const max_sum = plan.max_sums + 2 * (row.slot + c);
    const float* const out = plan.outs + (row.slot + c) * v_head_dim;
    if (threadIdx.x == 0) {
      arg.partial_max_sum[2 * at] = seen ? max_sum[0] : minus_infinity();
      arg.partial_max_sum[2 * at + 1] = seen ? max_sum[1] : 0.0f;
    }
    for (std::int64_t d = threadIdx.x; d < v_head_dim; d += kCombineThreads) {
      arg.partial_out[at * v_head_dim + d] = seen ? out[d] : 0.0f;
    }
  }
}

/// kElements: of a row, a thread; kCombineThreads * kElements >= v_head_dim.
template <int kElements>
__global__ void __launch_bounds__(kCombineThreads, kCombineBlocks)
    attend_combine(const AttendPlan plan) {
  OCTAVO_SHARED(CombineShared, shared);
  const AttendArg& arg = plan.arg;
  AttendItem item;
  const int tile_row = find_row(plan, item);
  if (tile_row >= item.tile.num_rows) {
    return;
  }
  const CombineRow row = find_combine_row(plan, item, tile_row);
  const int thread = static_cast<int>(threadIdx.x);
  const int v_head_dim = static_cast<int>(arg.values.head_dim);
  const float m = max_of_chunks(plan, row, shared);
  float l = arg.sinks == nullptr ? 0.0f : exp2_spec(__fsub_rn(row.sink, m));
  if (row.chunks == 0) {
    l = m > minus_infinity() ? 1.0f : 0.0f;
  }
  Registers<float, kElements> o = {};
  const int count = (v_head_dim - thread + kCombineThreads - 1) / kCombineThreads;
  for (std::int32_t c0 = 0; c0 < row.chunks; c0 += kCombineThreads) {
    const int chunks = row.chunks - c0 < kCombineThreads ? row.chunks - c0 : kCombineThreads;
    __syncthreads();
    if (thread < chunks) {
      const float2 max_sum = reinterpret_cast<const float2*>(plan.max_sums)[row.slot + c0 + thread];
      shared.x[thread] = exp2_spec(__fsub_rn(max_sum.x, m));
      shared.l[thread] = max_sum.y;
    }
    __syncthreads();
    add_chunks<kElements>(plan.outs + (row.slot + c0) * v_head_dim + thread, v_head_dim, count,
                          chunks, shared, l, o);
  }
  OCTAVO_UNROLL
  for (int e = 0; e < kElements; ++e) {
    if (e < count) {
      const float out = row.chunks == 0 ? 0.0f : one_nan(__fdiv_rn(o[e], l));
      store_element(arg.out.dtype, arg.out.data, row.out_at + thread + e * kCombineThreads, out);
    }
  }
  if (thread == 0 && arg.max_sum != nullptr) {
    arg.max_sum[2 * row.index] = m;
    arg.max_sum[2 * row.index + 1] = one_nan(l);
  }
  if (thread == 0 && arg.lse != nullptr) {
    arg.lse[row.index] = log_sum_exp(m, l);
  }
  if (arg.partial_out != nullptr) {
    store_partials(plan, row);
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
