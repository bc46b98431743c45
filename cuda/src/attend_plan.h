// How an attention call becomes launches, and what its kernels are given.
//
// A *row* is one query head of one query token. The rows of a (sequence, KV head) are numbered
// token by token: row x is query token x / group, head x % group of those that share the KV head.
// A *tile* is up to `rows` successive ones, the same for every KV head. One thread block does one
// *item*: a tile, a KV head and a chunk of kAttentionChunk absolute positions; it leaves (m, l) and
// o of each row that sees some of the chunk. The last block of a tile and KV head to be done
// combines the chunks of each row. So decoding, prefill and attention that only reads are the same
// kernels. Fast attention has, for many rows a sequence, another kind too: its block does all
// chunks of a tile and KV head, and leaves results.
//
// Lengths are known to the device alone: the host sizes the grid by the step's largest ones, and
// blocks without work return at once.
//
// Plain data and pure functions of it.
#pragma once

#include <cstdint>

#include "divisor.h"
#include "kernels/platform.cuh"
#include "octavo/device_ops.h"
#include "octavo/kv_ops.h"
#include "operations.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

inline constexpr int kChunkPositions = static_cast<int>(kAttentionChunk);
inline constexpr int kWideRows = 128;  ///< Of a wide tile of fast attention.

/// A slice of a call: as many tiles as the workspace holds. The parameter of every attention
/// kernel. attend_tile.cuh reads it on the device.
struct AttendPlan {
  AttendArg arg = {};
  std::int32_t first_tile = 0;  ///< Tiles and the rows of a sequence fit 31 bits.
  std::int32_t num_tiles = 0;
  /// Tiles of every sequence when they all get the same number, as in decoding; 0 when sequence i
  /// begins at tile floor(cu_seqlens_q[i] * group / rows) + i. That wastes at most one a sequence
  /// however unequal the sequences are, and needs no prefix sum.
  std::int32_t tiles_per_sequence = 0;
  std::int32_t group = 1;
  std::int32_t rows = 1;
  std::int32_t window = 0;  ///< Positions that a row sees at most.
  Divisor by_group = {};
  Divisor by_num_tiles = {};
  Divisor by_kv_heads = {};
  Divisor by_tiles_per_sequence = {};  ///< Only when that is above 0.
  Divisor by_block_size = {};
  /// No tile sees more of them; the grid has one block for each, one for tiles that see nothing. 1
  /// where a block does all of them.
  std::int32_t chunks = 1;
  /// Where partial results go: (m, l) at max_sums + 2 * slot, o at outs + v_head_dim * slot, slot
  /// by slot_of (attend_tile.cuh).
  float* max_sums = nullptr;
  float* outs = nullptr;
  /// One for each tile and KV head, in this order: how many of its blocks are done. All zero when
  /// the launch begins and when it ends (attend_combine.cuh).
  unsigned* counters = nullptr;
  bool in_partials = false;  ///< They are the caller's arg.partial_*, indexed as those are.
};

/// A kernel that takes a call, or none (`launch` null). It runs the items of a plan, from queries
/// to results: a grid of num_items(plan) blocks in x, find_item(plan) tells a block its own.
struct AttendKernel {
  void (*launch)(const AttendPlan& plan, Stream stream) = nullptr;
  int rows = 0;  ///< Of a tile.
  /// A block does all chunks of its tile and leaves no partial results: plan.chunks is 1.
  bool all_chunks = false;
};

/// Blocks of a launch; below 2^31 for every plan that is made.
constexpr std::int64_t num_items(const AttendPlan& plan) {
  return std::int64_t{plan.num_tiles} * plan.arg.kv_heads * plan.chunks;
}

/// The families, in the order in which they are asked. Each returns a kernel only for what it
/// takes.
/// Only when options.fast; the results of both are the same. Wide tiles are for many rows a
/// sequence.
AttendKernel find_attend_fast_wide(const AttendArg& arg);
AttendKernel find_attend_fast(const AttendArg& arg);
AttendKernel find_attend_int(const AttendArg& arg);      ///< Int8 or Int4 keys and values.
AttendKernel find_attend_float(const AttendArg& arg);    ///< Everything else that is tuned.
AttendKernel find_attend_general(const AttendArg& arg);  ///< Takes every call.

/// Whether fast kernels take the call's rows, and multiply its queries without rounding them.
bool fast_takes(const AttendArg& arg);

/// Whether rows are attended to by S2.
inline bool is_integer(const KVRowsArg& rows) {
  return rows.codec == KVCodec::Int8 || rows.codec == KVCodec::Int4;
}

/// Whether rows lie as the tuned kernels read them: packed, every row aligned to 16 bytes.
bool rows_are_packed(const KVRowsArg& rows);

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
