#include "cache/continuous_slots.h"

#include <algorithm>
#include <limits>
#include <string>

#include "blocks/chain_hash.h"
#include "cache/errors.h"

namespace octavo::cache {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

void check_addressable(const char* call, std::int64_t addressable_len) {
  if (addressable_len < kAddressableAll) {
    refuse(ErrorCode::InvalidArgument, call,
           "addressable_len " + std::to_string(addressable_len) +
               " is negative; it must be a length or kAddressableAll (-1)");
  }
}

std::int64_t shared_length(std::int64_t addressable_len, std::int64_t length) {
  return addressable_len == kAddressableAll ? length : std::min(addressable_len, length);
}

}  // namespace

ContinuousSlots::ContinuousSlots(int max_seqs, std::int64_t max_tokens_per_seq)
    : max_seqs_(max_seqs),
      row_tokens_(max_tokens_per_seq > 0 ? max_tokens_per_seq : kInt32Max),
      slots_(at(max_seqs), VirtualMemory::Pages::Small, "the slots"),
      prompts_(at(max_seqs)) {}

const ContinuousSlots::Slot& ContinuousSlots::checked(const char* call, int slot) const {
  require_slot(call, slot, max_seqs_);
  return slots_[at(slot)];
}

void ContinuousSlots::require_fresh(const char* call, int slot) const {
  const Slot& state = checked(call, slot);
  if (state.active) {
    refuse(ErrorCode::FailedPrecondition, call,
           "slot " + std::to_string(slot) + " is in use (" + std::to_string(state.reserved) +
               " tokens reserved); it must be fresh");
  }
}

void ContinuousSlots::set_namespace(int slot, std::uint64_t namespace_id) {
  require_fresh("set_namespace", slot);
  slots_[at(slot)].namespace_id = namespace_id;
}

std::int64_t ContinuousSlots::admit(int slot,
                                    std::span<const std::int32_t> prompt,
                                    std::int64_t addressable_len) {
  require_fresh("admit", slot);
  const auto length = static_cast<std::int64_t>(prompt.size());
  if (length < 1 || length > row_tokens_) {
    refuse_outside("admit", "prompt length", length, 1, row_tokens_);
  }
  check_addressable("admit", addressable_len);
  std::vector<std::int32_t>& kept = prompts_[at(slot)];
  if (kept.size() < prompt.size()) {
    kept.resize(std::max(prompt.size(), 2 * kept.size()));
  }

  // Nothing raises from here on.
  std::copy(prompt.begin(), prompt.end(), kept.begin());
  Slot& state = slots_[at(slot)];
  state.active = state.admitted = true;
  state.prompt_len = state.admitted_len = static_cast<std::int32_t>(length);
  state.admitted_shared_len = static_cast<std::int32_t>(shared_length(addressable_len, length));
  return 0;
}

// A new number for this batch; after 2^32 batches the old marks are wiped.
void ContinuousSlots::begin_batch() noexcept {
  if (++batch_ == 0) {
    for (int i = 0; i < max_seqs_; ++i) {
      slots_[at(i)].batch = 0;
    }
    batch_ = 1;
  }
}

void ContinuousSlots::check_step(std::span<const std::int32_t> cu_seqlens_q,
                                 std::span<const std::int32_t> past_len,
                                 std::span<const std::int32_t> slots) {
  constexpr const char* kCall = "prepare_step";
  const std::size_t batch = slots.size();
  if (cu_seqlens_q.size() != batch + 1 || past_len.size() != batch) {
    refuse(ErrorCode::InvalidArgument, kCall,
           "cu_seqlens_q and past_len have " + std::to_string(cu_seqlens_q.size()) + " and " +
               std::to_string(past_len.size()) + " entries; " + std::to_string(batch) +
               " slots need " + std::to_string(batch + 1) + " and " + std::to_string(batch));
  }
  if (cu_seqlens_q[0] != 0) {
    refuse_outside(kCall, "cu_seqlens_q[0]", cu_seqlens_q[0], 0, 0);
  }
  begin_batch();
  for (std::size_t i = 0; i < batch; ++i) {
    (void)checked(kCall, slots[i]);
    Slot& slot = slots_[at(slots[i])];
    if (slot.batch == batch_) {
      refuse(ErrorCode::InvalidArgument, kCall,
             "slot " + std::to_string(slots[i]) + " is named twice in the batch");
    }
    slot.batch = batch_;
    const std::int64_t count = std::int64_t{cu_seqlens_q[i + 1]} - cu_seqlens_q[i];
    if (count < 1) {
      refuse_outside(kCall, "query length of sequence " + std::to_string(i), count, 1, row_tokens_);
    }
    if (past_len[i] < 0 || past_len[i] > slot.reserved) {
      refuse_outside(kCall, "past_len[" + std::to_string(i) + "]", past_len[i], 0, slot.reserved);
    }
    if (past_len[i] + count > row_tokens_) {
      refuse(ErrorCode::InvalidArgument, kCall,
             "slot " + std::to_string(slots[i]) + " would have " +
                 std::to_string(past_len[i] + count) + " tokens; a sequence may have at most " +
                 std::to_string(row_tokens_));
    }
  }
}

void ContinuousSlots::commit(Slot& slot, std::int32_t position) noexcept {
  if (position < slot.reserved) {
    slot.prompt_len = std::min(slot.prompt_len, position);
  }
  slot.reserved = slot.committed = position;
}

void ContinuousSlots::apply_step(std::span<const std::int32_t> cu_seqlens_q,
                                 std::span<const std::int32_t> past_len,
                                 std::span<const std::int32_t> slots) noexcept {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Slot& slot = slots_[at(slots[i])];
    commit(slot, past_len[i]);
    slot.active = true;
    slot.reserved += cu_seqlens_q[i + 1] - cu_seqlens_q[i];
  }
}

void ContinuousSlots::update_position(int slot, std::int64_t new_pos) {
  const Slot& state = checked("update_position", slot);
  if (new_pos < 0 || new_pos > state.reserved) {
    refuse_outside("update_position", "new_pos", new_pos, 0, state.reserved);
  }
  commit(slots_[at(slot)], static_cast<std::int32_t>(new_pos));
}

void ContinuousSlots::check_retire(int slot_index,
                                   std::span<const std::int32_t> history,
                                   std::int64_t addressable_len,
                                   std::span<const std::int64_t> boundaries) const {
  constexpr const char* kCall = "retire";
  const Slot& slot = checked(kCall, slot_index);
  if (!slot.active) {
    refuse(ErrorCode::FailedPrecondition, kCall, "slot " + std::to_string(slot_index) + " is free");
  }
  const auto length = static_cast<std::int64_t>(history.size());
  if (length < slot.committed || length > slot.reserved) {
    refuse_outside(kCall, "history length", length, slot.committed, slot.reserved);
  }
  check_addressable(kCall, addressable_len);
  for (std::size_t i = 0; i < boundaries.size(); ++i) {
    if (boundaries[i] < 0) {
      refuse(ErrorCode::InvalidArgument, kCall,
             "boundaries[" + std::to_string(i) + "] " + std::to_string(boundaries[i]) +
                 " is negative");
    }
  }
  if (!slot.admitted) {
    return;
  }
  const std::int64_t shared = shared_length(addressable_len, slot.admitted_len);
  if (shared != slot.admitted_shared_len) {
    refuse(ErrorCode::InvalidArgument, kCall,
           "addressable_len cuts the admitted prompt at " + std::to_string(shared) +
               "; at admit it was cut at " + std::to_string(slot.admitted_shared_len));
  }
  const std::size_t head = std::min(history.size(), at(slot.prompt_len));
  const std::vector<std::int32_t>& prompt = prompts_[at(slot_index)];
  for (std::size_t i = 0; i < head; ++i) {
    if (history[i] != prompt[i]) {
      refuse(ErrorCode::InvalidArgument, kCall,
             "history[" + std::to_string(i) + "] is " + std::to_string(history[i]) +
                 "; the prompt that slot " + std::to_string(slot_index) +
                 " was admitted with has " + std::to_string(prompt[i]) + " there");
    }
  }
}

void ContinuousSlots::retire(int slot,
                             std::span<const std::int32_t> history,
                             std::int64_t addressable_len,
                             std::span<const std::int64_t> boundaries) {
  check_retire(slot, history, addressable_len, boundaries);
  evict(slot);
}

void ContinuousSlots::note_output(int slot, std::int64_t output_tokens) const {
  if (!checked("note_output", slot).active) {
    refuse(ErrorCode::FailedPrecondition, "note_output",
           "slot " + std::to_string(slot) + " is free");
  }
  if (output_tokens < 0) {
    refuse(ErrorCode::InvalidArgument, "note_output",
           "output_tokens " + std::to_string(output_tokens) + " is negative");
  }
}

CachedPrefix ContinuousSlots::cached_prefix(std::span<const std::int32_t> /*prompt*/,
                                            std::int64_t addressable_len,
                                            std::uint64_t /*namespace_id*/) {
  check_addressable("cached_prefix", addressable_len);
  return {};
}

void ContinuousSlots::evict(int slot) {
  const std::uint32_t batch = checked("evict_batch", slot).batch;
  slots_[at(slot)] = Slot{};
  slots_[at(slot)].batch = batch;
}

void ContinuousSlots::reset() noexcept {
  for (int i = 0; i < max_seqs_; ++i) {
    slots_[at(i)] = Slot{};
  }
}

std::int64_t ContinuousSlots::reserved_len(int slot) const {
  return checked("reserved_len", slot).reserved;
}

std::int64_t ContinuousSlots::committed_len(int slot) const {
  return checked("committed_len", slot).committed;
}

bool ContinuousSlots::is_fresh(int slot) const {
  return !checked("is_fresh", slot).active;
}

void ContinuousSlots::audit() const {
  for (int i = 0; i < max_seqs_; ++i) {
    const Slot& slot = slots_[at(i)];
    const bool lengths = slot.committed >= 0 && slot.committed <= slot.reserved &&
                         slot.reserved <= row_tokens_ && slot.prompt_len >= 0 &&
                         slot.prompt_len <= slot.admitted_len;
    const bool idle = slot.active || (slot.reserved == 0 && !slot.admitted);
    if (!lengths || !idle) {
      refuse(ErrorCode::Internal, "audit",
             "K-1: slot " + std::to_string(i) + " has committed " + std::to_string(slot.committed) +
                 ", reserved " + std::to_string(slot.reserved) + ", prompt " +
                 std::to_string(slot.prompt_len) + (slot.active ? ", active" : ", fresh"));
    }
  }
}

std::uint64_t ContinuousSlots::digest() const {
  std::uint64_t state = 0;
  const auto add = [&](auto value) {
    state = blocks::mix(static_cast<std::uint64_t>(value), state);
  };
  for (int i = 0; i < max_seqs_; ++i) {
    const Slot& slot = slots_[at(i)];
    if (!slot.active && slot.namespace_id == 0) {
      continue;
    }
    add(i);
    add(slot.namespace_id);
    add(slot.reserved);
    add(slot.committed);
    add(slot.admitted_len);
    add(slot.admitted_shared_len);
    add(slot.active);
    add(XXH3_64bits(prompts_[at(i)].data(), at(slot.prompt_len) * sizeof(std::int32_t)));
  }
  return state;
}

}  // namespace octavo::cache
