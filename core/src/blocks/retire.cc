// The good end of a session: its history stays servable.

#include <algorithm>
#include <cstring>
#include <string>

#include "blocks/block_manager_impl.h"
#include "octavo/error.h"

namespace octavo {

using blocks::at;
using blocks::kNoNode;
using blocks::Slot;

namespace {

[[noreturn]] void throw_free(const char* call, int slot) {
  throw Error(ErrorCode::FailedPrecondition,
              std::string(call) + ": slot " + std::to_string(slot) + " is free");
}

[[noreturn]] void throw_addressable(std::int64_t addressable_len) {
  throw Error(ErrorCode::InvalidArgument,
              "retire: addressable_len " + std::to_string(addressable_len) +
                  " is negative; it must be a length or kAddressableAll (-1)");
}

[[noreturn]] void throw_boundary(std::size_t index, std::int64_t boundary) {
  throw Error(ErrorCode::InvalidArgument, "retire: boundaries[" + std::to_string(index) + "] " +
                                              std::to_string(boundary) + " is negative");
}

[[noreturn]] void throw_other_cut(std::int64_t shared, std::int64_t admitted) {
  throw Error(ErrorCode::InvalidArgument, "retire: addressable_len cuts the admitted prompt at " +
                                              std::to_string(shared) + "; at admit it was cut at " +
                                              std::to_string(admitted));
}

}  // namespace

void BlockManager::Impl::throw_head(int slot_index, const std::int32_t* history) const {
  const std::int32_t* prompt = prompts_[slot_index].tokens;
  std::size_t position = 0;
  while (history[position] == prompt[position]) {
    ++position;
  }
  throw Error(ErrorCode::InvalidArgument,
              "retire: history[" + std::to_string(position) + "] is " +
                  std::to_string(history[position]) + "; the prompt that slot " +
                  std::to_string(slot_index) + " was admitted with has " +
                  std::to_string(prompt[position]) + " there");
}

inline void BlockManager::Impl::check_retire(const Slot& slot,
                                             int slot_index,
                                             std::span<const std::int32_t> history,
                                             std::int64_t addressable_len,
                                             std::span<const std::int64_t> boundaries) const {
  if (!slot.active) {
    throw_free("retire", slot_index);
  }
  const auto length = static_cast<std::int64_t>(history.size());
  if (length < slot.committed || length > slot.reserved) {
    throw_outside("retire", "history length", length, slot.committed, slot.reserved);
  }
  if (config_.window > 0) {
    check_rewind("retire", slot_index, length);
  }
  if (addressable_len < kAddressableAll) {
    throw_addressable(addressable_len);
  }
  for (std::size_t i = 0; i < boundaries.size(); ++i) {
    if (boundaries[i] < 0) {
      throw_boundary(i, boundaries[i]);
    }
  }
  if (!slot.admitted) {
    return;
  }
  const blocks::AdmittedPrompt& prompt = prompts_[slot_index];
  const std::int64_t shared = shared_length(addressable_len, prompt.admitted_length);
  if (shared != prompt.admitted_shared) {
    throw_other_cut(shared, prompt.admitted_shared);
  }
  // The head of the history must be the admitted prompt, as far as both go.
  const std::size_t head = std::min(history.size(), at(prompt.length));
  if (head > 0 && std::memcmp(history.data(), prompt.tokens, head * sizeof *prompt.tokens) != 0) {
    throw_head(slot_index, history.data());
  }
}

[[gnu::always_inline]] inline void BlockManager::Impl::retire(
    int slot_index,
    std::span<const std::int32_t> history,
    std::int64_t addressable_len,
    std::span<const std::int64_t> boundaries) {
  Slot& slot = checked_slot("retire", slot_index);
  check_retire(slot, slot_index, history, addressable_len, boundaries);

  if (auto* order = tree_.order()) {
    order->retiring(slot_index, std::max<std::int64_t>(
                                    0, std::ssize(history) - prompts_[slot_index].admitted_length));
  }
  if (sharing_ && shares(slot)) {
    const std::int64_t shared = shared_length(addressable_len, std::ssize(history));
    const std::int32_t shared_blocks = whole_blocks(shared);
    if (shared_blocks > slot.path_blocks) {
      seal(slot, slot_index, history.data(), shared_blocks);
    }
    if (config_.partial_keys) {
      name_keys(slot_index, history.data(), shared, boundaries);
    }
  }
  release(slot, slot_index);
}

void BlockManager::Impl::note_output(int slot_index, std::int64_t output_tokens) {
  if (!checked_slot("note_output", slot_index).active) {
    throw_free("note_output", slot_index);
  }
  if (output_tokens < 0) {
    throw Error(ErrorCode::InvalidArgument,
                "note_output: output_tokens " + std::to_string(output_tokens) + " is negative");
  }
  if (auto* order = tree_.order()) {
    order->noted_output(slot_index, output_tokens);
  }
}

// Names the boundaries within the shared length, and the trailing partial block at its end.
void BlockManager::Impl::name_keys(int slot_index,
                                   const std::int32_t* history,
                                   std::int64_t shared,
                                   std::span<const std::int64_t> boundaries) noexcept {
  for (const std::int64_t boundary : boundaries) {
    if (boundary <= shared) {
      name_boundary(slot_index, history, boundary);
    }
  }
  name_boundary(slot_index, history, shared);
}

// Names the key that ends at `length`, if that is inside a block. All blocks before it are sealed.
void BlockManager::Impl::name_boundary(int slot_index,
                                       const std::int32_t* history,
                                       std::int64_t length) noexcept {
  const std::int32_t block_index = whole_blocks(length);
  const std::int32_t begin = tokens_of(block_index);
  const auto key_length = static_cast<std::int32_t>(length - begin);
  if (key_length == 0) {
    return;
  }
  Slot& slot = slots_[at(slot_index)];
  const blocks::NodeId parent =
      tree_.ancestor(slot.node, static_cast<std::uint32_t>(slot.path_blocks),
                     static_cast<std::uint32_t>(block_index));
  const BlockId block = row(slot_index)[block_index];
  const bool sealed = block_index < slot.path_blocks;
  if (!sealed) {
    tree_.tokens().write(block, history + begin, at(key_length));
  }

  blocks::NodeId leaf = sealed ? kNoNode : slot.leaf;
  const auto displaced =
      tree_.name_key(parent, {block, key_length, kNoNode}, sealed ? -1 : slot_index, leaf);
  if (!sealed) {
    slot.leaf = leaf;
    slot.leaf_cell = block_index;
  }
  if (displaced.any) {
    counters_.dropped_keys.add(1);
  }
  if (displaced.freed != blocks::kNoBlock) {
    pool_.give(displaced.freed);
  }
  if (displaced.slot >= 0) {
    Slot& holder = slots_[at(displaced.slot)];
    holder.leaf = kNoNode;
    refresh_watermarks(holder);
  }
}

// --- The public face ---

void BlockManager::retire(int slot,
                          std::span<const std::int32_t> history,
                          std::int64_t addressable_len,
                          std::span<const std::int64_t> boundaries) {
  whole("retire", impl_).retire(slot, history, addressable_len, boundaries);
}
void BlockManager::note_output(int slot, std::int64_t output_tokens) {
  whole("note_output", impl_).note_output(slot, output_tokens);
}

}  // namespace octavo
