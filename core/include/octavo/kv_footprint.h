// How many bytes a cache takes on its device, and how large a cache fits into given bytes.
//
// Pure functions of the configuration: they allocate no storage, touch no device and may be called
// from any thread. Every size is the exact sum of the allocations that `KVCache::make` performs,
// read from the same plan; a device that rounds allocations up adds that by itself. Attention
// workspace belongs to the device and is not part of a cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "octavo/kv_config.h"

namespace octavo {

/// All in bytes.
struct KVCacheFootprint {
  std::int64_t continuous_kv = 0;  ///< K and V of continuous attention rows.
  std::int64_t paged_pools = 0;    ///< K and V of paged rows: the pools.
  std::int64_t quant_scales = 0;   ///< F32 scales of quantized rows of every kind and layout.
  std::int64_t cross_kv = 0;       ///< K and V of cross-attention rows.
  std::int64_t conv = 0;           ///< Convolution windows.
  std::int64_t recurrent = 0;      ///< Recurrent slabs.
  std::int64_t tables = 0;         ///< Lengths, block table and the persistent step indices.

  /// One entry a row: its K, V, scales and states; a paged row's share of its pools. Together with
  /// `tables` they add up to total().
  std::vector<std::int64_t> per_layer = {};

  /// What one block id stands for over all pools, scales included. 0 without paged rows.
  std::int64_t bytes_per_block = 0;
  /// What one slot adds outside the pools: continuous and cross K/V, their per-token scales,
  /// convolution windows and recurrent slabs; not its table rows. 0 when all rows are paged.
  std::int64_t bytes_per_slot = 0;

  std::int64_t total() const {
    return continuous_kv + paged_pools + quant_scales + cross_kv + conv + recurrent + tables;
  }
  friend bool operator==(const KVCacheFootprint&, const KVCacheFootprint&) = default;
};

/// The footprint of the cache that `make` would build from the same arguments. O(rows).
/// Raises what `make` raises, with the same message: InvalidArgument for every composition that
/// breaks its contract and for any size that overflows 64 bits.
KVCacheFootprint footprint(const KVCacheConfig& config, std::span<const KVLayerSpec> layer_specs);

/// The largest PagedParams::num_blocks, everything else as given, whose footprint is at most
/// `budget_bytes`: exact, tables included. At most kMaxBlocks. What `config.paged` says of
/// num_blocks is not read. O(rows * 31).
/// Raises what `footprint` raises; InvalidArgument for a negative budget and without a paged row;
/// ResourceExhausted when not even one block fits, naming the bytes that one would need.
std::int64_t largest_num_blocks(const KVCacheConfig& config,
                                std::span<const KVLayerSpec> layer_specs,
                                std::int64_t budget_bytes);

/// The largest KVCacheConfig::max_seqs, everything else as given, whose footprint is at most
/// `budget_bytes`. At most kMaxSeqs. `config.max_seqs` is not read. O(rows * 24).
/// Raises what `footprint` raises; InvalidArgument for a negative budget; ResourceExhausted when
/// not even one slot fits, naming the bytes that one would need.
std::int64_t largest_max_seqs(const KVCacheConfig& config,
                              std::span<const KVLayerSpec> layer_specs,
                              std::int64_t budget_bytes);

}  // namespace octavo
