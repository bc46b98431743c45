// LRU pools of all sizes at once: how deep in the recency stack each block of each prompt lies.
//
// LRU has the inclusion property: after every request a pool of C blocks holds the top C places of
// one stack, whatever C is. So a block is a hit in exactly the pools of at least as many blocks as
// its *depth*, its place in the stack counted from 1. A prompt's blocks enter with their head on
// top, so a block is never above its parent, and hits are prefixes by themselves.
//
// The blocks that one request touched last form a *group*. Groups lie in the stack in the order of
// their requests. Later requests take blocks away from a group's head only, hence what is left of
// it is contiguous, and the walk along a prompt meets whole *runs* of blocks of one group. Depths
// are therefore counted by group: a Fenwick tree over groups holds how many places each of them
// takes. Its length follows the groups that still have a place, not the requests.
//
// One place of the stack may be a *hole*: a block that every pool that large has free. A prompt's
// partial tail takes a block while its request lives and gives it back at its end; so does the copy
// of a prompt's last whole block that is computed although the pool has it, since a prompt is never
// served whole. A block that a pool must find comes from the hole and pushes nobody out: pools
// below the hole's depth push out their last block, the others fill the hole. Every request must
// find at least one, again since it is never served whole, so each fills the hole of the one
// before.
//
// Copyable: a copy goes its own way. Driven from one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "prompt_blocks.h"

namespace octavo::sim {

/// How many touches found their block at each depth.
class DepthCounts {
 public:
  /// `count` >= 1 blocks at depths first, first + 1, ...; first >= 1.
  void add(std::int64_t first, std::int64_t count);

  /// Element d: the touches at depths up to d, which is what a pool of d blocks hits. As long as
  /// needed: larger pools hit no more than the last element. The counts are used up.
  std::vector<std::int64_t> cumulative() &&;

 private:
  std::vector<std::int64_t> steps_;  // The differences of the counts of neighbouring depths.
};

class LruStack {
 public:
  /// Counts what a prompt finds and moves it to the top. `path`: its whole blocks. `partial_tail`:
  /// it also has a partial one. Without one, its last whole block is never counted as a hit.
  void touch(std::span<const PathPiece> path, bool partial_tail, DepthCounts& depths);

  /// The same for a sample of blocks: no tails and no holes; `unserved`: the last block of the path
  /// is never counted.
  void touch_sample(std::span<const PathPiece> path, bool unserved, DepthCounts& depths);

  /// `rest` was the end of `piece`.
  void cut(std::uint32_t piece, std::uint32_t rest);

  /// Blocks that were ever touched.
  std::int64_t distinct_blocks() const noexcept { return places_ - (hole_ == kNone ? 0 : 1); }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  // Places that one request's blocks still take. Its number is what blocks remember.
  struct Group {
    std::uint32_t slot = 0;   // Its index in the tree; later requests have larger ones.
    std::int64_t places = 0;  // 0: unused.
  };
  struct Run {
    std::uint32_t group = kNone;
    std::int64_t blocks = 0;
  };

  void find_runs(std::span<const PathPiece> path);
  void count_hits(std::int64_t servable, DepthCounts& depths);
  void fill_hole();
  void push(std::span<const PathPiece> path, std::int64_t places);
  std::uint32_t newest() const { return slot_group_.back(); }

  std::uint32_t new_group();
  void change(std::uint32_t group, std::int64_t places);
  std::int64_t newer_than(std::uint32_t group) const;
  void compact();

  std::vector<std::uint32_t> group_of_;  // By piece; kNone: never touched.
  std::vector<Group> groups_;
  std::vector<std::uint32_t> unused_groups_;
  std::vector<std::uint32_t> slot_group_;  // By slot, the groups of the last requests.
  std::vector<std::int64_t> tree_;         // Fenwick tree over slots; [i] covers the slots below i.
  std::int64_t places_ = 0;                // Of all groups.
  std::uint32_t hole_ = kNone;             // The group on top of whose blocks the hole lies.
  std::vector<Run> runs_;                  // Of the current prompt, from its head.
  std::int64_t known_ = 0;                 // Their blocks.
};

}  // namespace octavo::sim
