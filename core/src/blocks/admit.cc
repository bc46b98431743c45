// The begin of a session: its namespace, and the cached prefix that it is served.

#include <algorithm>
#include <string>

#include "blocks/block_manager_impl.h"
#include "octavo/error.h"

namespace octavo {

using blocks::at;
using blocks::Key;
using blocks::kNoBlock;
using blocks::kNoNode;
using blocks::Slot;

namespace {

[[noreturn]] void throw_negative(const char* call, std::int64_t addressable_len) {
  throw Error(ErrorCode::InvalidArgument,
              std::string(call) + ": addressable_len " + std::to_string(addressable_len) +
                  " is negative; it must be a length or kAddressableAll (-1)");
}

}  // namespace

void BlockManager::Impl::throw_in_use(const char* call, int slot) const {
  throw Error(ErrorCode::FailedPrecondition, std::string(call) + ": slot " + std::to_string(slot) +
                                                 " is in use (" +
                                                 std::to_string(slots_[at(slot)].reserved) +
                                                 " tokens reserved); it must be fresh");
}

// No admit may bring such a prompt.
void BlockManager::Impl::throw_prompt(const char* call,
                                      std::int64_t length,
                                      std::int64_t addressable_len) const {
  if (length < 1 || length > row_tokens_) {
    throw_outside(call, "prompt length", length, 1, row_tokens_);
  }
  if (addressable_len < kAddressableAll) {
    throw_negative(call, addressable_len);
  }
  throw Error(ErrorCode::ResourceExhausted,
              std::string(call) + ": a prompt of " + std::to_string(length) + " tokens needs " +
                  std::to_string(blocks_for(length)) + " blocks, the pool has " +
                  std::to_string(config_.num_blocks));
}

void BlockManager::Impl::set_namespace(int slot_index, std::uint64_t namespace_id) {
  Slot& slot = checked_slot("set_namespace", slot_index);
  require_fresh("set_namespace", slot, slot_index);
  const blocks::NodeId root = tree_.acquire_root(namespace_id);
  if (root == kNoNode) {
    throw Error(ErrorCode::ResourceExhausted,
                "set_namespace: more than 2^31 generations of namespaces are in use");
  }
  if (slot.root != kNoNode) {
    tree_.release_root(slot.root);
  }
  slot.root = slot.node = root;
}

// Binds the longest cached prefix of at most `limit` tokens; returns its length.
[[gnu::always_inline]] inline std::int64_t BlockManager::Impl::serve_prefix(
    Slot& slot, int slot_index, std::span<const std::int32_t> prompt, std::int64_t limit) noexcept {
  BlockId* cells = row(slot_index);
  if (auto* order = tree_.order()) {
    order->asked(
        {slot_index, slot.root, prompt.data(), at(slot.enroll_blocks), at(whole_blocks(limit))});
  }
  const auto found =
      tree_.match(slot.root, prompt.data(), static_cast<std::uint32_t>(whole_blocks(limit)), cells);
  unmatched_ = slot_index;
  tree_.hold(found.node);
  slot.node = found.node;
  slot.path_blocks = slot.cells = static_cast<std::int32_t>(found.blocks);
  const std::int64_t whole = tokens_of(slot.path_blocks);
  if (auto* order = tree_.order()) {
    order->acting(slot_index);
    order->admitted({slot_index, {cells, found.blocks}, std::ssize(prompt)});
  }

  const Key* found_key = tree_.longest_key(found.node, prompt.data() + whole, limit - whole);
  if (found_key == nullptr) {
    return whole;
  }
  const Key key = *found_key;  // An eviction below may move the keys of its list.
  if (tree_.can_take_over(found.node, key)) {
    tree_.take_over_leaf(key.leaf, slot_index);
    slot.leaf = key.leaf;
    slot.leaf_cell = slot.path_blocks;
    cells[slot.cells++] = key.block;
    counters_.partial_takeovers.add(1);
  } else {
    // The rows go into a private block, for which anything but their source may be evicted.
    BlockId target = kNoBlock;
    if (pool_.take(&target, 1) == 0) {
      if (tree_.evict(1, &target, key.block) == 0) {
        return whole;  // N12
      }
      counters_.evicted_for_copy.add(1);
    }
    copies_.push_back({key.block, target, key.length});
    cells[slot.cells++] = target;
    counters_.copied_blocks.add(1);
  }
  counters_.partial_hits.add(1);
  return whole + key.length;
}

inline std::int64_t BlockManager::Impl::admit(int slot_index,
                                              std::span<const std::int32_t> prompt,
                                              std::int64_t addressable_len) {
  Slot& slot = checked_slot("admit", slot_index);
  require_fresh("admit", slot, slot_index);
  const std::int64_t length = std::ssize(prompt);
  check_prompt("admit", length, addressable_len);
  const std::int64_t shared = shared_length(addressable_len, length);
  prompts_.make_room(slot_index, prompt.size());

  // Nothing raises from here on.
  copies_.clear();
  activate(slot);
  slot.admitted = true;
  std::int64_t served = 0;
  if (sharing_ && shares(slot)) {
    slot.enroll_blocks = whole_blocks(shared);
    const std::int64_t limit = std::min(length - 1, shared);  // Never a whole prompt.
    served = serve_prefix(slot, slot_index, prompt, limit);
  }
  slot.reserved = slot.committed = static_cast<std::int32_t>(served);
  if (!copies_.empty()) {
    slot.in_flight_end = slot.committed + 1;  // In the copy's target (N9).
  }
  refresh_watermarks(slot);
  // Last, so that the processor does not wait with the lookup above for the copy.
  prompts_.keep(slot_index, prompt, static_cast<std::int32_t>(shared));

  count_admit(length, served, slot.path_blocks);
  note_bound();
  return served;
}

CachedPrefix BlockManager::Impl::cached_prefix(std::span<const std::int32_t> prompt,
                                               std::int64_t addressable_len,
                                               std::uint64_t namespace_id) const {
  const auto length = static_cast<std::int64_t>(prompt.size());
  if (addressable_len < kAddressableAll) {
    throw_negative("cached_prefix", addressable_len);
  }
  if (!sharing_ || length == 0) {
    return {};
  }
  const blocks::NodeId root = tree_.current_root(namespace_id);
  if (root == kNoNode) {
    return {};
  }
  const std::int64_t limit =
      std::min({length - 1, shared_length(addressable_len, length), row_tokens_});
  const auto found =
      tree_.peek(root, prompt.data(), static_cast<std::uint32_t>(whole_blocks(limit)));
  const std::int64_t whole = tokens_of(static_cast<std::int32_t>(found.blocks));
  const Key* key = found.node == kNoNode
                       ? nullptr
                       : tree_.longest_key(found.node, prompt.data() + whole, limit - whole);
  return {whole + (key == nullptr ? 0 : key->length), found.parked};
}

// --- The public face ---

void BlockManager::set_namespace(int slot, std::uint64_t namespace_id) {
  whole("set_namespace", impl_).set_namespace(slot, namespace_id);
}
std::int64_t BlockManager::admit(int slot,
                                 std::span<const std::int32_t> prompt,
                                 std::int64_t addressable_len) {
  return whole("admit", impl_).admit(slot, prompt, addressable_len);
}
CachedPrefix BlockManager::cached_prefix(std::span<const std::int32_t> prompt,
                                         std::int64_t addressable_len,
                                         std::uint64_t namespace_id) const {
  return whole("cached_prefix", impl_).cached_prefix(prompt, addressable_len, namespace_id);
}

}  // namespace octavo
