// What the cache does to its own storage, as launches of its device: copies of blocks, zeroed
// states, gathered rows of the block table.
//
// Plain host memory (HostDevice) has no kernels. These three only move bytes, so on it they are
// done in place; a cache on it runs everything but attention and its kin.
//
// Threads: one thread. Errors: what the device raises.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache/uploader.h"
#include "octavo/device_ops.h"
#include "plan/kv_storage.h"

namespace octavo::cache {

/// The pools and states of a cache, as launch arguments; made once.
class StorageOps {
 public:
  StorageOps() = default;
  explicit StorageOps(const KVStorage& storage);

  /// Performs the copies, one after another, in every pool with its scales.
  void copy_blocks(std::span<const BlockCopy> copies, Uploader& uploader) const;

  /// Sets all conv windows and recurrent slabs of the slots to zero.
  void zero_states(std::span<const std::int32_t> slots, Uploader& uploader) const;

  bool has_states() const noexcept { return !states_.empty(); }

 private:
  std::vector<BlockArrayArg> pools_;
  std::vector<SlotArrayArg> states_;
};

/// Rows [first, first + count) of a batch, and how many columns of them.
struct GatherRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t columns = 0;
};

/// gathered[i, 0 .. columns) = table[slot_ids[i], 0 .. columns) for the i of the range.
void gather_rows(const Tensor& table,
                 const Tensor& slot_ids,
                 const Tensor& gathered,
                 const GatherRange& range,
                 Uploader& uploader);

}  // namespace octavo::cache
