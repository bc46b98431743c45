// What a thread block of an attention kernel works on: its item of the plan, which positions each
// of its rows sees, and where results go. See src/attend_plan.h for the words.
//
// Everything here is the same for all threads of a block but the arguments they pass.
#pragma once

#include "convert.cuh"
#include "rows.cuh"
#include "src/attend_plan.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// An array that is meant to live in registers.
template <typename T, int kSize>
using Registers = T[static_cast<std::size_t>(kSize)];

/// Positions [begin, end); empty when begin >= end.
struct PositionRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  __device__ __forceinline__ bool empty() const { return begin >= end; }
};

/// Rows first_row .. + num_rows - 1 of a sequence. num_rows <= 0: there are none.
struct AttendTile {
  std::int32_t number;  ///< In the slice.
  std::int32_t sequence;
  std::int32_t first_row;
  std::int32_t num_rows;
  std::int32_t first_token;     ///< Of the sequence, in the step.
  std::int32_t first_position;  ///< Of the sequence's first query.
  std::int32_t kv_len;
};

/// A tile, a KV head and a chunk. tile.num_rows <= 0: nothing to do. Without initializers, as
/// shared memory has none.
struct AttendItem {
  AttendTile tile;
  std::int64_t kv_head;
  std::int32_t chunk;        ///< Absolute: positions from chunk * kChunkPositions on.
  std::int32_t first_chunk;  ///< The first that the tile sees.
  std::int32_t chunks;       ///< That the tile sees; 0: there is no chunk, but there are results.
};

/// The first tile of a sequence under compact numbering.
__device__ __forceinline__ std::int64_t compact_tile(const AttendPlan& plan,
                                                     std::int64_t sequence) {
  return std::int64_t{plan.arg.step.cu_seqlens_q[sequence]} * plan.group / plan.rows + sequence;
}

__device__ __forceinline__ AttendTile find_tile(const AttendPlan& plan, std::int32_t number) {
  const KVStepArg& step = plan.arg.step;
  const std::int32_t at = plan.first_tile + number;
  std::int32_t sequence = 0;
  std::int32_t within = 0;
  if (plan.tiles_per_sequence > 0) {
    sequence = static_cast<std::int32_t>(
        quotient(static_cast<std::uint32_t>(at), plan.by_tiles_per_sequence));
    within = at - sequence * plan.tiles_per_sequence;
  } else {
    auto high = static_cast<std::int32_t>(step.batch);
    while (high - sequence > 1) {
      const std::int32_t middle = sequence + (high - sequence) / 2;
      if (compact_tile(plan, middle) <= at) {
        sequence = middle;
      } else {
        high = middle;
      }
    }
    within = at - static_cast<std::int32_t>(compact_tile(plan, sequence));
  }
  const std::int32_t first_token = step.cu_seqlens_q[sequence];
  const std::int32_t tokens = step.cu_seqlens_q[sequence + 1] - first_token;
  const std::int32_t kv_len = kv_length(step, sequence);
  const std::int32_t first_row = within * plan.rows;
  return {.number = number,
          .sequence = sequence,
          .first_row = first_row,
          .num_rows = min(tokens * plan.group - first_row, plan.rows),
          .first_token = first_token,
          .first_position = kv_len - tokens,
          .kv_len = kv_len};
}

/// The query token of a row, among the tile's sequence's.
__device__ __forceinline__ std::int32_t query_of(const AttendPlan& plan,
                                                 const AttendTile& tile,
                                                 int row) {
  const auto at = static_cast<std::uint32_t>(tile.first_row + row);
  return static_cast<std::int32_t>(quotient(at, plan.by_group));
}

/// The same among the step's.
__device__ __forceinline__ std::int64_t token_of(const AttendPlan& plan,
                                                 const AttendTile& tile,
                                                 int row) {
  return tile.first_token + query_of(plan, tile, row);
}

/// The query head of a row.
__device__ __forceinline__ std::int64_t head_of(const AttendPlan& plan,
                                                const AttendTile& tile,
                                                std::int64_t kv_head,
                                                int row) {
  const std::int32_t within = tile.first_row + row - query_of(plan, tile, row) * plan.group;
  return kv_head * plan.group + within;
}

/// The positions that a row sees. Both ends grow with the row.
__device__ __forceinline__ PositionRange seen_by(const AttendPlan& plan,
                                                 const AttendTile& tile,
                                                 int row) {
  const AttendArg& arg = plan.arg;
  const std::int32_t own = tile.first_position + query_of(plan, tile, row) + 1;
  const std::int32_t end = arg.causal ? own : tile.kv_len;
  return {max(0, end - plan.window), end};
}

/// Where a position of the tile's sequence lies.
__device__ __forceinline__ RowPlace place_of(const AttendPlan& plan,
                                             const AttendTile& tile,
                                             std::int32_t position) {
  return place_in_cell(plan.arg.step, tile.sequence, position,
                       quotient(static_cast<std::uint32_t>(position), plan.by_block_size));
}

/// The part of `seen` in a chunk, relative to its first position: within [0, kChunkPositions].
__device__ __forceinline__ PositionRange part_of_chunk(PositionRange seen, std::int32_t chunk) {
  const std::int64_t base = std::int64_t{chunk} * kChunkPositions;
  const std::int64_t begin = seen.begin - base;
  const std::int64_t end = seen.end - base;
  return {static_cast<std::int32_t>(begin < 0                 ? 0
                                    : begin < kChunkPositions ? begin
                                                              : kChunkPositions),
          static_cast<std::int32_t>(end < 0                 ? 0
                                    : end < kChunkPositions ? end
                                                            : kChunkPositions)};
}

/// The item of a block, by default of this one. Tiles vary fastest: blocks that run together share
/// chunks in the L2 cache when their tiles are of one sequence.
__device__ __forceinline__ AttendItem find_item(const AttendPlan& plan,
                                                std::uint32_t block = blockIdx.x) {
  const auto num_tiles = static_cast<std::uint32_t>(plan.num_tiles);
  const auto kv_heads = static_cast<std::uint32_t>(plan.arg.kv_heads);
  const std::uint32_t rest = quotient(block, plan.by_num_tiles);
  const std::uint32_t chunk = quotient(rest, plan.by_kv_heads);
  AttendItem item = {};
  item.tile = find_tile(plan, static_cast<std::int32_t>(block - rest * num_tiles));
  item.kv_head = rest - chunk * kv_heads;
  if (item.tile.num_rows > 0) {
    const PositionRange first = seen_by(plan, item.tile, 0);
    const PositionRange last = seen_by(plan, item.tile, item.tile.num_rows - 1);
    const auto index = static_cast<std::int32_t>(chunk);
    item.first_chunk = first.begin / kChunkPositions;
    item.chunk = item.first_chunk + index;
    if (last.end > first.begin) {
      item.chunks = (last.end - 1) / kChunkPositions + 1 - item.first_chunk;
    }
    if (index > 0 && index >= item.chunks) {
      item.tile.num_rows = 0;
    }
  }
  return item;
}

/// Of the blocks of the item's tile and KV head that are done.
__device__ __forceinline__ unsigned* counter_of(const AttendPlan& plan, const AttendItem& item) {
  return plan.counters + item.tile.number * plan.arg.kv_heads + item.kv_head;
}

/// What the rows of the item's tile see of its chunk together; without gaps, and never empty.
__device__ __forceinline__ PositionRange seen_by_tile(const AttendPlan& plan,
                                                      const AttendItem& item) {
  const PositionRange first = seen_by(plan, item.tile, 0);
  const PositionRange last = seen_by(plan, item.tile, item.tile.num_rows - 1);
  return part_of_chunk({first.begin, last.end}, item.chunk);
}

/// Where the partial results of a row and an absolute chunk go. Chunks lie one apart. Only slots of
/// chunks that the row sees are ever read.
__device__ __forceinline__ std::int64_t slot_of(const AttendPlan& plan,
                                                const AttendItem& item,
                                                int row) {
  const AttendTile& tile = item.tile;
  if (plan.in_partials) {
    const std::int64_t token = token_of(plan, tile, row);
    const std::int64_t head = head_of(plan, tile, item.kv_head, row);
    return (token * plan.arg.q_heads + head) * plan.arg.max_chunks + item.chunk;
  }
  const std::int64_t at = (tile.number * plan.arg.kv_heads + item.kv_head) * plan.rows + row;
  return at * plan.chunks + (item.chunk - item.first_chunk);
}

__device__ __forceinline__ void store_max_sum(const AttendPlan& plan,
                                              std::int64_t slot,
                                              float m,
                                              float l) {
  reinterpret_cast<float2*>(plan.max_sums)[slot] = make_float2(m, one_nan(l));
}

/// Elements d .. d + 3 of o.
__device__ __forceinline__ void store_out(const AttendPlan& plan,
                                          std::int64_t slot,
                                          int d,
                                          float4 o) {
  float* const to = plan.outs + slot * plan.arg.values.head_dim + d;
  *reinterpret_cast<float4*>(to) =
      make_float4(one_nan(o.x), one_nan(o.y), one_nan(o.z), one_nan(o.w));
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
