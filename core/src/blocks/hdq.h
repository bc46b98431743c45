// HDQ, hit-density queues: an eviction policy that gives up the block of the least promise.
//
// What it does and why: sim/HDQ.md. Who is what: hdq_classes.h (classes and ages), hdq_known.h
// (remembered blocks), hdq_groups.h (groups, the LRU stack), hdq_density.h (what classes promise),
// hdq_contest.h (the least promise), hdq_guard.h (when LRU rules).
//
// The prefix tree tells what happens to blocks: sealed, held, parked, evicted. The block manager
// tells what happens to sessions: who asked for which prompt, who lets go. The policy never decides
// which block is where, only which parked block goes next, and names only blocks that carry no
// other. Between the begin of a session and its parking its blocks are in no group.
//
// Owned by one prefix tree, not thread-safe, noexcept, O(1) amortised a block; no allocation after
// construction. Memory: 21 x capacity records of 32 bytes, 17 x table entries of 4 to 8, a group of
// 64 bytes for each stretch of known blocks, 4 bytes a block and 16 a slot; address space is
// reserved for all of it, memory used as blocks become known.
#pragma once

#include <cstdint>
#include <span>

#include "base/virtual_memory.h"
#include "blocks/hdq_classes.h"
#include "blocks/hdq_contest.h"
#include "blocks/hdq_density.h"
#include "blocks/hdq_groups.h"
#include "blocks/hdq_guard.h"
#include "blocks/hdq_known.h"

namespace octavo::blocks {

class Hdq {
 public:
  /// `block_tokens`: what a block counts for in tokens.
  Hdq(std::int64_t num_blocks, int max_seqs, std::int64_t block_tokens);

  // --- Sessions ---

  /// A session in `slot` asks for a prompt whose shareable blocks have these fingerprints; at most
  /// the first `servable` may be served. To be called before anything is held for it.
  void begin(int slot, std::span<const std::uint64_t> fingerprints, std::int64_t servable) noexcept;
  /// The session has generated so many tokens; what was noted before is not overruled by what is
  /// only counted.
  void generated(int slot, std::int64_t output_tokens, bool noted) noexcept;
  void end(int slot) noexcept { sessions_[at(slot)] = {}; }

  /// The next blocks are sealed for, or let go by, this session.
  void act_for(int slot) noexcept;

  /// So many blocks of the pool are neither free nor parked now.
  void bound(std::int64_t blocks) noexcept { trim_lru(num_blocks_ - blocks); }

  // --- Blocks ---

  /// Blocks that continue each other, the first one `parent` (kNoBlock: nothing), are sealed, and
  /// held.
  void sealed(std::span<const BlockId> blocks,
              BlockId parent,
              std::span<const std::uint64_t> fingerprints) noexcept;
  /// Parked blocks are held again.
  void held(std::span<const BlockId> blocks) noexcept;
  /// Nobody holds the blocks any more. Those of one path are parked deepest first.
  void parked(std::span<const BlockId> blocks) noexcept;
  /// A leaf under `parent` is parked.
  void leaf_parked(BlockId block, BlockId parent) noexcept;
  /// A parked leaf is taken over, or lost its last key.
  void leaf_left(BlockId block) noexcept;

  /// The block that is evicted next, and is none of the pool's from now on; never `spare`. kNoBlock
  /// when there is none.
  BlockId evict(BlockId spare) noexcept;

  void reset() noexcept;

  /// Recomputes everything that is counted or linked; raises Internal at the first difference.
  void audit() const;
  /// A hash of what decides: groups in order with their members, counters, guard.
  std::uint64_t digest() const;

  // For the tree's audit, tests and reports.
  std::uint64_t fingerprint_of(BlockId block) const noexcept {
    return known_[known_.of_block(block)].fingerprint;
  }
  bool is_parked(BlockId block) const noexcept {
    return known_.of_block(block) != 0 && known_[known_.of_block(block)].group != 0;
  }
  bool carries_blocks(BlockId block) const noexcept {
    return known_[known_.of_block(block)].children > 0;
  }
  std::int64_t parked_blocks() const noexcept;
  const hdq::Guard& guard() const noexcept { return guard_; }
  const hdq::Counters& counters() const noexcept { return counters_; }
  const hdq::KnownBlocks& known() const noexcept { return known_; }
  std::int64_t lru_hits() const noexcept { return lru_hits_; }
  std::int64_t hits() const noexcept { return hits_; }

 private:
  using KnownId = hdq::KnownId;
  using GroupId = hdq::GroupId;
  using Known = hdq::Known;
  using Group = hdq::Group;
  using OrderList = hdq::GroupList<&Group::order>;
  using ResidentList = hdq::GroupList<&Group::residents>;

  // What is remembered of the session in a slot.
  struct Session {
    std::int64_t new_tokens;  ///< Of its prompt.
    std::int64_t output_tokens;
    std::uint8_t new_depth;  ///< Of the blocks that it adds.
    bool output_noted;
  };

  // hdq.cc
  KnownId remember(std::uint64_t fingerprint, KnownId parent, bool nameless) noexcept;
  void account() noexcept;
  // A group gives up its deepest resident block next, which must carry none.
  bool may_go(KnownId deepest, BlockId spare) const noexcept {
    return known_[deepest].children == 0 && known_[deepest].block != spare;
  }
  // Whose turn it is: the oldest group, or the oldest one of the least density.
  GroupId first_to_go() const noexcept {
    if (!guard_.leads()) {
      return residents_.oldest();
    }
    return contest_.empty() ? 0 : queues_[contest_.winner()].oldest(contest_.winner_bucket());
  }
  GroupId choose_oldest(BlockId spare) const noexcept;
  GroupId choose_least(BlockId spare) noexcept;

  // hdq_audit.cc
  void audit_known() const;
  void audit_group(GroupId id) const;
  void audit_lists() const;

  // hdq_groups.cc
  void open_group(KnownId deepest, hdq::ClassId class_id) noexcept;
  void open_group_for(KnownId id, hdq::ClassId class_id) noexcept;
  void join(std::uint32_t blocks) noexcept;
  void leave_group(GroupId id, std::uint32_t blocks, bool resident) noexcept;
  void lose_members(GroupId id, std::uint32_t blocks) noexcept {
    if ((groups_[id].members -= blocks) == 0) {
      end_group(id);
    }
  }
  void lose_residents(GroupId id, std::uint32_t blocks) noexcept {
    if ((groups_[id].resident -= blocks) == 0) {
      end_residence(id);
    }
  }
  void end_residence(GroupId id) noexcept;
  void end_group(GroupId id) noexcept;
  void enqueue_newest(GroupId id) noexcept;
  void enqueue_oldest(GroupId id) noexcept;
  void dequeue(GroupId id) noexcept;
  void set_aside(GroupId id) noexcept;
  void carries_none(KnownId id) noexcept;
  void grow_older() noexcept;
  void come_of_age(GroupId id) noexcept;
  void forget_deepest(GroupId id) noexcept;
  void forget_one_ghost() noexcept;
  void trim_lru(std::int64_t room) noexcept;

  std::int64_t num_blocks_;
  std::int64_t block_tokens_;
  int max_seqs_;
  hdq::KnownBlocks known_;
  Slab<Group> groups_;
  VirtualArray<Session> sessions_;  ///< [max_seqs]

  OrderList order_;
  ResidentList residents_;
  std::array<hdq::ClassQueues, hdq::kClasses> queues_;
  std::array<GroupId, hdq::kBuckets> oldest_in_bucket_{};  ///< By `order`.
  GroupId lru_end_ = 0;          ///< No older group has blocks that LRU would hold.
  GroupId memory_end_ = 0;       ///< Older groups are passed.
  std::int64_t lru_blocks_ = 0;  ///< Sum of Group::lru.

  hdq::Counters counters_;
  hdq::Density density_;
  hdq::Contest contest_;
  hdq::Guard guard_;

  std::int64_t clock_ = 0;        ///< Sessions begun.
  int unlearned_ = 0;             ///< Sessions with blocks since the densities were computed.
  std::int64_t unaccounted_ = 0;  ///< Blocks taken since the guard was told.
  std::int64_t hits_ = 0;         ///< Blocks, ours and those that LRU would have had.
  std::int64_t lru_hits_ = 0;

  // What is being done now.
  int slot_ = 0;
  GroupId open_ = 0;  ///< The group that the release at hand adds to.
  bool depth_known_ = false;
  hdq::SessionTraits traits_;
  std::array<hdq::ClassId, hdq::kMostTouches + 1> classes_{};  ///< By touches, once depth_known_.
};

}  // namespace octavo::blocks
