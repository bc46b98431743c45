// Steps: commit what is written, seal what is complete, bind blocks for what comes.

#include <algorithm>
#include <limits>
#include <string>

#include "blocks/block_manager_impl.h"
#include "octavo/error.h"

namespace octavo {

using blocks::at;
using blocks::kNoBlock;
using blocks::kNoNode;
using blocks::Slot;

// --- Checks and plans: nothing observable changes ---

void BlockManager::Impl::check_batch(const char* call, std::span<const std::int32_t> slots) {
  // A new number for this batch; after 2^32 batches the old marks are wiped.
  if (++batch_ == 0) {
    for (int i = 0; i < config_.max_seqs; ++i)
      slots_[at(i)].batch = 0;
    batch_ = 1;
  }
  for (const std::int32_t index : slots) {
    if (static_cast<std::uint32_t>(index) >= static_cast<std::uint32_t>(config_.max_seqs)) {
      (void)checked_slot(call, index);
    }
    Slot& slot = slots_[at(index)];
    if (slot.batch == batch_) {
      throw Error(
          ErrorCode::InvalidArgument,
          std::string(call) + ": slot " + std::to_string(index) + " is named twice in the batch");
    }
    slot.batch = batch_;
  }
}

void BlockManager::Impl::check_growth(const char* call,
                                      int slot,
                                      std::int64_t from,
                                      std::int64_t count) const {
  if (from + count <= row_tokens_)
    return;
  throw Error(ErrorCode::InvalidArgument, std::string(call) + ": slot " + std::to_string(slot) +
                                              " would have " + std::to_string(from + count) +
                                              " tokens; a sequence may have at most " +
                                              std::to_string(row_tokens_));
}

void BlockManager::Impl::check_rewind(const char* call,
                                      int slot_index,
                                      std::int64_t position) const {
  const Slot& slot = slots_[at(slot_index)];
  const std::int64_t lowest = std::max<std::int64_t>(0, position - config_.window + 1);
  if (lowest >= tokens_of(slot.released))
    return;
  throw Error(ErrorCode::FailedPrecondition,
              std::string(call) + ": position " + std::to_string(position) + " of slot " +
                  std::to_string(slot_index) + " needs tokens from " + std::to_string(lowest) +
                  " on; its window still holds those from " +
                  std::to_string(tokens_of(slot.released)) + " on");
}

void BlockManager::Impl::check_available(const char* call, const StepDemand& demand) const {
  if (demand.blocks <= free_blocks() + demand.released)
    return;
  throw Error(ErrorCode::ResourceExhausted,
              std::string(call) + ": the step needs " + std::to_string(demand.blocks) +
                  " blocks, " + std::to_string(free_blocks() + demand.released) + " of " +
                  std::to_string(config_.num_blocks) + " are free or parked");
}

std::int32_t BlockManager::Impl::first_in_window(std::int64_t position) const noexcept {
  const std::int64_t first = position - config_.window + 1;
  return first > 0 ? whole_blocks(first) : 0;
}

// What the slot will need after it has committed `position` and grows by `count` from there.
inline void BlockManager::Impl::add_demand(const Slot& slot,
                                           std::int32_t position,
                                           std::int32_t count,
                                           StepDemand& demand) const noexcept {
  const std::int32_t cells_needed = blocks_for(std::int64_t{position} + count);
  if (position < slot.writable_from && count > 0) {
    demand.blocks += rewrite_demand(slot, position, cells_needed);
  } else {
    demand.blocks += std::max(0, cells_needed - slot.cells);
  }
  if (config_.window > 0) {
    demand.released += std::max(0, first_in_window(position) - slot.released);
  }
}

// --- Changes ---

// What update_position does: everything before `position` is written, everything behind it is void.
inline void BlockManager::Impl::commit(int slot_index, std::int32_t position) noexcept {
  Slot& slot = slots_[at(slot_index)];
  if (position < slot.reserved) {
    if (position < slot.prompt_len)
      cut_prompt(slot, position);
    slot.reserved = position;
  } else {
    slot.in_flight_end = position;  // All that was reserved is written (N9).
  }
  slot.committed = position;
  if (position >= slot.seal_at)
    seal_prompt(slot_index);
  if (config_.window > 0)
    release_window(slot_index);
}

// Binds blocks for `count` more tokens. REQUIRES: the pool has them.
inline void BlockManager::Impl::grow(int slot_index, std::int32_t count) noexcept {
  Slot& slot = slots_[at(slot_index)];
  if (!slot.active)
    activate(slot);
  if (count == 0)
    return;
  const std::int32_t from = slot.reserved;
  const std::int32_t cells_needed = blocks_for(std::int64_t{from} + count);
  if (from < slot.writable_from)
    rewrite(slot_index, from, cells_needed);
  if (cells_needed > slot.cells) {
    acquire(row(slot_index) + slot.cells, cells_needed - slot.cells, counters_.evicted_for_step);
    slot.cells = cells_needed;
  }
  slot.reserved = from + count;
  slot.in_flight_end = std::max(slot.in_flight_end, slot.reserved);
}

void BlockManager::Impl::acquire(BlockId* out,
                                 std::int64_t count,
                                 RelaxedCounter& evicted) noexcept {
  const std::int64_t free = pool_.take(out, count);
  if (free == count)
    return;
  evicted.add(tree_.evict(count - free, out + free));
}

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
void BlockManager::Impl::cut_prompt(Slot& slot, std::int32_t position) noexcept {
  slot.prompt_len = position;
  slot.enroll_blocks = std::min(slot.enroll_blocks, whole_blocks(position));
  refresh_watermarks(slot);
}

void BlockManager::Impl::refresh_watermarks(Slot& slot) const noexcept {
  slot.writable_from = tokens_of(slot.path_blocks);
  if (slot.leaf != kNoNode) {
    slot.writable_from =
        std::max(slot.writable_from, tokens_of(slot.leaf_cell) + tree_.leaf_key_length(slot.leaf));
  }
  slot.seal_at =
      slot.path_blocks < slot.enroll_blocks ? tokens_of(slot.path_blocks + 1) : Slot::kNever;
}

// Seals the prompt's blocks that are wholly committed.
void BlockManager::Impl::seal_prompt(int slot_index) noexcept {
  const Slot& slot = slots_[at(slot_index)];
  seal(slot_index, prompts_[at(slot_index)].data(),
       std::min(slot.enroll_blocks, whole_blocks(slot.committed)));
}

// Seals the slot's first `blocks` blocks, which hold `tokens`. Blocks whose node is there already
// are replaced by the canonical ones (D4).
void BlockManager::Impl::seal(int slot_index,
                              const std::int32_t* tokens,
                              std::int32_t blocks) noexcept {
  Slot& slot = slots_[at(slot_index)];
  if (slot.root == kNoNode || tree_.stale(slot.root)) {
    slot.enroll_blocks = 0;
    refresh_watermarks(slot);
    return;
  }
  BlockId* cells = row(slot_index);
  const auto tokens_at = [&](std::int32_t block) {
    return tokens + at(block) * at(config_.block_size);
  };
  const auto found =
      tree_.match(slot.node, tokens_at(slot.path_blocks),
                  static_cast<std::uint32_t>(blocks - slot.path_blocks), scratch_.data());
  if (found.blocks > 0) {
    tree_.hold(found.node);
    tree_.drop(slot.node);
    slot.node = found.node;
    slot.own = kNoNode;
    for (std::uint32_t i = 0; i < found.blocks; ++i) {
      const std::int32_t cell = slot.path_blocks++;
      release_private(slot, cells[cell], cell);
      cells[cell] = scratch_[i];
    }
    counters_.duplicate_blocks.add(found.blocks);
  }
  if (slot.path_blocks < blocks) {
    const std::int32_t count = blocks - slot.path_blocks;
    slot.node = tree_.seal(slot.node, slot.own, tokens_at(slot.path_blocks),
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

// --- The verbs ---

void BlockManager::Impl::update_position(int slot_index, std::int64_t new_pos) {
  const Slot& slot = checked_slot("update_position", slot_index);
  if (new_pos < 0 || new_pos > slot.reserved) {
    throw_outside("update_position", "new_pos", new_pos, 0, slot.reserved);
  }
  if (config_.window > 0)
    check_rewind("update_position", slot_index, new_pos);
  commit(slot_index, static_cast<std::int32_t>(new_pos));
  note_levels();
}

void BlockManager::Impl::check_reserve(std::span<const std::int32_t> slots,
                                       std::span<const std::int32_t> n_new,
                                       std::size_t num_offsets) {
  if (n_new.size() != slots.size() || num_offsets != slots.size()) {
    throw Error(ErrorCode::InvalidArgument, "reserve: " + std::to_string(slots.size()) +
                                                " slots, " + std::to_string(n_new.size()) +
                                                " counts and " + std::to_string(num_offsets) +
                                                " offsets must be as many");
  }
  check_batch("reserve", slots);
  StepDemand demand;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (n_new[i] < 0) {
      throw_outside("reserve", "n_new[" + std::to_string(i) + "]", n_new[i], 0, row_tokens_);
    }
    const Slot& slot = slots_[at(slots[i])];
    check_growth("reserve", slots[i], slot.reserved, n_new[i]);
    add_demand(slot, slot.reserved, n_new[i], demand);
  }
  check_available("reserve", demand);
}

void BlockManager::Impl::reserve(std::span<const std::int32_t> slots,
                                 std::span<const std::int32_t> n_new,
                                 std::span<std::int32_t> offsets) {
  check_reserve(slots, n_new, offsets.size());
  copies_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    offsets[i] = slots_[at(slots[i])].reserved;
    commit(slots[i], offsets[i]);
  }
  for (std::size_t i = 0; i < slots.size(); ++i)
    grow(slots[i], n_new[i]);
  note_levels();
}

bool BlockManager::Impl::check_step(std::span<const std::int32_t> cu_seqlens_q,
                                    std::span<const std::int32_t> past_len,
                                    std::span<const std::int32_t> slots) {
  const std::size_t batch = slots.size();
  if (cu_seqlens_q.size() != batch + 1 || past_len.size() != batch) {
    throw Error(ErrorCode::InvalidArgument,
                "prepare_step: " + std::to_string(batch) + " slots need " +
                    std::to_string(batch + 1) + " cumulative lengths and " + std::to_string(batch) +
                    " past lengths; given are " + std::to_string(cu_seqlens_q.size()) + " and " +
                    std::to_string(past_len.size()));
  }
  if (cu_seqlens_q[0] != 0)
    throw_outside("prepare_step", "cu_seqlens_q[0]", cu_seqlens_q[0], 0, 0);
  check_batch("prepare_step", slots);
  StepDemand demand;
  std::int64_t total_k = 0;
  bool decode = true;
  for (std::size_t i = 0; i < batch; ++i) {
    const Slot& slot = slots_[at(slots[i])];
    const std::int64_t count = std::int64_t{cu_seqlens_q[i + 1]} - cu_seqlens_q[i];
    const std::int32_t past = past_len[i];
    if (count < 1) {
      throw_outside("prepare_step", "query length of sequence " + std::to_string(i), count, 1,
                    row_tokens_);
    }
    if (past < 0 || past > slot.reserved) {
      throw_outside("prepare_step", "past_len[" + std::to_string(i) + "]", past, 0, slot.reserved);
    }
    if (past + count > row_tokens_)
      check_growth("prepare_step", slots[i], past, count);
    if (config_.window > 0)
      check_rewind("prepare_step", slots[i], past);
    total_k += past + count;
    decode = decode && count == 1;
    add_demand(slot, past, static_cast<std::int32_t>(count), demand);
  }
  if (!decode && total_k > std::numeric_limits<std::int32_t>::max()) {
    throw_outside("prepare_step", "sum of the lengths after the step", total_k, 0,
                  std::numeric_limits<std::int32_t>::max());
  }
  check_available("prepare_step", demand);
  return decode;
}

StepPlan BlockManager::Impl::prepare_step(std::span<const std::int32_t> cu_seqlens_q,
                                          std::span<const std::int32_t> past_len,
                                          std::span<const std::int32_t> slots) {
  const bool decode = check_step(cu_seqlens_q, past_len, slots);
  const std::size_t batch = slots.size();
  copies_.clear();
  for (std::size_t i = 0; i < batch; ++i)
    commit(slots[i], past_len[i]);
  std::int32_t sum_k = 0;
  cu_seqlens_k_[0] = 0;
  for (std::size_t i = 0; i < batch; ++i) {
    grow(slots[i], cu_seqlens_q[i + 1] - cu_seqlens_q[i]);
    const std::int32_t length = slots_[at(slots[i])].reserved;
    if (decode) {
      cu_seqlens_k_[i] = length;
    } else {
      cu_seqlens_k_[i + 1] = sum_k += length;
    }
  }
  note_levels();
  return {{cu_seqlens_k_.data(), decode ? batch : batch + 1}, decode};
}

}  // namespace octavo
