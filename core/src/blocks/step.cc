// Steps: commit what is written, seal what is complete, bind blocks for what comes.

#include <algorithm>
#include <limits>
#include <string>

#include "blocks/block_manager_impl.h"
#include "octavo/error.h"

namespace octavo {

using blocks::at;
using blocks::Slot;

namespace {

[[noreturn]] void throw_step_sizes(std::size_t ends, std::size_t pasts, std::size_t batch) {
  throw Error(ErrorCode::InvalidArgument,
              "prepare_step: cu_seqlens_q and past_len have " + std::to_string(ends) + " and " +
                  std::to_string(pasts) + " entries; " + std::to_string(batch) + " slots need " +
                  std::to_string(batch + 1) + " and " + std::to_string(batch));
}

}  // namespace

// --- Checks and plans: nothing observable changes ---

// After 2^32 batches the old marks are wiped.
void BlockManager::Impl::forget_batches() noexcept {
  for (int i = 0; i < config_.max_seqs; ++i) {
    slots_[at(i)].batch = 0;
  }
  batch_ = 1;
}

void BlockManager::Impl::throw_twice(const char* call, int slot) const {
  throw Error(ErrorCode::InvalidArgument, std::string(call) + ": slot " + std::to_string(slot) +
                                              " is named twice in the batch");
}

void BlockManager::Impl::throw_sequence(std::size_t index,
                                        int slot,
                                        std::int64_t count,
                                        std::int64_t past) const {
  constexpr const char* kCall = "prepare_step";
  const std::int64_t reserved = slots_[at(slot)].reserved;
  if (slots_[at(slot)].batch == batch_) {
    throw_twice(kCall, slot);
  }
  if (count < 1) {
    throw_outside(kCall, "query length of sequence " + std::to_string(index), count, 1,
                  row_tokens_);
  }
  if (past < 0 || past > reserved) {
    throw_outside(kCall, "past_len[" + std::to_string(index) + "]", past, 0, reserved);
  }
  throw_growth(kCall, slot, past, count);
}

void BlockManager::Impl::throw_growth(const char* call,
                                      int slot,
                                      std::int64_t from,
                                      std::int64_t count) const {
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
  if (lowest >= tokens_of(slot.released)) {
    return;
  }
  throw Error(ErrorCode::FailedPrecondition,
              std::string(call) + ": position " + std::to_string(position) + " of slot " +
                  std::to_string(slot_index) + " needs tokens from " + std::to_string(lowest) +
                  " on; its window still holds those from " +
                  std::to_string(tokens_of(slot.released)) + " on");
}

void BlockManager::Impl::throw_unavailable(const char* call,
                                           std::int64_t needed,
                                           std::int64_t available) const {
  throw Error(ErrorCode::ResourceExhausted,
              std::string(call) + ": the step needs " + std::to_string(needed) + " blocks, " +
                  std::to_string(available) + " of " + std::to_string(config_.num_blocks) +
                  " are free or parked");
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
  demand.plain &= position == slot.reserved && position < slot.seal_at &&
                  position >= slot.writable_from && slot.active;
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
    if (position < prompts_[slot_index].length) {
      cut_prompt(slot_index, position);
    }
    slot.reserved = position;
    slot.stepped = false;
  } else if (slot.stepped) {
    slot.in_flight_end = 0;  // All that was reserved is written (N9).
  }
  slot.committed = position;
  if (position >= slot.seal_at) {
    seal_prompt(slot_index);
  }
  if (config_.window > 0) {
    release_window(slot_index);
  }
}

inline void BlockManager::Impl::bind_cells(int slot_index, std::int32_t cells_needed) noexcept {
  Slot& slot = slots_[at(slot_index)];
  if (cells_needed > slot.cells) {
    acquire(row(slot_index) + slot.cells, cells_needed - slot.cells, counters_.evicted_for_step);
    slot.cells = cells_needed;
  }
}

// Binds blocks for `count` more tokens. REQUIRES: the pool has them.
inline void BlockManager::Impl::grow(int slot_index, std::int32_t count) noexcept {
  Slot& slot = slots_[at(slot_index)];
  if (!slot.active) {
    activate(slot);
  }
  if (count == 0) {
    return;
  }
  const std::int32_t from = slot.reserved;
  const std::int32_t cells_needed = blocks_for(std::int64_t{from} + count);
  if (from < slot.writable_from) {
    rewrite(slot_index, from, cells_needed);
  }
  bind_cells(slot_index, cells_needed);
  slot.reserved = from + count;
  slot.in_flight_end = std::max(slot.in_flight_end, slot.reserved);
  slot.stepped = true;
}

// --- The verbs ---

void BlockManager::Impl::update_position(int slot_index, std::int64_t new_pos) {
  const Slot& slot = checked_slot("update_position", slot_index);
  if (new_pos < 0 || new_pos > slot.reserved) {
    throw_outside("update_position", "new_pos", new_pos, 0, slot.reserved);
  }
  if (config_.window > 0) {
    check_rewind("update_position", slot_index, new_pos);
  }
  const bool moves_blocks = new_pos >= slot.seal_at || config_.window > 0;
  commit(slot_index, static_cast<std::int32_t>(new_pos));
  if (moves_blocks) {
    note_levels();
  }
}

void BlockManager::Impl::check_reserve(std::span<const std::int32_t> slots,
                                       std::span<const std::int32_t> n_new,
                                       std::size_t num_offsets) {
  if (n_new.size() != slots.size() || num_offsets != slots.size()) {
    throw Error(ErrorCode::InvalidArgument,
                "reserve: slots, n_new and offsets have " + std::to_string(slots.size()) + ", " +
                    std::to_string(n_new.size()) + " and " + std::to_string(num_offsets) +
                    " entries; they must have as many");
  }
  begin_batch();
  StepDemand demand;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    (void)checked_slot("reserve", slots[i]);
    Slot& slot = slots_[at(slots[i])];
    if (slot.batch == batch_) {
      throw_twice("reserve", slots[i]);
    }
    slot.batch = batch_;
    if (n_new[i] < 0) {
      throw_outside("reserve", "n_new[" + std::to_string(i) + "]", n_new[i], 0, row_tokens_);
    }
    if (std::int64_t{slot.reserved} + n_new[i] > row_tokens_) {
      throw_growth("reserve", slots[i], slot.reserved, n_new[i]);
    }
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
  for (std::size_t i = 0; i < slots.size(); ++i) {
    grow(slots[i], n_new[i]);
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (n_new[i] > 0) {
      give_up(slots[i], offsets[i]);
    }
  }
  note_levels();
}

BlockManager::Impl::StepShape BlockManager::Impl::check_step(
    std::span<const std::int32_t> cu_seqlens_q,
    std::span<const std::int32_t> past_len,
    std::span<const std::int32_t> slots) {
  const std::size_t batch = slots.size();
  if (cu_seqlens_q.size() != batch + 1 || past_len.size() != batch) {
    throw_step_sizes(cu_seqlens_q.size(), past_len.size(), batch);
  }
  if (cu_seqlens_q[0] != 0) {
    throw_outside("prepare_step", "cu_seqlens_q[0]", cu_seqlens_q[0], 0, 0);
  }
  begin_batch();
  StepDemand demand;
  demand.plain = config_.window == 0;
  std::int64_t total_k = 0;
  bool decode = true;
  for (std::size_t i = 0; i < batch; ++i) {
    (void)checked_slot("prepare_step", slots[i]);
    Slot& slot = slots_[at(slots[i])];
    const std::int64_t count = std::int64_t{cu_seqlens_q[i + 1]} - cu_seqlens_q[i];
    const std::int32_t past = past_len[i];
    if (slot.batch == batch_ || count < 1 || past < 0 || past > slot.reserved ||
        past + count > row_tokens_) {
      throw_sequence(i, slots[i], count, past);
    }
    slot.batch = batch_;
    if (config_.window > 0) {
      check_rewind("prepare_step", slots[i], past);
    }
    total_k += past + count;
    decode = decode && count == 1;
    add_demand(slot, past, static_cast<std::int32_t>(count), demand);
  }
  if (!decode && total_k > std::numeric_limits<std::int32_t>::max()) {
    throw_outside("prepare_step", "sum of the lengths after the step", total_k, 0,
                  std::numeric_limits<std::int32_t>::max());
  }
  check_available("prepare_step", demand);
  return {decode, demand.plain};
}

StepPlan BlockManager::Impl::prepare_step(std::span<const std::int32_t> cu_seqlens_q,
                                          std::span<const std::int32_t> past_len,
                                          std::span<const std::int32_t> slots) {
  const auto [decode, plain] = check_step(cu_seqlens_q, past_len, slots);
  const std::size_t batch = slots.size();

  copies_.clear();
  apply_step(cu_seqlens_q, past_len, slots, plain);
  if (decode) {
    std::transform(past_len.begin(), past_len.end(), cu_seqlens_k_.data(),
                   [](std::int32_t past) { return past + 1; });
  } else {
    cu_seqlens_k_[0] = 0;
    for (std::size_t i = 0; i < batch; ++i) {
      cu_seqlens_k_[i + 1] = cu_seqlens_k_[i] + past_len[i] + cu_seqlens_q[i + 1] - cu_seqlens_q[i];
    }
  }
  note_levels();
  return {{cu_seqlens_k_.data(), decode ? batch : batch + 1}, decode};
}

// All commits first, then all reservations (N16). In a plain step a commit changes nothing but the
// slot's own lengths, and both are done in one go.
void BlockManager::Impl::apply_step(std::span<const std::int32_t> cu_seqlens_q,
                                    std::span<const std::int32_t> past_len,
                                    std::span<const std::int32_t> slots,
                                    bool plain) noexcept {
  if (plain) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      Slot& slot = slots_[at(slots[i])];
      const std::int32_t end = past_len[i] + cu_seqlens_q[i + 1] - cu_seqlens_q[i];
      bind_cells(slots[i], blocks_for(end));
      slot.committed = past_len[i];
      slot.reserved = end;
      slot.in_flight_end = slot.stepped ? end : std::max(slot.in_flight_end, end);
      slot.stepped = true;
    }
    return;
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    commit(slots[i], past_len[i]);
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    grow(slots[i], cu_seqlens_q[i + 1] - cu_seqlens_q[i]);
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    give_up(slots[i], past_len[i]);
  }
}

}  // namespace octavo
