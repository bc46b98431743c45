// Every way a slot lets go of its blocks, and what brings blocks back to the pool.

#include <algorithm>

#include "blocks/block_manager_impl.h"

namespace octavo {

using blocks::at;
using blocks::kNoNode;
using blocks::Slot;

// A private cell lets its block go: parked when keys name it, else free.
void BlockManager::Impl::release_private(Slot& slot, BlockId block, std::int32_t cell) noexcept {
  if (slot.leaf != kNoNode && slot.leaf_cell == cell) {
    tree_.park_leaf(slot.leaf);
    slot.leaf = kNoNode;
  } else {
    pool_.give(block);
  }
}

void BlockManager::Impl::evict(int slot_index) {
  release(checked_slot("evict", slot_index), slot_index);
}

void BlockManager::Impl::abandon(int slot_index) {
  Slot& slot = checked_slot("abandon", slot_index);
  BlockId* cells = row(slot_index);
  const std::int32_t first =
      std::max({whole_blocks(slot.committed), slot.path_blocks, slot.released});
  const std::int32_t last = std::min(blocks_for(slot.in_flight_end), slot.cells);
  if (slot.in_flight_end > slot.committed && first < last) {
    if (slot.leaf != kNoNode && slot.leaf_cell >= first && slot.leaf_cell < last) {
      tree_.forget_leaf(slot.leaf);
      slot.leaf = kNoNode;
    }
    for (std::int32_t cell = first; cell < last; ++cell) {
      pool_.quarantine(cells[cell]);
    }
    counters_.quarantined_blocks.add(last - first);
    // What stood behind moves up, so that release sees only what it may give back.
    std::copy(cells + last, cells + slot.cells, cells + first);
    slot.cells -= last - first;
  }
  release(slot, slot_index);
}

std::int64_t BlockManager::Impl::release_quarantined() {
  return pool_.release_quarantined();
}

void BlockManager::Impl::invalidate_namespace(std::uint64_t namespace_id) {
  tree_.invalidate(namespace_id);
}

void BlockManager::Impl::reset() {
  slots_.clear(at(config_.max_seqs));
  prompts_.forget_all();
  batch_ = 0;
  unmatched_ = -1;
  pool_.reset();
  tree_.reset();
  copies_.clear();
}

// --- The public face ---

void BlockManager::evict(int slot) {
  whole("evict", impl_).evict(slot);
}
void BlockManager::abandon(int slot) {
  whole("abandon", impl_).abandon(slot);
}
std::int64_t BlockManager::release_quarantined() {
  return whole("release_quarantined", impl_).release_quarantined();
}
void BlockManager::invalidate_namespace(std::uint64_t namespace_id) {
  whole("invalidate_namespace", impl_).invalidate_namespace(namespace_id);
}
void BlockManager::reset() {
  whole("reset", impl_).reset();
}

}  // namespace octavo
