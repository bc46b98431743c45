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

// Frees the slot: its cells from the tail on, then its path, then its generation.
void BlockManager::Impl::release(int slot_index) noexcept {
  Slot& slot = slots_[at(slot_index)];
  const BlockId* cells = row(slot_index);
  tree_.acting(slot_index);
  const std::int32_t first_private = std::max(slot.path_blocks, slot.released);
  for (std::int32_t cell = slot.cells; cell-- > first_private;) {
    release_private(slot, cells[cell], cell);
  }
  if (slot.path_blocks > 0) {
    tree_.drop(slot.node);
  }
  if (slot.root != kNoNode) {
    tree_.release_root(slot.root);
  }
  const std::uint32_t batch = slot.batch;
  if (slot.admitted) {
    prompts_.forget(slot_index);
  }
  if (unmatched_ == slot_index) {
    unmatched_ = -1;
  }
  slot = Slot{};
  slot.batch = batch;
  if (auto* order = tree_.order()) {
    order->ended(slot_index);
  }
}

void BlockManager::Impl::evict(int slot_index) {
  (void)checked_slot("evict", slot_index);
  release(slot_index);
  note_levels();
}

void BlockManager::Impl::abandon(int slot_index) {
  (void)checked_slot("abandon", slot_index);
  Slot& slot = slots_[at(slot_index)];
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
  release(slot_index);
  note_levels();
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

}  // namespace octavo
