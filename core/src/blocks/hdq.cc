#include "blocks/hdq.h"

#include <algorithm>
#include <utility>

namespace octavo::blocks {

using hdq::kMostTouches;

namespace {

constexpr std::int64_t kMemory = 17;           // Capacities of blocks that are known at a time.
constexpr int kLearnEvery = 32;                // Sessions.
constexpr std::int64_t kHalveEvery = 1 << 14;  // Sessions: as old as an age can be told.

// Ids of known blocks have 32 bits: memory is shorter for pools of more than 252 million blocks.
std::int64_t known_at_most(std::int64_t num_blocks) {
  return std::min(num_blocks * kMemory, (std::int64_t{1} << 32) - 2);
}

}  // namespace

Hdq::Hdq(std::int64_t num_blocks, int max_seqs, std::int64_t block_tokens)
    : num_blocks_(num_blocks),
      block_tokens_(block_tokens),
      max_seqs_(max_seqs),
      known_(num_blocks, known_at_most(num_blocks)),
      groups_(at(known_at_most(num_blocks)), "the groups of HDQ"),
      sessions_(at(max_seqs), VirtualMemory::Pages::Small, "the sessions of HDQ"),
      guard_(num_blocks) {
  density_.learn(counters_);
}

void Hdq::reset() noexcept {
  known_.clear();
  groups_.clear();
  sessions_.clear(at(max_seqs_));
  order_ = {};
  residents_ = {};
  queues_ = {};
  oldest_in_bucket_ = {};
  lru_end_ = memory_end_ = open_ = 0;
  depth_known_ = false;
  traits_ = {};
  lru_blocks_ = unaccounted_ = hits_ = lru_hits_ = clock_ = 0;
  unlearned_ = slot_ = 0;
  counters_ = {};
  density_.learn(counters_);
  contest_.clear();
  guard_ = hdq::Guard(num_blocks_);
}

// --- Sessions ---

// What the sessions before this one brought about is learned now, before anything is asked.
void Hdq::account() noexcept {
  guard_.allocated(unaccounted_);
  unaccounted_ = 0;
  if (counters_.sessions >= kHalveEvery) {
    counters_.halve();
  }
  if (unlearned_ >= kLearnEvery) {
    unlearned_ = 0;
    density_.learn(counters_);
    contest_.set_densities(density_);
  }
}

void Hdq::begin(int slot,
                std::span<const std::uint64_t> fingerprints,
                std::int64_t servable) noexcept {
  const std::size_t count = fingerprints.size();
  if (count > 0) {
    known_.prefetch_line(fingerprints.front());
  }
  account();
  if (count > 0) {
    known_.prefetch_record(fingerprints.front());
  }
  open_ = 0;
  ++clock_;
  grow_older();

  std::int64_t known_blocks = 0;
  std::int64_t resident = 0;  // The leading ones that the pool holds,
  std::int64_t in_lru = 0;    // and those that LRU's would.
  bool all_resident = true;
  bool all_in_lru = true;
  GroupId group_id = 0;
  std::uint32_t asked_of_group = 0;
  KnownId deepest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const KnownId id = known_.find(deepest, fingerprints[i]);
    if (id == 0) {
      break;
    }
    Known& known = known_[id];
    ++known_blocks;
    deepest = id;
    known.touches = std::min<std::uint8_t>(known.touches + 1, kMostTouches);
    all_resident = all_resident && known.block != kNoBlock;
    resident += all_resident ? 1 : 0;
    if (known.group != 0) {  // What is held is in every pool, and nobody's to win.
      const Group& group = groups_[known.group];
      asked_of_group = known.group == group_id ? asked_of_group + 1 : 1;
      group_id = known.group;
      all_in_lru = all_in_lru && asked_of_group <= group.lru;
      counters_.hit(group.class_id, group.bucket);
    }
    in_lru += all_in_lru ? 1 : 0;
  }

  const std::int64_t ours = std::min(resident, servable);
  const std::int64_t lru = std::min(in_lru, servable);
  guard_.touched(ours, lru, std::min(known_blocks, servable));
  hits_ += ours;
  lru_hits_ += lru;
  unaccounted_ += static_cast<std::int64_t>(count) - resident;

  Session& session = sessions_[at(slot)];
  session = {};
  session.new_tokens = (static_cast<std::int64_t>(count) - known_blocks) * block_tokens_;
  session.new_depth =
      deepest == 0 ? 0 : std::min<std::uint8_t>(known_[deepest].depth + 1, hdq::kDeepest);
  if (count > 0) {
    ++unlearned_;
    ++counters_.sessions;
    counters_.session_blocks += count;
  }
}

void Hdq::generated(int slot, std::int64_t output_tokens, bool noted) noexcept {
  Session& session = sessions_[at(slot)];
  if (noted || !session.output_noted) {
    session.output_tokens = output_tokens;
    session.output_noted = noted;
  }
}

void Hdq::act_for(int slot) noexcept {
  slot_ = slot;
  open_ = 0;
  depth_known_ = false;
  const Session& session = sessions_[at(slot)];
  traits_ = hdq::traits_of(session.new_tokens, session.output_tokens);
}

// --- Blocks ---

hdq::KnownId Hdq::remember(std::uint64_t fingerprint, KnownId parent, bool nameless) noexcept {
  while (known_.full()) {
    forget_one_ghost();
  }
  return known_.add(fingerprint, parent, nameless);
}

void Hdq::sealed(std::span<const BlockId> blocks,
                 BlockId parent,
                 std::span<const std::uint64_t> fingerprints) noexcept {
  const std::uint8_t new_depth = sessions_[at(slot_)].new_depth;
  KnownId parent_id = parent == kNoBlock ? 0 : known_.of_block(parent);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    KnownId id = known_.find(parent_id, fingerprints[i]);
    if (id != 0 && known_[id].block == kNoBlock) {
      leave_group(std::exchange(known_[id].group, 0), 1, /*resident=*/false);
    } else {
      // New; or a collision of fingerprints, where the name is another's.
      id = remember(fingerprints[i], parent_id, id != 0);
      known_[id].depth = new_depth;
    }
    known_.settle(id, blocks[i]);
    parent_id = id;
  }
}

void Hdq::held(std::span<const BlockId> blocks) noexcept {
  for (std::size_t i = 0; i < blocks.size();) {
    const GroupId group_id = known_[known_.of_block(blocks[i])].group;
    std::uint32_t count = 0;
    for (; i < blocks.size(); ++i, ++count) {
      Known& known = known_[known_.of_block(blocks[i])];
      if (known.group != group_id) {
        break;
      }
      known.group = 0;
    }
    leave_group(group_id, count, /*resident=*/true);
  }
}

void Hdq::parked(std::span<const BlockId> blocks) noexcept {
  if (!depth_known_ && !blocks.empty()) {
    depth_known_ = true;
    const std::uint8_t depth = known_[known_.of_block(blocks.front())].depth;
    for (std::uint8_t touches = 1; touches <= kMostTouches; ++touches) {
      classes_[touches] = hdq::class_of(depth, touches, traits_);
    }
  }
  for (std::size_t i = 0; i < blocks.size();) {
    const KnownId first = known_.of_block(blocks[i]);
    const hdq::ClassId class_id = classes_[known_[first].touches];
    open_group_for(first, class_id);
    std::uint32_t count = 0;
    for (; i < blocks.size(); ++i, ++count) {
      Known& known = known_[known_.of_block(blocks[i])];
      if (classes_[known.touches] != class_id) {
        break;
      }
      known.group = open_;
    }
    join(count);
  }
}

// A leaf has a group of its own.
void Hdq::leaf_parked(BlockId block, BlockId parent) noexcept {
  const KnownId parent_id = parent == kNoBlock ? 0 : known_.of_block(parent);
  const KnownId id = remember(0, parent_id, true);
  known_[id].depth = parent_id != 0 ? known_[parent_id].depth : sessions_[at(slot_)].new_depth;
  known_.settle(id, block);
  open_ = 0;
  open_group_for(id, hdq::class_of(known_[id].depth, 1, traits_));
  known_[id].group = open_;
  join(1);
  open_ = 0;
}

void Hdq::leaf_left(BlockId block) noexcept {
  const KnownId id = known_.of_block(block);
  const KnownId parent = known_[id].parent;
  leave_group(std::exchange(known_[id].group, 0), 1, /*resident=*/true);
  known_.leave(id);
  known_.forget(id);
  if (parent != 0 && known_[parent].children == 0) {
    carries_none(parent);
  }
}

// --- Eviction ---

// The oldest group with a resident block that may go, by LRU's rule.
hdq::GroupId Hdq::choose_oldest(BlockId spare) const noexcept {
  GroupId id = residents_.oldest();
  while (id != 0 && !may_go(groups_[id].deepest_resident, spare)) {
    id = groups_[id].residents.newer;
  }
  return id;
}

// The oldest group of the least density of which that holds; those that carry a block are set
// aside.
hdq::GroupId Hdq::choose_least(BlockId spare) noexcept {
  GroupId chosen = 0;
  GroupId spared = 0;
  while (chosen == 0 && !contest_.empty()) {
    const GroupId id = first_to_go();
    const KnownId deepest = groups_[id].deepest_resident;
    if (may_go(deepest, spare)) {
      chosen = id;
    } else if (known_[deepest].children > 0) {
      set_aside(id);
    } else {
      spared = id;
      dequeue(id);
    }
  }
  if (spared != 0) {
    enqueue_oldest(spared);
  }
  return chosen;
}

BlockId Hdq::evict(BlockId spare) noexcept {
  GroupId group_id = first_to_go();
  if (group_id != 0 && !may_go(groups_[group_id].deepest_resident, spare)) {
    group_id = guard_.leads() ? choose_least(spare) : choose_oldest(spare);
  }
  if (group_id == 0) {
    return kNoBlock;
  }
  Group& group = groups_[group_id];
  const KnownId id = group.deepest_resident;
  const KnownId parent = known_[id].parent;
  const BlockId block = known_[id].block;
  group.deepest_resident = parent;
  known_.leave(id);
  lose_residents(group_id, 1);
  if (group.passed || group.uncounted) {
    forget_deepest(group_id);
  }
  // A group that gives up a block is not set aside.
  if (parent != 0 && known_[parent].children == 0 && known_[parent].group != group_id) {
    carries_none(parent);
  }
  return block;
}

}  // namespace octavo::blocks
