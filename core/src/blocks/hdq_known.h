// HDQ: the blocks it remembers, resident or not.
//
// A block is known by a fingerprint: a 64-bit chained hash of all tokens up to its end, always the
// built-in one. Two blocks of one fingerprint are taken for one, which can only misjudge what they
// are worth; what is served is decided by tokens, elsewhere. Known blocks are closed upwards: what
// comes before a known block in its history is known. A resident one is in the pool; the others are
// *ghosts*. A block that no fingerprint may name (a leaf, whose tokens end inside the block) is
// *nameless*: known only while it is parked.
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
  KnownId chained;         ///< The next one in its line of the table.
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
  KnownId find(std::uint64_t fingerprint) const noexcept;
  void prefetch_line(std::uint64_t fingerprint) const noexcept {
    __builtin_prefetch(&lines_[line(fingerprint)]);
  }
  void prefetch_first(std::uint64_t fingerprint) const noexcept {
    __builtin_prefetch(&records_[lines_[line(fingerprint)]], 1);
  }

  bool full() const noexcept { return count_ == limit_; }
  std::int64_t count() const noexcept { return count_; }
  std::int64_t limit() const noexcept { return limit_; }
  std::int64_t ghosts() const noexcept { return ghosts_; }

  /// A new ghost. REQUIRES: !full(), and find(fingerprint) == 0 unless it is nameless.
  KnownId add(std::uint64_t fingerprint, KnownId parent, bool nameless) noexcept;
  /// REQUIRES: a ghost, in no group, without children.
  void forget(KnownId id) noexcept;
  void settle(KnownId id, BlockId block) noexcept;  ///< A ghost becomes resident.
  void leave(KnownId id) noexcept;                  ///< A resident block becomes a ghost.

  void clear() noexcept;

  /// Ids ever in use are 1 .. used(); a record that is not in use has no touches.
  std::size_t used() const noexcept { return records_.used(); }

 private:
  std::size_t line(std::uint64_t fingerprint) const noexcept {
    return static_cast<std::size_t>(fingerprint >> shift_);
  }

  std::int64_t num_blocks_;
  std::int64_t limit_;
  int shift_;
  Slab<Known> records_;
  VirtualArray<KnownId> lines_;     ///< Heads of the chains of equal leading bits.
  VirtualArray<KnownId> of_block_;  ///< [num_blocks]
  std::int64_t count_ = 0;
  std::int64_t ghosts_ = 0;
};

inline KnownId KnownBlocks::find(std::uint64_t fingerprint) const noexcept {
  KnownId id = lines_[line(fingerprint)];
  while (id != 0 && records_[id].fingerprint != fingerprint) {
    id = records_[id].chained;
  }
  return id;
}

inline KnownId KnownBlocks::add(std::uint64_t fingerprint, KnownId parent, bool nameless) noexcept {
  const KnownId id = records_.take();
  Known& known = records_[id];
  known.fingerprint = fingerprint;
  known.parent = parent;
  known.block = kNoBlock;
  known.touches = 1;
  known.nameless = nameless;
  if (!nameless) {
    known.chained = lines_[line(fingerprint)];
    lines_[line(fingerprint)] = id;
  }
  ++count_;
  ++ghosts_;
  return id;
}

inline void KnownBlocks::forget(KnownId id) noexcept {
  const Known& known = records_[id];
  if (!known.nameless) {
    KnownId* link = &lines_[line(known.fingerprint)];
    while (*link != id) {
      link = &records_[*link].chained;
    }
    *link = known.chained;
  }
  records_.give(id);
  --count_;
  --ghosts_;
}

inline void KnownBlocks::settle(KnownId id, BlockId block) noexcept {
  records_[id].block = block;
  of_block_[at(block)] = id;
  --ghosts_;
  if (records_[id].parent != 0) {
    ++records_[records_[id].parent].children;
  }
}

inline void KnownBlocks::leave(KnownId id) noexcept {
  of_block_[at(records_[id].block)] = 0;
  records_[id].block = kNoBlock;
  ++ghosts_;
  if (records_[id].parent != 0) {
    --records_[records_[id].parent].children;
  }
}

}  // namespace octavo::blocks::hdq
