// A memory of blocks that left, by their names, in a few lists from oldest to newest.
//
// A name is in one list at most. Names are 64-bit hashes of whole histories: two histories with one
// name are taken for each other, which ranks a block wrongly and does nothing else. Every call is
// O(1) (expected, as of any hash table); memory is reserved for `capacity` names.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/slab.h"
#include "blocks/block_queue.h"

namespace octavo::blocks {

template <std::size_t kLists>
class GhostMemory {
 public:
  static constexpr std::size_t kNowhere = kLists;

  explicit GhostMemory(std::int64_t capacity)
      : ghosts_(at(capacity), "the memory of evicted blocks"),
        mask_(std::bit_ceil(at(capacity) + 1) - 1),
        buckets_(mask_ + 1, VirtualMemory::Pages::Huge, "the index of evicted blocks") {}

  std::int64_t size(std::size_t list) const noexcept { return lists_[list].size; }

  /// The list that the name is in, or kNowhere; it is forgotten.
  std::size_t take(std::uint64_t name) noexcept {
    for (Id* link = &bucket(name); *link != kNobody; link = &ghosts_[*link].next) {
      if (ghosts_[*link].name == name) {
        const std::size_t list = ghosts_[*link].list;
        forget(link);
        return list;
      }
    }
    return kNowhere;
  }

  /// As the newest of `list`, wherever it was. REQUIRES: fewer than `capacity` names are known.
  void add(std::size_t list, std::uint64_t name) noexcept {
    (void)take(name);
    const Id id = ghosts_.take();
    Ghost& ghost = ghosts_[id];
    ghost.name = name;
    ghost.list = static_cast<std::uint32_t>(list);
    ghost.next = bucket(name);
    bucket(name) = id;
    List& to = lists_[list];
    ghost.older = to.newest;
    (to.newest != kNobody ? ghosts_[to.newest].newer : to.oldest) = id;
    to.newest = id;
    ++to.size;
  }

  /// REQUIRES: the list is not empty.
  void drop_oldest(std::size_t list) noexcept {
    (void)take(ghosts_[lists_[list].oldest].name);
    const Ghost& next = ghosts_[lists_[list].oldest];  // Goes with the next call, as a rule.
    prefetch_bucket(next.name);
    __builtin_prefetch(&ghosts_[next.newer], 1);
  }

  // The memory is larger than the processor's caches and names are scattered over it: who knows
  // which names come next has their buckets fetched first and then the ghosts that those name.
  void prefetch_bucket(std::uint64_t name) const noexcept {
    __builtin_prefetch(&buckets_[name & mask_], 1);
  }
  void prefetch_ghost(std::uint64_t name) const noexcept {
    __builtin_prefetch(&ghosts_[buckets_[name & mask_]], 1);
  }
  /// The names of the blocks that stand at the old end of a queue come next.
  void prefetch_oldest(const BlockRanks& ranks, BlockId oldest) const noexcept {
    if (oldest == kNoBlock) {
      return;
    }
    prefetch_ghost(ranks[at(oldest)].name);
    const BlockId second = ranks[at(oldest)].newer;
    if (second == kNoBlock) {
      return;
    }
    prefetch_bucket(ranks[at(second)].name);
    const BlockId third = ranks[at(second)].newer;
    if (third != kNoBlock) {
      __builtin_prefetch(&ranks[at(third)], 1);
    }
  }

  /// Calls visit(name) from the oldest to the newest of a list.
  template <class Visit>
  void visit(std::size_t list, Visit&& visit) const {
    for (Id id = lists_[list].oldest; id != kNobody; id = ghosts_[id].newer) {
      visit(ghosts_[id].name);
    }
  }

  void clear() noexcept {
    if (ghosts_.used() > 0) {
      ghosts_.clear();
      buckets_.clear(mask_ + 1);
    }
    lists_ = {};
  }

 private:
  using Id = std::uint32_t;
  static constexpr Id kNobody = 0;

  struct Ghost {
    std::uint64_t name;
    Id next;  ///< In its bucket.
    Id older, newer;
    std::uint32_t list;
  };
  struct List {
    Id oldest, newest;
    std::int64_t size;
  };

  Id& bucket(std::uint64_t name) noexcept { return buckets_[name & mask_]; }

  void forget(Id* link) noexcept {
    const Id id = *link;
    const Ghost& ghost = ghosts_[id];
    List& list = lists_[ghost.list];
    (ghost.older != kNobody ? ghosts_[ghost.older].newer : list.oldest) = ghost.newer;
    (ghost.newer != kNobody ? ghosts_[ghost.newer].older : list.newest) = ghost.older;
    --list.size;
    *link = ghost.next;
    ghosts_.give(id);
  }

  Slab<Ghost> ghosts_;
  std::size_t mask_;
  VirtualArray<Id> buckets_;
  std::array<List, kLists> lists_{};
};

}  // namespace octavo::blocks
