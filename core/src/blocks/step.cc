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
  if (count < 1) {
    throw_outside(kCall, "query length of sequence " + std::to_string(index), count, 1,
                  row_tokens_);
  }
  if (past < 0 || past > reserved) {
    throw_outside(kCall, "past_len[" + std::to_string(index) + "]", past, 0, reserved);
  }
  throw_growth(kCall, slot, past, count);
}

// A sequence that may rewind.
void BlockManager::Impl::check_past(std::size_t index,
                                    int slot,
                                    std::int64_t count,
                                    std::int64_t past) const {
  if (past < 0 || past > slots_[at(slot)].reserved) {
    throw_sequence(index, slot, count, past);
  }
  if (config_.window > 0) {
    check_rewind("prepare_step", slot, past);
  }
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
void BlockManager::Impl::add_demand(const Slot& slot,
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
  bind_cells(slot, slot_index, cells_needed);
  slot.reserved = from + count;
  slot.in_flight_end = std::max(slot.in_flight_end, slot.reserved);
  slot.stepped = true;
}

// --- The verbs ---

inline void BlockManager::Impl::update_position(int slot_index, std::int64_t new_pos) {
  Slot& slot = checked_slot("update_position", slot_index);
  if (commits_quietly(slot, new_pos)) {
    commit_reserved(slot);
  } else {
    move_position(slot, slot_index, new_pos);
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
    Slot& slot = checked_slot("reserve", slots[i]);
    mark_named("reserve", slot, slots[i]);
    if (n_new[i] < 0) {
      throw_outside("reserve", "n_new[" + std::to_string(i) + "]", n_new[i], 0, row_tokens_);
    }
    if (std::int64_t{slot.reserved} + n_new[i] > row_tokens_) {
      throw_growth("reserve", slots[i], slot.reserved, n_new[i]);
    }
    add_demand(slot, slot.reserved, n_new[i], demand);
  }
  (void)check_available("reserve", demand);
}

void BlockManager::Impl::reserve(std::span<const std::int32_t> slots,
                                 std::span<const std::int32_t> n_new,
                                 std::span<std::int32_t> offsets) {
  check_reserve(slots, n_new, offsets.size());

  copies_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    offsets[i] = slots_[at(slots[i])].reserved;
    commit(slots_[at(slots[i])], slots[i], offsets[i]);
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

// Whether the arrays belong together.
inline void BlockManager::Impl::check_sizes(const StepBatch& batch) {
  if (batch.cu_seqlens_q.size() != batch.size() + 1 || batch.past_lens.size() != batch.size()) {
    throw_step_sizes(batch.cu_seqlens_q.size(), batch.past_lens.size(), batch.size());
  }
  if (batch.cu_seqlens_q[0] != 0) {
    throw_outside("prepare_step", "cu_seqlens_q[0]", batch.cu_seqlens_q[0], 0, 0);
  }
}

// The lengths of a prefill add up to one.
template <class Batch>
void BlockManager::Impl::check_total(const Batch& batch) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::int64_t total = batch.total_count();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    total += batch.past_len(i);
  }
  if (total > kMost) {
    throw_outside("prepare_step", "sum of the lengths after the step", total, 0, kMost);
  }
}

template <class Batch>
[[gnu::always_inline]] inline BlockManager::Impl::StepShape BlockManager::Impl::check_sequences(
    Batch batch) {
  if (Batch::kMany) {
    begin_batch();
  }
  StepDemand demand;
  std::int64_t plain_blocks = 0;
  bool plain = true;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Slot& slot = checked_slot("prepare_step", batch.slot(i));
    const std::int64_t count = batch.count(i);
    const std::int32_t past = batch.past_len(i);
    if (Batch::kMany) {
      mark_named("prepare_step", slot, batch.slot(i));
    }
    if (count < 1 || past + count > row_tokens_) {
      throw_sequence(i, batch.slot(i), count, past);
    }
    if (goes_on_plainly(slot, past)) [[likely]] {
      plain_blocks += std::max(0, blocks_for(past + count) - slot.cells);
    } else {
      check_past(i, batch.slot(i), count, past);
      add_demand(slot, past, static_cast<std::int32_t>(count), demand);
      plain = false;
    }
  }
  demand.blocks += plain_blocks;
  const bool decode = batch.total_count() == std::ssize(batch);  // No count is below 1.
  if (Batch::kMany && !decode) {
    check_total(batch);
  }
  return {decode, plain, check_available("prepare_step", demand)};
}

// A commit of a plain step changes nothing but the slot's own lengths, and the reservation can be
// done in one go with it.
template <class Batch>
[[gnu::always_inline]] inline void BlockManager::Impl::apply_plain(Batch batch) noexcept {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Slot& slot = slots_[at(batch.slot(i))];
    const std::int32_t past = batch.past_len(i);
    const std::int32_t end = past + static_cast<std::int32_t>(batch.count(i));
    bind_cells(slot, batch.slot(i), blocks_for(end));
    slot.committed = past;
    slot.reserved = end;
    slot.in_flight_end = slot.stepped ? end : std::max(slot.in_flight_end, end);
    slot.stepped = true;
  }
}

// All commits first, then all reservations (N16).
template <class Batch>
void BlockManager::Impl::apply_in_order(Batch batch) noexcept {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    commit(slots_[at(batch.slot(i))], batch.slot(i), batch.past_len(i));
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    grow(batch.slot(i), static_cast<std::int32_t>(batch.count(i)));
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    give_up(batch.slot(i), batch.past_len(i));
  }
}

template <class Batch>
[[gnu::always_inline]] inline StepPlan BlockManager::Impl::step(Batch batch) {
  const auto [decode, plain, blocks_left] = check_sequences(batch);

  copies_.clear();
  if (plain) {
    apply_plain(batch);
    note_bound(pool_.num_blocks() - blocks_left);
  } else {
    apply_in_order(batch);
    note_levels();
  }
  std::int32_t* lengths = cu_seqlens_k_.data();
  if (decode) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      lengths[i] = batch.past_len(i) + 1;
    }
    return {{lengths, batch.size()}, true};
  }
  std::int32_t total = lengths[0] = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    total += batch.past_len(i) + static_cast<std::int32_t>(batch.count(i));
    lengths[i + 1] = total;
  }
  return {{lengths, batch.size() + 1}, false};
}

[[gnu::noinline]] StepPlan BlockManager::Impl::step_of_many(const StepBatch& batch) {
  return step(batch);
}

[[gnu::always_inline]] inline StepPlan BlockManager::Impl::prepare_step(const StepBatch& batch) {
  check_sizes(batch);
  return batch.size() == 1
             ? step(blocks::StepOfOne{batch.slot(0), batch.past_len(0), batch.count(0)})
             : step_of_many(batch);
}

inline void BlockManager::Impl::check_step(const StepBatch& batch) {
  check_sizes(batch);
  (void)check_sequences(batch);
}

// --- The public face ---

void BlockManager::reserve(std::span<const std::int32_t> slots,
                           std::span<const std::int32_t> n_new,
                           std::span<std::int32_t> offsets) {
  whole("reserve", impl_).reserve(slots, n_new, offsets);
}
void BlockManager::check_reserve(std::span<const std::int32_t> slots,
                                 std::span<const std::int32_t> n_new) {
  whole("reserve", impl_).check_reserve(slots, n_new, slots.size());
}
void BlockManager::check_step(std::span<const std::int32_t> cu_seqlens_q,
                              std::span<const std::int32_t> past_len,
                              std::span<const std::int32_t> slots) {
  whole("prepare_step", impl_).check_step({cu_seqlens_q, past_len, slots});
}
StepPlan BlockManager::prepare_step(std::span<const std::int32_t> cu_seqlens_q,
                                    std::span<const std::int32_t> past_len,
                                    std::span<const std::int32_t> slots) {
  return whole("prepare_step", impl_).prepare_step({cu_seqlens_q, past_len, slots});
}
void BlockManager::update_position(int slot, std::int64_t new_pos) {
  whole("update_position", impl_).update_position(slot, new_pos);
}

}  // namespace octavo
