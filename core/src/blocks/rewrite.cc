// Writes after a rewind (D14, N8): a step never writes a row that a key or another slot covers.

#include <algorithm>

#include "blocks/block_manager_impl.h"

namespace octavo {

using blocks::at;
using blocks::kNoNode;
using blocks::Slot;

// Whether a write from position `from` on would touch rows of the taken-over block that keys name.
bool BlockManager::Impl::must_give_up_leaf(const Slot& slot, std::int32_t from) const noexcept {
  if (slot.leaf == kNoNode || slot.leaf_cell < whole_blocks(from)) {
    return false;
  }
  return tokens_of(slot.leaf_cell) + tree_.leaf_key_length(slot.leaf) > from;
}

// New blocks for a write from `from` on, once the private cells behind it have moved up.
std::int32_t BlockManager::Impl::rewrite_demand(const Slot& slot,
                                                std::int32_t from,
                                                std::int32_t cells_needed) const noexcept {
  const std::int32_t first = whole_blocks(from);
  const std::int32_t kept =
      slot.cells - std::max(slot.path_blocks, first) - (must_give_up_leaf(slot, from) ? 1 : 0);
  return std::max(0, cells_needed - first - kept);
}

// Makes every cell from `from` on private and unnamed, and binds at least `cells_needed` cells.
// REQUIRES: the pool has rewrite_demand blocks.
void BlockManager::Impl::rewrite(int slot_index,
                                 std::int32_t from,
                                 std::int32_t cells_needed) noexcept {
  Slot& slot = slots_[at(slot_index)];
  BlockId* cells = row(slot_index);
  const std::int32_t first = whole_blocks(from);
  const std::int32_t kept_rows = from - tokens_of(first);
  const bool give_up_leaf = must_give_up_leaf(slot, from);
  if (slot.path_blocks <= first && !give_up_leaf) {
    refresh_watermarks(slot);  // A key that stood in the way was displaced meanwhile.
    return;
  }
  const bool first_goes = first < slot.path_blocks || (give_up_leaf && slot.leaf_cell == first);
  const BlockId source = cells[first];

  // New blocks first, then the private cells in order: scratch = [private..., new...].
  const std::int32_t missing = rewrite_demand(slot, from, cells_needed);
  std::int32_t kept = 0;
  for (std::int32_t cell = std::max(slot.path_blocks, first); cell < slot.cells; ++cell) {
    if (!(give_up_leaf && cell == slot.leaf_cell)) {
      scratch_[at(kept++)] = cells[cell];
    }
  }
  acquire(scratch_.data() + kept, missing, counters_.evicted_for_step);

  if (first_goes && kept_rows > 0) {
    // The last private block, or the first new one, takes the rows in front of the write.
    const std::int32_t target = kept > 0 ? kept - 1 : 0;
    std::rotate(scratch_.data(), scratch_.data() + target, scratch_.data() + target + 1);
    copies_.push_back({source, scratch_[0], kept_rows});
    counters_.copied_blocks.add(1);
  }

  std::copy_n(scratch_.data(), kept + missing, cells + first);
  slot.cells = first + kept + missing;
}

// Parks what rewrite replaced, tail first. Only when the whole batch has its blocks: whatever the
// policy, no other slot of the step may then be given the source of a copy that is still to be made
// (N64).
void BlockManager::Impl::give_up(int slot_index, std::int32_t from) noexcept {
  Slot& slot = slots_[at(slot_index)];
  const std::int32_t first = whole_blocks(from);
  const bool give_up_leaf = must_give_up_leaf(slot, from);
  if (slot.path_blocks <= first && !give_up_leaf) {
    return;
  }
  tree_.acting(slot_index);
  if (give_up_leaf) {
    tree_.park_leaf(slot.leaf);
    slot.leaf = kNoNode;
  }
  if (first < slot.path_blocks) {
    const blocks::NodeId kept_node = tree_.ancestor(
        slot.node, static_cast<std::uint32_t>(slot.path_blocks), static_cast<std::uint32_t>(first));
    tree_.hold(kept_node);
    tree_.drop(slot.node);
    slot.node = kept_node;
    slot.own = kNoNode;
    slot.path_blocks = first;
  }
  refresh_watermarks(slot);
}

}  // namespace octavo
