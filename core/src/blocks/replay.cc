// A whole session in one call, for replays.
//
// Under LRU and with whole blocks alone nothing of a session outlasts it but its sealed blocks and
// the order of parking. So its tokens need not be kept for a history to be compared with, its
// lengths not be kept for a step to check, and who ends it need not say again what it was.

#include <algorithm>
#include <string>
#include <utility>

#include "blocks/block_manager_impl.h"
#include "octavo/error.h"

namespace octavo {

using blocks::at;
using blocks::kNoNode;
using blocks::Slot;

// Raises what admit, or a step over what it does not serve, would raise.
inline void BlockManager::Impl::check_replay(int slot_index,
                                             std::span<const std::int32_t> prompt,
                                             std::int64_t addressable_len) const {
  const Slot& slot = checked_slot("replay", slot_index);
  require_fresh("replay", slot, slot_index);
  check_prompt("replay", std::ssize(prompt), addressable_len);
  if (blocks_for(std::ssize(prompt)) > free_blocks()) {
    check_room("replay", slot, prompt, addressable_len);
  }
}

// The pool has fewer blocks than the prompt: what others hold of it needs none.
void BlockManager::Impl::check_room(const char* call,
                                    const Slot& slot,
                                    std::span<const std::int32_t> prompt,
                                    std::int64_t addressable_len) const {
  std::int64_t needed = blocks_for(std::ssize(prompt));
  std::int64_t available = free_blocks();
  const blocks::NodeId root = slot.root != kNoNode ? slot.root : tree_.current_root(0);
  if (sharing_ && root != kNoNode && !tree_.stale(root)) {
    const std::int64_t limit =
        std::min(std::ssize(prompt) - 1, shared_length(addressable_len, std::ssize(prompt)));
    const auto found =
        tree_.peek(root, prompt.data(), static_cast<std::uint32_t>(whole_blocks(limit)));
    needed -= found.blocks;
    available -= found.parked;
  }
  if (needed > available) {
    throw_unavailable(call, needed, available);
  }
}

inline bool BlockManager::Impl::replays_at_once() const noexcept {
  return tree_.order() == nullptr && !config_.partial_keys && config_.window == 0;
}

// REQUIRES: check_replay of the same arguments returned, and replays_at_once().
[[gnu::always_inline]] inline std::int64_t BlockManager::Impl::replay_at_once(
    int slot_index, std::span<const std::int32_t> prompt, std::int64_t addressable_len) noexcept {
  Slot& slot = slots_[at(slot_index)];
  const std::int64_t length = std::ssize(prompt);
  copies_.clear();
  const blocks::NodeId root = slot.root != kNoNode ? slot.root : tree_.acquire_root(0);
  blocks::PrefixTree::Match found{root, 0};
  std::int32_t whole = 0;
  if (sharing_ && !tree_.stale(root)) {
    const std::int64_t shared = shared_length(addressable_len, length);
    whole = whole_blocks(shared);
    const std::int64_t limit = std::min(length - 1, shared);  // Never a whole prompt.
    found = tree_.match(root, prompt.data(), static_cast<std::uint32_t>(whole_blocks(limit)),
                        row(slot_index));
  }
  unmatched_ = slot_index;
  const auto served = static_cast<std::int32_t>(found.blocks);
  const std::int32_t rest = blocks_for(length) - served;
  count_admit(length, tokens_of(served), served);
  if (served == whole && rest <= pool_.freed_count()) [[likely]] {
    // The rest would be taken from the freed blocks and come back to them in the same order.
    const std::int64_t parked = tree_.touch(found.node);
    note_bound(pool_.num_blocks() - free_blocks() + parked + rest);
    tree_.release_root(root);
    slot.root = slot.node = kNoNode;
    unmatched_ = -1;
  } else {
    slot.root = root;
    slot.node = found.node;
    slot.path_blocks = slot.cells = served;
    leave(slot, slot_index, prompt.data(), whole, served + rest);
  }
  return tokens_of(served);
}

// The same for a prompt that leaves something new: its first `whole` blocks are to be sealed, of
// `cells` that it needs. The slot knows what was served.
[[gnu::noinline]] void BlockManager::Impl::leave(Slot& slot,
                                                 int slot_index,
                                                 const std::int32_t* tokens,
                                                 std::int32_t whole,
                                                 std::int32_t cells) noexcept {
  tree_.hold(slot.node);
  bind_cells(slot, slot_index, cells);
  note_bound();
  if (whole > slot.path_blocks && !tree_.still_misses(slot.node)) {
    seal(slot, slot_index, tokens, whole);  // A whole prompt that may be there already.
    release(slot, slot_index);
    return;
  }
  BlockId* row_cells = row(slot_index);
  const std::int32_t count = whole - slot.path_blocks;
  blocks::NodeId end = slot.node;
  if (count > 0) {
    end = tree_.seal(slot_index, slot.path_blocks, slot.node, kNoNode,
                     tokens + at(slot.path_blocks) * at(config_.block_size),
                     row_cells + slot.path_blocks, static_cast<std::uint32_t>(count));
    counters_.sealed_blocks.add(count);
  }
  for (std::int32_t cell = cells; cell-- > whole;) {
    pool_.give(row_cells[cell]);
  }
  tree_.drop(end);
  tree_.release_root(slot.root);
  slot.root = slot.node = kNoNode;
  slot.path_blocks = slot.cells = 0;
  unmatched_ = -1;
  note_parked();
}

// --- The public face ---

std::int64_t BlockManager::replay(int slot,
                                  std::span<const std::int32_t> prompt,
                                  std::int64_t addressable_len,
                                  std::int64_t output_tokens) {
  Impl& impl = whole("replay", impl_);
  impl.check_replay(slot, prompt, addressable_len);
  if (output_tokens < 0) {
    throw Error(ErrorCode::InvalidArgument,
                "replay: output_tokens " + std::to_string(output_tokens) + " is negative");
  }
  if (impl.replays_at_once()) {
    return impl.replay_at_once(slot, prompt, addressable_len);
  }
  const auto served = static_cast<std::int32_t>(admit(slot, prompt, addressable_len));
  note_output(slot, output_tokens);
  const std::int32_t step[] = {0, static_cast<std::int32_t>(std::ssize(prompt)) - served};
  (void)prepare_step(step, {&served, 1}, {&slot, 1});
  retire(slot, prompt, addressable_len);
  return served;
}

}  // namespace octavo
