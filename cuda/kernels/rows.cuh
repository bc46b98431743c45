// Where the rows of a step lie: sequences, lengths and positions to blocks, rows and bytes, in 64
// bits throughout (octavo/device_ops.h has the layout).
#pragma once

#include "octavo/device_ops.h"
#include "platform.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// n / by. A GPU divides 64 bits some five times more slowly than 32, which most numbers fit.
__device__ __forceinline__ std::uint64_t quotient(std::uint64_t n, std::uint32_t by) {
  if (n >> 32 == 0) {
    return static_cast<std::uint32_t>(n) / by;
  }
  return n / by;
}

/// Blocks and rows fit 31 bits; bytes and elements do not.
struct RowPlace {
  std::uint32_t block = 0;
  std::uint32_t row = 0;  ///< Within the block.
};

/// The length of a sequence, this step's tokens included.
__device__ __forceinline__ std::int32_t kv_length(const KVStepArg& step, std::int64_t sequence) {
  return step.cumulative_k ? step.cu_seqlens_k[sequence + 1] - step.cu_seqlens_k[sequence]
                           : step.cu_seqlens_k[sequence];
}

/// Where position `position` of a sequence lies, which is in its block number `cell`. Positions,
/// block sizes and capacities fit 31 bits.
__device__ __forceinline__ RowPlace place_in_cell(const KVStepArg& step,
                                                  std::int64_t sequence,
                                                  std::int32_t position,
                                                  std::uint32_t cell) {
  const auto size = static_cast<std::uint32_t>(step.block_size);
  const std::uint32_t row = static_cast<std::uint32_t>(position) - cell * size;
  const std::int64_t column = step.table_columns == 1 ? 0 : cell;
  const std::int32_t block = step.block_table[sequence * step.table_stride + column];
  return {static_cast<std::uint32_t>(block), row};
}

__device__ __forceinline__ RowPlace place_of(const KVStepArg& step,
                                             std::int64_t sequence,
                                             std::int32_t position) {
  const auto size = static_cast<std::uint32_t>(step.block_size);
  return place_in_cell(step, sequence, position, static_cast<std::uint32_t>(position) / size);
}

__device__ __forceinline__ std::uint8_t* row_data(const KVRowsArg& rows,
                                                  std::int64_t head,
                                                  RowPlace place) {
  return static_cast<std::uint8_t*>(rows.data) + head * rows.head_stride_bytes +
         std::int64_t{place.block} * rows.block_stride_bytes +
         std::int64_t{place.row} * rows.row_stride_bytes;
}

/// The scale of a row; only where the codec has scales.
__device__ __forceinline__ float* row_scale(const KVRowsArg& rows,
                                            std::int64_t head,
                                            RowPlace place) {
  const bool is_static = rows.scale == KVScale::Static;
  return rows.scales + head * rows.scale_head_stride +
         (is_static ? 0 : std::int64_t{place.block} * rows.scale_block_stride + place.row);
}

/// The sequence of a token of the step: the i with cu_seqlens_q[i] <= token < cu_seqlens_q[i + 1].
__device__ __forceinline__ std::int64_t sequence_of(const KVStepArg& step, std::int64_t token) {
  if (step.max_query_len == 1 && step.tokens == step.batch) {
    return token;  // No length is above 1, so none is below.
  }
  std::int64_t low = 0;
  std::int64_t high = step.batch;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    if (step.cu_seqlens_q[middle] <= token) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Where the key and the value of a token of the step are stored.
__device__ __forceinline__ RowPlace place_of_token(const KVStepArg& step, std::int64_t token) {
  const std::int64_t sequence = sequence_of(step, token);
  const std::int64_t end = step.cu_seqlens_q[sequence + 1];
  const auto behind = static_cast<std::int32_t>(end - token);
  return place_of(step, sequence, kv_length(step, sequence) - behind);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
