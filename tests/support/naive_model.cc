#include "naive_model.h"

#include <algorithm>
#include <utility>

#include "naive_model_internal.h"

namespace octavo::testkit {
namespace {

constexpr std::size_t kKeysPerParentMax = 4;

}  // namespace

NaiveModel::NaiveModel(const BlockManagerConfig& config)
    : config_(config),
      slots_(static_cast<std::size_t>(config.max_seqs)),
      order_(config),
      unused_(config.num_blocks) {
  std::int64_t cells = config.max_blocks_per_seq;
  if (cells == 0) {
    cells = config.max_tokens_per_seq > 0 ? blocks_for(config.max_tokens_per_seq, config.block_size)
                                          : config.num_blocks;
  }
  row_tokens_ = cells * config.block_size;
  if (config.max_tokens_per_seq > 0) {
    row_tokens_ = std::min(row_tokens_, config.max_tokens_per_seq);
  }
}

// --- Small questions ---

std::uint64_t NaiveModel::generation_of(std::uint64_t space) const {
  const auto found = generations_.find(space);
  return found == generations_.end() ? 0 : found->second;
}

bool NaiveModel::stale(const ModelSlot& slot) const {
  return slot.generation && *slot.generation != generation_of(slot.space);
}

bool NaiveModel::sealed(Block block) const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [&](const auto& node) { return node.second == block; });
}

int NaiveModel::holders(Block block) const {
  std::ptrdiff_t count = 0;
  for (const ModelSlot& slot : slots_) {
    count += std::count(slot.cells.begin(), slot.cells.end(), block);
  }
  return static_cast<int>(count);
}

std::int64_t NaiveModel::key_length(Block block) const {
  std::int64_t longest = 0;
  for (const auto& [parent, keys] : keys_) {
    for (const PartialKey& key : keys) {
      if (key.owner == block) {
        longest = std::max(longest, std::ssize(key.tail));
      }
    }
  }
  return longest;
}

Prefix NaiveModel::prefix(const ModelSlot& slot, Ids tokens, std::int64_t length) const {
  const Ids head = tokens.first(static_cast<std::size_t>(length));
  return {slot.space, slot.generation.value(), Tokens(head.begin(), head.end())};
}

/// The longest key under `parent` that `rest` begins with and that is no longer than `limit`.
std::optional<PartialKey> NaiveModel::best_key(const Prefix& parent,
                                               Ids rest,
                                               std::int64_t limit) const {
  std::optional<PartialKey> best;
  const auto found = keys_.find(parent);
  if (found == keys_.end()) {
    return best;
  }
  for (const PartialKey& key : found->second) {
    if (std::ssize(key.tail) <= limit && starts_with(rest, key.tail) &&
        (!best || key.tail.size() > best->tail.size())) {
      best = key;
    }
  }
  return best;
}

// --- Blocks ---

/// Parked, and nothing continues it.
bool NaiveModel::may_leave(Block block) const {
  if (std::count(parked_.begin(), parked_.end(), block) == 0) {
    return false;
  }
  const auto own = std::find_if(nodes_.begin(), nodes_.end(),
                                [&](const auto& node) { return node.second == block; });
  if (own == nodes_.end()) {
    return true;  // A leaf.
  }
  const Prefix& prefix = own->first;
  const auto size = std::ssize(prefix.tokens) + config_.block_size;
  return !keys_.contains(prefix) &&
         std::none_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
           return node.first.space == prefix.space && node.first.generation == prefix.generation &&
                  std::ssize(node.first.tokens) == size &&
                  starts_with(node.first.tokens, prefix.tokens);
         });
}

/// Under Lru the least recently parked one that is not `spared`; kNoBlock without one.
Block NaiveModel::next_victim(Block spared) {
  if (ordered()) {
    return order_.victim(leaves(), spared);
  }
  const auto found =
      std::find_if(parked_.begin(), parked_.end(), [&](Block block) { return block != spared; });
  return found == parked_.end() ? kNoBlock : *found;
}

/// An unused block, else the policy's next one that is not `spared`; kNoBlock without one.
Block NaiveModel::take(Use use, Block spared) {
  if (unused_ > 0) {
    --unused_;
    return ++last_block_;
  }
  const bool spares = !parked_.empty() && parked_.front() == spared;
  const Block victim = next_victim(spared);
  if (victim == kNoBlock) {
    return kNoBlock;
  }
  mark(Branch::Evicted);
  mark(Branch::SourceSpared, spares);
  unpark(victim);
  forget(victim);
  order_.refresh(leaves());
  (use == Use::Copy ? stats_.evicted_for_copy : stats_.evicted_for_step) += 1;
  return ++last_block_;  // Its place in the pool, another content: another block.
}

void NaiveModel::unpark(Block block) {
  std::erase(parked_, block);
}

/// Removes everything that names the block.
void NaiveModel::forget(Block block) {
  std::erase_if(nodes_, [&](const auto& node) { return node.second == block; });
  for (auto& [parent, keys] : keys_) {
    std::erase_if(keys, [&](const PartialKey& key) { return key.owner == block; });
  }
  std::erase_if(keys_, [](const auto& entry) { return entry.second.empty(); });
}

/// A cell or a key has stopped naming the block: park it or take it back, if nobody holds it.
void NaiveModel::let_go(Block block) {
  if (block == kNoBlock || holders(block) > 0) {
    return;
  }
  const bool was_parked = std::count(parked_.begin(), parked_.end(), block) > 0;
  if (sealed(block) || key_length(block) > 0) {
    if (!was_parked) {
      parked_.push_back(block);
      if (ordered()) {
        order_.park(block);
        order_.refresh(leaves());
      }
    }
    return;
  }
  unpark(block);
  order_.forget(block);
  ++unused_;
}

/// Ends the session; its blocks go tail first.
void NaiveModel::release(int slot) {
  ModelSlot& ended = slots_[static_cast<std::size_t>(slot)];
  act(ended);
  std::vector<Block> cells = std::move(ended.cells);
  ended = ModelSlot{};
  std::for_each(cells.rbegin(), cells.rend(), [&](Block block) { let_go(block); });
  order_.ended(slot);
}

/// What happens next is the slot's doing.
void NaiveModel::act(const ModelSlot& slot) {
  order_.acting(static_cast<int>(&slot - slots_.data()));
}

void NaiveModel::note_high_water() {
  std::set<Block> bound;
  for (const ModelSlot& slot : slots_) {
    bound.insert(slot.cells.begin(), slot.cells.end());
  }
  bound.erase(kNoBlock);
  stats_.bound_blocks_max = std::max(stats_.bound_blocks_max, std::ssize(bound));
  stats_.parked_blocks_max = std::max(stats_.parked_blocks_max, std::ssize(parked_));
}

// --- admit ---

ModelSlot& NaiveModel::open(int slot) {
  ModelSlot& opened = slots_[static_cast<std::size_t>(slot)];
  opened.fresh = false;
  if (!opened.generation) {
    opened.generation = generation_of(opened.space);
  }
  return opened;
}

void NaiveModel::set_namespace(int slot, std::uint64_t namespace_id) {
  Checks checks;
  if (checks.require(has(slot))) {
    checks.require(slots_[static_cast<std::size_t>(slot)].fresh, ErrorCode::FailedPrecondition);
  }
  checks.done();
  ModelSlot& named = slots_[static_cast<std::size_t>(slot)];
  named.space = namespace_id;
  named.generation = generation_of(namespace_id);
}

std::int64_t NaiveModel::admit(int slot, Ids prompt, std::int64_t addressable_len) {
  const std::int64_t length = std::ssize(prompt);
  Checks checks;
  if (checks.require(has(slot))) {
    checks.require(slots_[static_cast<std::size_t>(slot)].fresh, ErrorCode::FailedPrecondition);
  }
  checks.require(length > 0 && length <= row_tokens_);
  checks.require(addressable_len >= kAddressableAll);
  checks.done();
  if (config_.window == 0 && blocks_for(length, config_.block_size) > config_.num_blocks) {
    throw Refusal{{ErrorCode::ResourceExhausted}};
  }
  copies_.clear();
  ModelSlot& s = open(slot);
  s.prompt.assign(prompt.begin(), prompt.end());
  s.prompt_length = length;
  s.addressable = addressable_len < 0 ? length : std::min(addressable_len, length);
  s.enrolled_blocks = s.addressable / config_.block_size;
  mark(Branch::StaleAdmitted, stale(s));
  if (sharing() && !stale(s)) {
    bind_cached(s, prompt);
  }
  s.committed = s.reserved;
  stats_.admits += 1;
  stats_.prompt_tokens += length;
  stats_.hit_tokens += s.reserved;
  stats_.hit_blocks += s.reserved / config_.block_size;
  stats_.missed_blocks += length / config_.block_size - s.reserved / config_.block_size;
  note_high_water();
  return s.reserved;
}

/// Binds the longest cached prefix and sets the reserved length to its tokens.
void NaiveModel::bind_cached(ModelSlot& slot, Ids prompt) {
  const std::int64_t limit = std::min(slot.addressable, std::ssize(prompt) - 1);
  while (slot.reserved + config_.block_size <= limit) {
    const auto node = nodes_.find(prefix(slot, prompt, slot.reserved + config_.block_size));
    if (node == nodes_.end()) {
      break;
    }
    unpark(node->second);
    slot.cells.push_back(node->second);
    slot.reserved += config_.block_size;
  }
  if (ordered()) {
    std::for_each(slot.cells.rbegin(), slot.cells.rend(), [&](Block b) { order_.serve(b); });
  }
  mark(Branch::AddressableCut, slot.addressable < slot.prompt_length &&
                                   slot.reserved + config_.block_size > slot.addressable);
  const Ids rest = prompt.subspan(static_cast<std::size_t>(slot.reserved));
  const auto key = best_key(prefix(slot, prompt, slot.reserved), rest, limit - slot.reserved);
  if (key) {
    bind_partial(slot, *key);
  }
}

/// Takes the key's block over, or copies its rows; without a block to copy to it does nothing.
void NaiveModel::bind_partial(ModelSlot& slot, const PartialKey& key) {
  const std::int64_t rows = std::ssize(key.tail);
  Block bound = key.owner;
  if (holders(key.owner) == 0 && !sealed(key.owner) && key_length(key.owner) <= rows) {
    unpark(key.owner);
    if (ordered()) {
      order_.serve(key.owner);
    }
    stats_.partial_takeovers += 1;
    mark(Branch::TakenOver);
  } else {
    mark(Branch::CopiedFromLive, holders(key.owner) > 0 && !sealed(key.owner));
    bound = take(Use::Copy, key.owner);
    if (bound == kNoBlock) {
      mark(Branch::CopyDropped);
      return;
    }
    mark(Branch::CopiedOnAdmit);
    copies_.push_back({key.owner, bound, rows});
    stats_.copied_blocks += 1;
  }
  slot.cells.push_back(bound);
  slot.reserved += rows;
  if (bound != key.owner) {
    slot.in_flight_end = slot.reserved + 1;  // A device may be writing the copy.
  }
  stats_.partial_hits += 1;
}

// --- Ends ---

/// Names the partial block of the history that ends at `length`, the latest under its parent.
void NaiveModel::name(const ModelSlot& slot, Ids history, std::int64_t length) {
  const std::int64_t start = length / config_.block_size * config_.block_size;
  const Ids tail =
      history.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(length - start));
  std::vector<PartialKey>& keys = keys_[prefix(slot, history, start)];
  PartialKey key{Tokens(tail.begin(), tail.end()),
                 slot.cells[static_cast<std::size_t>(start / config_.block_size)]};
  const auto same = std::find_if(keys.begin(), keys.end(),
                                 [&](const PartialKey& k) { return k.tail == key.tail; });
  mark(Branch::KeyRenamed, same != keys.end());
  if (same != keys.end()) {
    key.owner = same->owner;
    keys.erase(same);
  }
  keys.push_back(key);
  if (keys.size() > kKeysPerParentMax) {
    const Block displaced = keys.front().owner;
    keys.erase(keys.begin());
    stats_.dropped_keys += 1;
    mark(Branch::KeyDisplaced);
    const std::int64_t unused_before = unused_;
    if (!sealed(displaced) && key_length(displaced) == 0) {
      order_.forget(displaced);
    }
    let_go(displaced);
    mark(Branch::KeyDisplacedFrees, unused_ > unused_before);
    mark(Branch::KeyDisplacedHeld, holders(displaced) > 0 && !sealed(displaced));
  }
}

void NaiveModel::retire(int slot,
                        Ids history,
                        std::int64_t addressable_len,
                        std::span<const std::int64_t> boundaries) {
  const std::int64_t length = std::ssize(history);
  Checks checks;
  checks.require(addressable_len >= kAddressableAll);
  for (const std::int64_t boundary : boundaries) {
    checks.require(boundary >= 0);
  }
  if (checks.require(has(slot))) {
    const ModelSlot& s = slots_[static_cast<std::size_t>(slot)];
    checks.require(!s.fresh, ErrorCode::FailedPrecondition);
    checks.require(length >= s.committed && length <= s.reserved);
    // A session may end in the middle of its prompt.
    const Ids head = Ids(s.prompt).first(std::min(s.prompt.size(), history.size()));
    checks.require(starts_with(history, head));
    const std::int64_t cut = addressable_len < 0 ? s.prompt_length : addressable_len;
    checks.require(std::min(cut, s.prompt_length) == s.addressable);
  }
  checks.done();
  ModelSlot& s = slots_[static_cast<std::size_t>(slot)];
  mark(Branch::StaleRetired, stale(s));
  if (sharing() && !stale(s)) {
    const std::int64_t kept = addressable_len < 0 ? length : std::min(length, addressable_len);
    seal(s, history, kept / config_.block_size);
    std::vector<std::int64_t> named(boundaries.begin(), boundaries.end());
    named.push_back(kept);
    for (const std::int64_t end : named) {
      if (config_.partial_keys && end <= kept && end % config_.block_size != 0) {
        name(s, history, end);
      }
    }
  }
  release(slot);
  note_high_water();
}

void NaiveModel::evict(int slot) {
  Checks checks;
  checks.require(has(slot));
  checks.done();
  release(slot);
  note_high_water();
}

void NaiveModel::abandon(int slot) {
  Checks checks;
  checks.require(has(slot));
  checks.done();
  ModelSlot& s = slots_[static_cast<std::size_t>(slot)];
  for (std::int64_t k = 0; k < std::ssize(s.cells); ++k) {
    Block& cell = s.cells[static_cast<std::size_t>(k)];
    const std::int64_t start = k * config_.block_size;
    const bool in_flight =
        std::max(start, s.committed) < std::min(start + config_.block_size, s.in_flight_end);
    if (in_flight && cell != kNoBlock && !sealed(cell)) {
      mark(Branch::Quarantined);
      mark(Branch::KeyQuarantined, key_length(cell) > 0);
      forget(cell);
      order_.forget(cell);
      quarantined_.push_back(std::exchange(cell, kNoBlock));
      stats_.quarantined_blocks += 1;
    }
  }
  release(slot);
  note_high_water();
}

std::int64_t NaiveModel::release_quarantined() {
  const std::int64_t count = std::ssize(quarantined_);
  unused_ += count;
  quarantined_.clear();
  return count;
}

void NaiveModel::invalidate_namespace(std::uint64_t namespace_id) {
  generations_[namespace_id] += 1;
}

void NaiveModel::set_retention(int slot, int priority, std::int64_t ttl_ticks) {
  order_.set_retention(slot, priority, ttl_ticks);
}

void NaiveModel::advance_clock(std::int64_t now_ticks) {
  order_.advance_clock(now_ticks);
}

void NaiveModel::reset() {
  NaiveModel fresh(config_);
  fresh.last_block_ = last_block_;
  fresh.stats_ = stats_;
  fresh.branches_ = branches_;
  *this = std::move(fresh);
}

}  // namespace octavo::testkit
