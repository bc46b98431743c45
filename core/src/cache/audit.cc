// audit and digest of the host's state. The numbers K-n: core/INVARIANTS.md's second table.

#include <string>

#include "blocks/chain_hash.h"
#include "cache/errors.h"
#include "cache/kv_cache_impl.h"

namespace octavo {

using cache::at;
using cache::refuse;

namespace {

[[noreturn]] void broken(const std::string& what) {
  refuse(ErrorCode::Internal, "audit", what);
}

}  // namespace

// K-1: the lengths are sound (BlockManager::audit, ContinuousSlots::audit).
// K-2: what seq_lens must read is the reserved length.
// K-3: a table row that is not marked dirty is, in the mirror, the block manager's row.
// K-4: a length that is not in the dirty range is what the device holds.
// K-5: cross lengths are in [0, capacity].
// K-6: no ring's written end is before the reserved length.
void KVCache::Impl::audit() const {
  with_slots([](const auto& slots) { slots.audit(); });
  const auto* manager = std::get_if<BlockManager>(&slots_);
  for (int slot = 0; slot < plan().max_seqs; ++slot) {
    const std::string name = "slot " + std::to_string(slot);
    const std::int64_t reserved = reserved_len("audit", slot);
    if (lens_[at(slot)] != reserved) {
      broken("K-2: " + name + " has reserved " + std::to_string(reserved) +
             ", seq_lens would say " + std::to_string(lens_[at(slot)]));
    }
    const bool is_dirty = slot >= dirty_lens_begin_ && slot < dirty_lens_end_;
    if (!is_dirty && !lens_buffer_.holds(slot, lens_[at(slot)])) {
      broken("K-4: " + name + " has another length on the device, and nothing will send it");
    }
    if (rings_.active() && rings_.written_end(slot) < reserved) {
      broken("K-6: " + name + " has a ring that ends at " +
             std::to_string(rings_.written_end(slot)) + ", before " + std::to_string(reserved));
    }
    if (manager != nullptr && table_.known() && !notes_[at(slot)].row_is_dirty &&
        !table_.holds(slot, manager->block_table(slot))) {
      broken("K-3: " + name + " has another table row on the device, and nothing will send it");
    }
  }
  for (const KVRowPlan& row : plan().rows) {
    for (std::int64_t slot = 0; row.cross_index >= 0 && slot < plan().max_seqs; ++slot) {
      const std::int64_t length = cross_lens_[at(row.cross_index * plan().max_seqs + slot)];
      if (length < 0 || length > row.capacity) {
        broken("K-5: slot " + std::to_string(slot) + " has a cross length of " +
               std::to_string(length));
      }
    }
  }
}

std::uint64_t KVCache::Impl::digest() const {
  std::uint64_t state = with_slots([](const auto& slots) { return slots.digest(); });
  const auto add = [&](std::int64_t value) {
    state = blocks::mix(static_cast<std::uint64_t>(value), state);
  };
  for (int slot = 0; slot < plan().max_seqs; ++slot) {
    if (rings_.written_end(slot) != 0) {
      add(slot);
      add(rings_.written_end(slot));
    }
  }
  for (std::int64_t i = 0; i < cross_rows_ * plan().max_seqs; ++i) {
    if (cross_lens_[at(i)] != 0) {
      add(i);
      add(cross_lens_[at(i)]);
    }
  }
  return state;
}

}  // namespace octavo
