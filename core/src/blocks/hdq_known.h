// HDQ: the blocks it remembers, resident or not.
//
// A block is known by a fingerprint: a 64-bit chained hash of all tokens up to its end, always the
// built-in one. Two continuations of one block that have one fingerprint are taken for one, which
// can only misjudge what they are worth; what is served is decided by tokens, elsewhere. Known
// blocks are closed upwards: what comes before a known block in its history is known. A resident
// one is in the pool; the others are *ghosts*. A block that no fingerprint may name (a leaf, whose
// tokens end inside the block) is *nameless*: known only while it is parked.
//
// A block is looked up behind the one before it. Blocks that become known in a row have records in
// a row as a rule, and are found there; only those whose record is not beside that of their parent
// are in the table. So a path costs a table line a branch, and its records are read in order of
// memory.
//
// For that, a new block takes the record beside its parent's if it is not in use, else one that has
// been out of use the longest: what was forgotten around it has joined it by then.
//
// Owned by one Hdq. Nothing is allocated after construction.
#pragma once

#include <cstdint>

#include "base/slab.h"
#include "base/virtual_memory.h"
#include "blocks/ids.h"

namespace octavo::blocks::hdq {

using KnownId = std::uint32_t;  ///< 0 is nobody.
using GroupId = std::uint32_t;  ///< 0 is nobody.

struct Known {
  std::uint64_t fingerprint;
  KnownId chained;         ///< The next one in its line of the table, if it is there.
  KnownId parent;          ///< The block before it; 0 at the beginning of a history.
  GroupId group;           ///< 0 while some session holds it.
  BlockId block;           ///< kNoBlock: a ghost.
  std::uint32_t children;  ///< Resident ones.
  std::uint8_t touches;    ///< Sessions that asked for it, up to kMostTouches.
  std::uint8_t depth;      ///< Sessions its branch took to grow, less 1, up to kDeepest.
  bool nameless;
};
static_assert(sizeof(Known) == 32);

class KnownBlocks {
 public:
  /// At most `limit` are known at a time, `num_blocks` of them resident.
  KnownBlocks(std::int64_t num_blocks, std::int64_t limit);

  Known& operator[](KnownId id) noexcept { return records_[id]; }
  const Known& operator[](KnownId id) const noexcept { return records_[id]; }

  /// What is known of the block of the pool; 0: nothing.
  KnownId of_block(BlockId block) const noexcept { return of_block_[at(block)]; }
  /// The named block that continues `parent` (0: that begins a history) so; 0: none is known.
  KnownId find(KnownId parent, std::uint64_t fingerprint) const noexcept;
  /// Fetches what finding one that begins a history reads: first this, some time later that.
  void prefetch_line(std::uint64_t fingerprint) const noexcept {
    __builtin_prefetch(&lines_[line(fingerprint)]);
  }
  void prefetch_record(std::uint64_t fingerprint) const noexcept {
    __builtin_prefetch(&records_[lines_[line(fingerprint)]], 1);
  }

  bool full() const noexcept { return count_ == limit_; }
  std::int64_t count() const noexcept { return count_; }
  std::int64_t limit() const noexcept { return limit_; }

  /// A new ghost. REQUIRES: !full(), and find(parent, fingerprint) == 0 unless it is nameless.
  KnownId add(std::uint64_t fingerprint, KnownId parent, bool nameless) noexcept;
  /// REQUIRES: a ghost, in no group, that no known block continues.
  void forget(KnownId id) noexcept;
  void settle(KnownId id, BlockId block) noexcept;  ///< A ghost becomes resident.
  void leave(KnownId id) noexcept;                  ///< A resident block becomes a ghost.

  void clear() noexcept;

  /// Ids ever in use are 1 .. used(); a record that is not in use has no touches.
  std::size_t used() const noexcept { return used_; }
  /// Records that may be used again, counted. For the audit.
  std::size_t unused() const noexcept;

 private:
  std::size_t line(std::uint64_t fingerprint) const noexcept {
    return static_cast<std::size_t>(fingerprint >> shift_);
  }
  static bool beside(KnownId id, KnownId parent) noexcept {
    return parent != 0 && (id == parent + 1 || id == parent - 1);
  }
  bool is(KnownId id, KnownId parent, std::uint64_t fingerprint) const noexcept {
    const Known& known = records_[id];
    return known.fingerprint == fingerprint && known.parent == parent && !known.nameless;
  }

  // Records out of use are in a ring through record 0, the one given back last at its end.
  KnownId& next_free(KnownId id) noexcept { return records_[id].chained; }
  KnownId& prev_free(KnownId id) noexcept { return records_[id].group; }
  bool unlink_free(KnownId id) noexcept;
  KnownId take(KnownId parent) noexcept;
  void give(KnownId id) noexcept;

  std::int64_t num_blocks_;
  std::int64_t limit_;
  std::size_t capacity_;  ///< Records.
  int shift_;
  VirtualArray<Known> records_;
  VirtualArray<KnownId> lines_;     ///< Heads of the chains of equal leading bits.
  VirtualArray<KnownId> of_block_;  ///< [num_blocks]
  std::size_t used_ = 0;
  std::int64_t count_ = 0;
  KnownId latest_ = 0;  ///< The one added last: nothing continues it.
};

// A record that is not in use has no parent, and no block has one that is not in use.
inline KnownId KnownBlocks::find(KnownId parent, std::uint64_t fingerprint) const noexcept {
  if (parent != 0) {
    if (parent == latest_) {
      return 0;
    }
    if (is(parent + 1, parent, fingerprint)) {
      return parent + 1;
    }
    if (is(parent - 1, parent, fingerprint)) {
      return parent - 1;
    }
  }
  KnownId id = lines_[line(fingerprint)];
  while (id != 0 && !is(id, parent, fingerprint)) {
    id = records_[id].chained;
  }
  return id;
}

// Takes the record out of the ring, if it is there.
inline bool KnownBlocks::unlink_free(KnownId id) noexcept {
  if (id == 0 || id > used_ || records_[id].touches > 0) {
    return false;
  }
  next_free(prev_free(id)) = next_free(id);
  prev_free(next_free(id)) = prev_free(id);
  prev_free(id) = 0;
  return true;
}

inline KnownId KnownBlocks::take(KnownId parent) noexcept {
  if (parent != 0) {
    if (unlink_free(parent + 1)) {
      return parent + 1;
    }
    if (unlink_free(parent - 1)) {
      return parent - 1;
    }
  }
  if (used_ < capacity_) {
    return static_cast<KnownId>(++used_);
  }
  const KnownId id = next_free(0);
  unlink_free(id);
  return id;
}

inline void KnownBlocks::give(KnownId id) noexcept {
  records_[id] = {};
  const KnownId last = prev_free(0);
  next_free(last) = prev_free(0) = id;
  prev_free(id) = last;
}

inline KnownId KnownBlocks::add(std::uint64_t fingerprint, KnownId parent, bool nameless) noexcept {
  const KnownId id = take(parent);
  Known& known = records_[id];
  known.fingerprint = fingerprint;
  known.parent = parent;
  known.block = kNoBlock;
  known.touches = 1;
  known.nameless = nameless;
  if (!nameless && !beside(id, parent)) {
    known.chained = lines_[line(fingerprint)];
    lines_[line(fingerprint)] = id;
  }
  latest_ = id;
  ++count_;
  return id;
}

inline void KnownBlocks::forget(KnownId id) noexcept {
  const Known& known = records_[id];
  if (!known.nameless && !beside(id, known.parent)) {
    KnownId* link = &lines_[line(known.fingerprint)];
    while (*link != id) {
      link = &records_[*link].chained;
    }
    *link = known.chained;
  }
  give(id);
  --count_;
}

inline void KnownBlocks::settle(KnownId id, BlockId block) noexcept {
  records_[id].block = block;
  of_block_[at(block)] = id;
  if (records_[id].parent != 0) {
    ++records_[records_[id].parent].children;
  }
}

inline void KnownBlocks::leave(KnownId id) noexcept {
  of_block_[at(records_[id].block)] = 0;
  records_[id].block = kNoBlock;
  if (records_[id].parent != 0) {
    --records_[records_[id].parent].children;
  }
}

}  // namespace octavo::blocks::hdq
