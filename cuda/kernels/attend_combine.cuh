// Chunks become one result (NUMERICS.md, 8.4): maxima, then sums over the chunks in their order.
//
// Grid: a warp for each row of each tile and KV head, four in a block, in x. Elements are
// independent, chunks are not: a lane takes quads of elements through all chunks, up to eight loads
// in flight. Reads what the item kernels wrote, 4 * (v_head_dim + 2) bytes a chunk; with many
// chunks that bounds it, with few the launch does. One warp a row, as finding the row costs each
// warp as much as a dozen chunks do.
#pragma once

#include "attend_scores.cuh"
#include "attend_tile.cuh"
#include "exact_math.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr int kCombineThreads = 128;
constexpr int kCombineBlocks = 5;  ///< On a multiprocessor: up to 96 registers a thread.
constexpr int kCombineWarps = kCombineThreads / 32;
constexpr int kCombineChunks = 32;     ///< That a warp weighs at a time.
constexpr int kQuadElements = 4 * 32;  ///< Of a warp, a quad a lane.

/// What a warp multiplies chunks by.
struct CombineWeight {
  float x;  ///< 2^(m - M)
  float l;
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

/// M, in all lanes.
__device__ __forceinline__ float max_of_chunks(const AttendPlan& plan, const CombineRow& row) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float m = row.sink > minus_infinity() ? row.sink : minus_infinity();
  for (std::int32_t c = lane; c < row.chunks; c += 32) {
    const float chunk = plan.max_sums[2 * (row.slot + c)];
    m = chunk > m ? chunk : m;
  }
  OCTAVO_UNROLL
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(kWholeWarp, m, offset);
    m = other > m ? other : m;
  }
  return m;
}

/// Adds `chunks` chunks from `outs` on, whose weights are in shared memory, to L and to the lane's
/// quads, of which `count` are there.
template <int kQuads>
__device__ __forceinline__ void add_chunks(const float* outs,
                                           std::int64_t v_head_dim,
                                           int count,
                                           int chunks,
                                           const CombineWeight* weights,
                                           float& l,
                                           Registers<float4, kQuads>& o) {
  constexpr int kAhead = kQuads >= 8 ? 1 : 8 / kQuads;
  OCTAVO_NO_UNROLL
  for (int c0 = 0; c0 < chunks; c0 += kAhead) {
    Registers<Registers<float4, kQuads>, kAhead> part;
    OCTAVO_UNROLL
    for (int i = 0; i < kAhead; ++i) {
      OCTAVO_UNROLL
      for (int q = 0; q < kQuads; ++q) {
        part[i][q] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (c0 + i < chunks && q < count) {
          part[i][q] =
              *reinterpret_cast<const float4*>(outs + (c0 + i) * v_head_dim + q * kQuadElements);
        }
      }
    }
    OCTAVO_UNROLL
    for (int i = 0; i < kAhead; ++i) {
      if (c0 + i < chunks) {
        const CombineWeight weight = weights[c0 + i];
        l = __fmaf_rn(weight.l, weight.x, l);
        OCTAVO_UNROLL
        for (int q = 0; q < kQuads; ++q) {
          o[q] = make_float4(
              __fmaf_rn(part[i][q].x, weight.x, o[q].x), __fmaf_rn(part[i][q].y, weight.x, o[q].y),
              __fmaf_rn(part[i][q].z, weight.x, o[q].z), __fmaf_rn(part[i][q].w, weight.x, o[q].w));
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
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (std::int64_t chunk = 0; chunk < arg.max_chunks; ++chunk) {
    const std::int64_t c = chunk - row.first_chunk;
    const bool seen = c >= 0 && c < row.chunks;
    if (seen && plan.in_partials) {
      continue;
    }
    const std::int64_t at = row.index * arg.max_chunks + chunk;
    const float* const max_sum = plan.max_sums + 2 * (row.slot + c);
    const float* const out = plan.outs + (row.slot + c) * v_head_dim;
    if (lane == 0) {
      arg.partial_max_sum[2 * at] = seen ? max_sum[0] : minus_infinity();
      arg.partial_max_sum[2 * at + 1] = seen ? max_sum[1] : 0.0f;
    }
    for (std::int64_t d = lane; d < v_head_dim; d += 32) {
      arg.partial_out[at * v_head_dim + d] = seen ? out[d] : 0.0f;
    }
  }
}

/// The quotients of a lane's quads, or zeros where the row sees nothing.
template <int kQuads>
__device__ __forceinline__ void store_result(const AttendPlan& plan,
                                             const CombineRow& row,
                                             int count,
                                             float l,
                                             const Registers<float4, kQuads>& o) {
  const AttendArg& arg = plan.arg;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  OCTAVO_UNROLL
  for (int q = 0; q < kQuads; ++q) {
    if (q < count) {
      const float sums[4] = {o[q].x, o[q].y, o[q].z, o[q].w};
      OCTAVO_UNROLL
      for (int e = 0; e < 4; ++e) {
        const float out = row.chunks == 0 ? 0.0f : one_nan(__fdiv_rn(sums[e], l));
        store_element(arg.out.dtype, arg.out.data, row.out_at + q * kQuadElements + 4 * lane + e,
                      out);
      }
    }
  }
}

/// kQuads: of a row, a lane; kQuadElements * kQuads >= v_head_dim.
template <int kQuads>
__global__ void __launch_bounds__(kCombineThreads, kCombineBlocks)
    attend_combine(const AttendPlan plan) {
  OCTAVO_SHARED_ARRAY(CombineWeight, all_weights, kCombineThreads);
  const AttendArg& arg = plan.arg;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  AttendItem item;
  const int tile_row = find_row(
      plan,
      blockIdx.x * static_cast<std::uint32_t>(kCombineWarps) + static_cast<std::uint32_t>(warp),
      item);
  if (tile_row >= item.tile.num_rows) {
    return;  // The whole warp; no other waits for it.
  }
  CombineWeight* const weights = all_weights + kCombineChunks * warp;
  const CombineRow row = find_combine_row(plan, item, tile_row);
  const int v_head_dim = static_cast<int>(arg.values.head_dim);
  const float m = max_of_chunks(plan, row);
  float l = arg.sinks == nullptr ? 0.0f : exp2_spec(__fsub_rn(row.sink, m));
  if (row.chunks == 0) {
    l = m > minus_infinity() ? 1.0f : 0.0f;
  }
  Registers<float4, kQuads> o = {};
  const int count = (v_head_dim - 4 * lane + kQuadElements - 1) / kQuadElements;
  for (std::int32_t c0 = 0; c0 < row.chunks; c0 += kCombineChunks) {
    const int chunks = row.chunks - c0 < kCombineChunks ? row.chunks - c0 : kCombineChunks;
    __syncwarp();  // The batch before is done with.
    if (lane < chunks) {
      const float2 max_sum = reinterpret_cast<const float2*>(plan.max_sums)[row.slot + c0 + lane];
      weights[lane] = {exp2_spec(__fsub_rn(max_sum.x, m)), max_sum.y};
    }
    __syncwarp();
    add_chunks<kQuads>(plan.outs + (row.slot + c0) * v_head_dim + 4 * lane, v_head_dim, count,
                       chunks, weights, l, o);
  }
  store_result<kQuads>(plan, row, count, l, o);
  if (lane == 0 && arg.max_sum != nullptr) {
    arg.max_sum[2 * row.index] = m;
    arg.max_sum[2 * row.index + 1] = one_nan(l);
  }
  if (lane == 0 && arg.lse != nullptr) {
    arg.lse[row.index] = log_sum_exp(m, l);
  }
  if (arg.partial_out != nullptr) {
    store_partials(plan, row);
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
