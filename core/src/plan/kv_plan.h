// KVPlan: everything that follows from a configuration before any memory exists.
//
// `make_kv_plan` refuses every composition that breaks its contract and resolves the rest: each
// row's geometry and layout, the pools that paged rows share, and one list of allocations. The
// footprint is the sum over that list and KVStorage allocates that list, so the two cannot differ.
//
// A value without references into its arguments; immutable once made, readable from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/dims.h"
#include "octavo/kv_config.h"
#include "octavo/kv_footprint.h"

namespace octavo {

enum class StorageClass { ContinuousKV, PagedPools, QuantScales, CrossKV, Conv, Recurrent, Tables };
inline constexpr int kNumStorageClasses = 7;

std::string_view to_string(StorageClass storage_class);

/// One tensor that `make` allocates.
struct KVAllocation {
  StorageClass storage_class = StorageClass::Tables;
  std::string name;  ///< "layer 3 keys", "pool 0", "block table".
  DType dtype = DType::UInt8;
  Dims shape;
  std::int64_t size_bytes = 0;
  int layer = -1;         ///< The row that it belongs to alone; -1 for pools and tables.
  bool per_slot = false;  ///< Part of bytes_per_slot: dimension 0 is max_seqs, and it is no table.
};

/// Which part of which allocation: `member` is the index into dimension 0, or -1 for all of it.
/// An `allocation` of -1 means that there is none.
struct KVPlace {
  int allocation = -1;
  int member = -1;
};

/// Keys or values of a row.
struct KVHalfPlan {
  KVQuantSpec quant;
  DType dtype = DType::BF16;      ///< Of the storage: UInt8 for Int4.
  std::int64_t row_elements = 0;  ///< Last dimension of the storage: half of head_dim for Int4.
  int pool = -1;                  ///< Index into KVPlan::pools; -1 for a continuous row.
  KVPlace place;
  KVPlace scales;                    ///< None without a codec.
  std::vector<float> static_scales;  ///< kv_heads values for a Static scale, else empty.
};

struct KVRowPlan {
  KVLayerKind kind = KVLayerKind::AttentionKV;
  Layout layout = Layout::Continuous;  ///< Never Auto.
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t v_head_dim = 0;
  std::int64_t window = 0;
  /// Positions a slot holds, of which p lies at p mod capacity. A paged row: cells * block_size.
  std::int64_t capacity = 0;
  KVHalfPlan keys;
  KVHalfPlan values;
  std::vector<KVConvSpec> conv;
  DType conv_dtype = DType::BF16;
  std::vector<int> conv_allocations;  ///< One a window, [max_seqs, dim, width].
  KVRecurrentSpec recurrent;          ///< heads == 0: the row has no slab.
  DType state_dtype = DType::F32;
  int recurrent_allocation = -1;  ///< [max_seqs, heads, k_dim, v_dim], or -1.
  int cross_index = -1;           ///< Row of the cross lengths, in order of the cross rows.
};

/// The pool of one (kv_heads, head_dim, storage dtype):
/// [members, num_blocks, kv_heads, block_size, row_elements]. A member is the keys or the values of
/// one row, so a row's handle is one contiguous view and block b is b in every member of every
/// pool.
struct KVPoolPlan {
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  DType dtype = DType::BF16;
  std::int64_t row_elements = 0;
  int members = 0;
  int scale_members = 0;      ///< Members with per-token scales.
  int allocation = -1;        ///< Index into KVPlan::allocations.
  int scale_allocation = -1;  ///< F32 [scale_members, num_blocks, kv_heads, block_size], or -1.
};

/// The tables that the host keeps on the device; each an index into KVPlan::allocations or -1.
/// All are Int32.
struct KVTablesPlan {
  int seq_lens = -1;            ///< [max_seqs]
  int cross_lens = -1;          ///< [cross rows, max_seqs]; with cross rows.
  int block_table = -1;         ///< [max_seqs, max_blocks_per_seq]; with paged rows.
  int reserve_offsets = -1;     ///< [max_seqs], what `reserve` returns; with paged rows.
  int cu_seqlens_q = -1;        ///< [max_seqs + 1]
  int cu_seqlens_k = -1;        ///< [max_seqs + 1]
  int step_block_table = -1;    ///< [max_seqs, max_blocks_per_seq], gathered; with paged rows.
  int slot_ids = -1;            ///< [max_seqs]; with a row that is not paged.
  int cross_cu_seqlens_q = -1;  ///< [max_seqs + 1], of prepare_cross; with cross rows.
  int cross_cu_seqlens_k = -1;  ///< [max_seqs + 1]
  int cross_slot_ids = -1;      ///< [max_seqs]
};

struct KVPlan {
  KVCacheMode mode = KVCacheMode::Continuous;
  std::int64_t max_seqs = 0;
  std::int64_t max_tokens_per_seq = 0;  ///< 0: no limit.
  std::int64_t max_step_tokens = 0;     ///< 0: no limit.
  bool has_paged_rows = false;
  bool has_slot_rows = false;  ///< Some row is continuous, cross or state.

  // Without paged rows these are 0.
  std::int64_t num_blocks = 0;
  std::int64_t block_size = 0;
  std::int64_t max_blocks_per_seq = 0;
  std::int64_t release_window = 0;  ///< PagedParams::window.

  /// Whether `admit` may serve a cached prefix: asked for, no releasing window, and every row is
  /// paged, so that every row can answer for the tokens that are skipped.
  bool serves_prefixes = false;
  EvictionPolicy policy = EvictionPolicy::Lru;  ///< PagedParams::policy.

  std::vector<KVRowPlan> rows;
  std::vector<KVPoolPlan> pools;  ///< By the first row that needs them, keys before values.
  std::vector<KVAllocation> allocations;
  KVTablesPlan tables;
  KVCacheFootprint footprint;
};

/// Resolves a composition. O(rows).
/// Raises InvalidArgument for whatever `footprint` and `KVCache::make` refuse; a size beyond 64
/// bits raises SizeOverflow, a subclass of Error.
KVPlan make_kv_plan(const KVCacheConfig& config, std::span<const KVLayerSpec> layer_specs);

}  // namespace octavo
