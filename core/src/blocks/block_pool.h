// Which blocks of the pool are free, and which are quarantined.
//
// Every block is in exactly one of four states: free (here), parked or sealed (the prefix tree
// knows), private to a slot (its table row knows), quarantined (here). Free blocks are reused
// last-freed-first, and never-used ones in ascending order after those, so nothing is initialised
// up front.
#pragma once

#include <cstdint>

#include "base/relaxed_counter.h"
#include "base/virtual_memory.h"
#include "blocks/ids.h"

namespace octavo::blocks {

class BlockPool {
 public:
  explicit BlockPool(std::int64_t num_blocks)
      : num_blocks_(num_blocks),
        freed_(at(num_blocks), VirtualMemory::Pages::Small, "the free list"),
        quarantined_(at(num_blocks), VirtualMemory::Pages::Small, "the quarantine") {
    free_count_.set(num_blocks);
  }

  std::int64_t num_blocks() const noexcept { return num_blocks_; }
  std::int64_t free_count() const noexcept { return free_count_.get(); }
  std::int64_t quarantined_count() const noexcept { return quarantined_count_.get(); }

  /// Moves up to `count` free blocks to `out`; returns how many there were.
  std::int64_t take(BlockId* out, std::int64_t count) noexcept {
    std::int64_t taken = 0;
    for (; taken < count && freed_count_ > 0; ++taken) {
      out[taken] = freed_[at(--freed_count_)];
    }
    for (; taken < count && untouched_ < num_blocks_; ++taken) {
      out[taken] = static_cast<BlockId>(untouched_++);
    }
    free_count_.add(-taken);
    return taken;
  }

  void give(BlockId block) noexcept {
    freed_[at(freed_count_++)] = block;
    free_count_.add(1);
  }

  void quarantine(BlockId block) noexcept {
    quarantined_[at(quarantined_count_.get())] = block;
    quarantined_count_.add(1);
  }

  /// Every quarantined block becomes free, in the order it went in.
  std::int64_t release_quarantined() noexcept {
    const std::int64_t count = quarantined_count_.get();
    for (std::int64_t i = 0; i < count; ++i) {
      give(quarantined_[at(i)]);
    }
    quarantined_count_.set(0);
    return count;
  }

  void reset() noexcept {
    freed_count_ = 0;
    untouched_ = 0;
    free_count_.set(num_blocks_);
    quarantined_count_.set(0);
  }

  // For audit and digest.
  std::int64_t freed_count() const noexcept { return freed_count_; }
  BlockId freed(std::int64_t index) const noexcept { return freed_[at(index)]; }
  BlockId quarantined(std::int64_t index) const noexcept { return quarantined_[at(index)]; }
  std::int64_t untouched() const noexcept { return untouched_; }

 private:
  std::int64_t num_blocks_;
  VirtualArray<BlockId> freed_;        ///< A stack of freed_count_ blocks.
  VirtualArray<BlockId> quarantined_;  ///< In the order they came.
  std::int64_t freed_count_ = 0;
  std::int64_t untouched_ = 0;  ///< Blocks from here on were never taken.
  RelaxedCounter free_count_;   ///< freed_count_ + num_blocks_ - untouched_.
  RelaxedCounter quarantined_count_;
};

}  // namespace octavo::blocks
