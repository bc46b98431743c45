// What a commit brings about: blocks are sealed, windows give blocks back, a rewind cuts the
// prompt.

#include <algorithm>

#include "blocks/block_manager_impl.h"

namespace octavo {

using blocks::at;
using blocks::kNoBlock;
using blocks::kNoNode;
using blocks::Slot;

void BlockManager::Impl::release_window(int slot_index) noexcept {
  Slot& slot = slots_[at(slot_index)];
  BlockId* cells = row(slot_index);
  const std::int32_t first = first_in_window(slot.committed);
  for (; slot.released < first; ++slot.released) {
    pool_.give(cells[slot.released]);
    cells[slot.released] = kNoBlock;
  }
}

// A rewind into the prompt (N7): what comes after `position` may become something else.
void BlockManager::Impl::cut_prompt(int slot_index, std::int32_t position) noexcept {
  Slot& slot = slots_[at(slot_index)];
  prompts_[slot_index].length = position;
  unmatched_ = -1;
  slot.enroll_blocks = std::min(slot.enroll_blocks, whole_blocks(position));
  refresh_watermarks(slot);
}

// Replaces those of the slot's next blocks, up to the `blocks`-th, whose nodes are there already by
// the canonical ones (D4).
void BlockManager::Impl::bind_canonical(int slot_index,
                                        const std::int32_t* tokens,
                                        std::int32_t blocks) noexcept {
  Slot& slot = slots_[at(slot_index)];
  const auto found = tree_.match(
      slot.node, tokens, static_cast<std::uint32_t>(blocks - slot.path_blocks), scratch_.data());
  if (found.blocks == 0) {
    return;
  }
  tree_.hold(found.node);
  tree_.drop(slot.node);
  slot.node = found.node;
  slot.own = kNoNode;
  BlockId* cells = row(slot_index);
  for (std::uint32_t i = 0; i < found.blocks; ++i) {
    const std::int32_t cell = slot.path_blocks++;
    release_private(slot, cells[cell], cell);
    cells[cell] = scratch_[i];
  }
  counters_.duplicate_blocks.add(found.blocks);
}

// Seals the slot's first `blocks` blocks, which hold `tokens`.
void BlockManager::Impl::seal(Slot& slot,
                              int slot_index,
                              const std::int32_t* tokens,
                              std::int32_t blocks) noexcept {
  if (!shares(slot)) {
    slot.enroll_blocks = 0;
    refresh_watermarks(slot);
    return;
  }
  tree_.acting(slot_index);
  BlockId* cells = row(slot_index);
  const auto tokens_at = [&](std::int32_t block) {
    return tokens + at(block) * at(config_.block_size);
  };
  // What its admit did not find is still not there, as a rule, when the prompt took one step.
  if (unmatched_ != slot_index || !tree_.still_misses(slot.node)) {
    bind_canonical(slot_index, tokens_at(slot.path_blocks), blocks);
  }
  unmatched_ = -1;
  if (slot.path_blocks < blocks) {
    const std::int32_t count = blocks - slot.path_blocks;
    slot.node =
        tree_.seal(slot_index, slot.path_blocks, slot.node, slot.own, tokens_at(slot.path_blocks),
                   cells + slot.path_blocks, static_cast<std::uint32_t>(count));
    slot.own = slot.node;
    if (slot.leaf != kNoNode) {  // It was the first private block.
      tree_.leaf_was_sealed(slot.leaf);
      slot.leaf = kNoNode;
    }
    slot.path_blocks = blocks;
    counters_.sealed_blocks.add(count);
  }
  refresh_watermarks(slot);
}

// Seals the prompt's blocks that are wholly committed.
inline void BlockManager::Impl::seal_prompt(Slot& slot, int slot_index) noexcept {
  seal(slot, slot_index, prompts_[slot_index].tokens,
       std::min(slot.enroll_blocks, whole_blocks(slot.committed)));
}

// A commit that rewinds, seals or moves a window.
void BlockManager::Impl::commit_and_move(Slot& slot,
                                         int slot_index,
                                         std::int32_t position) noexcept {
  if (position < slot.reserved) {
    if (position < prompts_[slot_index].length) {
      cut_prompt(slot_index, position);
    }
    slot.reserved = slot.committed = position;
    slot.stepped = false;
  } else {
    commit_reserved(slot);
  }
  if (position >= slot.seal_at) {
    seal_prompt(slot, slot_index);
  }
  if (config_.window > 0) {
    release_window(slot_index);
  }
}

// An update_position that does the same, or that is not legal.
void BlockManager::Impl::move_position(Slot& slot, int slot_index, std::int64_t new_pos) {
  if (new_pos < 0 || new_pos > slot.reserved) {
    throw_outside("update_position", "new_pos", new_pos, 0, slot.reserved);
  }
  if (config_.window > 0) {
    check_rewind("update_position", slot_index, new_pos);
  }
  const bool moves_blocks = new_pos >= slot.seal_at || config_.window > 0;
  commit_and_move(slot, slot_index, static_cast<std::int32_t>(new_pos));
  if (moves_blocks) {
    note_levels();
  }
}

}  // namespace octavo
