#include "blocks/hdq.h"

#include <algorithm>

namespace octavo::blocks {

using hdq::kMostTouches;

namespace {

constexpr std::int64_t kMemory = 17;           // Capacities of blocks that are known at a time.
constexpr int kLearnEvery = 32;                // Sessions.
constexpr std::int64_t kHalveEvery = 1 << 14;  // Sessions: as old as an age can be told.
constexpr std::size_t kLinesAhead = 16;
constexpr std::size_t kRecordsAhead = 8;

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
  account();
  open_ = 0;
  ++clock_;
  grow_older();

  const std::size_t count = fingerprints.size();
  for (std::size_t i = 0; i < std::min(count, kLinesAhead); ++i) {
    known_.prefetch_line(fingerprints[i]);
  }
  std::int64_t known_blocks = 0;
  std::int64_t resident = 0;  // The leading ones that the pool holds,
  std::int64_t in_lru = 0;    // and those that LRU's would.
  bool all_resident = true;
  bool all_in_lru = true;
  GroupId group_id = 0;
  std::uint32_t asked_of_group = 0;
  KnownId deepest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kLinesAhead < count) {
      known_.prefetch_line(fingerprints[i + kLinesAhead]);
    }
    if (i + kRecordsAhead < count) {
      known_.prefetch_first(fingerprints[i + kRecordsAhead]);
    }
    const KnownId id = known_.find(fingerprints[i]);
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
      ++counters_.hits[group.class_id][group.bucket];
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

void Hdq::sealed(BlockId block, BlockId parent, std::uint64_t fingerprint) noexcept {
  KnownId id = known_.find(fingerprint);
  if (id != 0 && known_[id].block == kNoBlock) {
    leave_group(id);
  } else {
    // New; or a collision of fingerprints, where the name is another's.
    id = remember(fingerprint, parent == kNoBlock ? 0 : known_.of_block(parent), id != 0);
    known_[id].depth = sessions_[at(slot_)].new_depth;
  }
  known_.settle(id, block);
}

void Hdq::held(BlockId block) noexcept {
  leave_group(known_.of_block(block));
}

void Hdq::parked(BlockId block) noexcept {
  const KnownId id = known_.of_block(block);
  if (!depth_known_) {
    depth_known_ = true;
    depth_ = known_[id].depth;
  }
  join(id, hdq::class_of(depth_, known_[id].touches, traits_));
}

// A leaf has a group of its own.
void Hdq::leaf_parked(BlockId block, BlockId parent) noexcept {
  const KnownId parent_id = parent == kNoBlock ? 0 : known_.of_block(parent);
  const KnownId id = remember(0, parent_id, true);
  known_[id].depth = parent_id != 0 ? known_[parent_id].depth : sessions_[at(slot_)].new_depth;
  known_.settle(id, block);
  open_ = 0;
  join(id, hdq::class_of(known_[id].depth, 1, traits_));
  open_ = 0;
}

void Hdq::leaf_left(BlockId block) noexcept {
  const KnownId id = known_.of_block(block);
  const KnownId parent = known_[id].parent;
  leave_group(id);
  known_.leave(id);
  known_.forget(id);
  if (parent != 0 && known_[parent].children == 0) {
    carries_none(parent);
  }
}

// --- Eviction ---

// The group that gives up its deepest resident block next, which must carry none.
hdq::GroupId Hdq::choose(BlockId spare) noexcept {
  if (!guard_.leads()) {
    for (GroupId id = residents_.oldest(); id != 0; id = groups_[id].residents.newer) {
      const Known& deepest = known_[groups_[id].deepest_resident];
      if (deepest.children == 0 && deepest.block != spare) {
        return id;
      }
    }
    return 0;
  }
  GroupId chosen = 0;
  GroupId spared = 0;
  while (chosen == 0 && !contest_.empty()) {
    const GroupId id = queues_[contest_.winner()][contest_.winner_bucket()].oldest();
    const Known& deepest = known_[groups_[id].deepest_resident];
    if (deepest.children > 0) {
      set_aside(id);
    } else if (deepest.block == spare) {
      spared = id;
      dequeue(id);
    } else {
      chosen = id;
    }
  }
  if (spared != 0) {
    enqueue(spared, End::Oldest);
  }
  return chosen;
}

BlockId Hdq::evict(BlockId spare) noexcept {
  const GroupId group_id = choose(spare);
  if (group_id == 0) {
    return kNoBlock;
  }
  Group& group = groups_[group_id];
  const KnownId id = group.deepest_resident;
  const KnownId parent = known_[id].parent;
  const BlockId block = known_[id].block;
  group.deepest_resident = parent;
  known_.leave(id);
  lose_resident(group_id);
  if (group.passed || group.uncounted) {
    forget_deepest(group_id);
  }
  if (parent != 0 && known_[parent].children == 0) {
    carries_none(parent);
  }
  return block;
}

}  // namespace octavo::blocks
