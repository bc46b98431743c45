// What every algorithm of block_order.h has: its records, and the calls it may leave out.
#pragma once

#include <cstdint>

#include "blocks/block_queue.h"
#include "octavo/block_manager.h"

namespace octavo::blocks {

class BlockAlgorithm {
 public:
  static constexpr bool kNeedsNames = false;       ///< It knows blocks again by their names.
  static constexpr bool kMovesWhenParked = false;  ///< `parked` does something.

  BlockAlgorithm(const BlockManagerConfig& config, BlockRanks& ranks)
      : ranks_(ranks), capacity_(config.num_blocks) {}

  /// A block of this name is inserted soon; `sooner`: after only a few others.
  void expect(std::uint64_t /*name*/, bool /*sooner*/) const noexcept {}
  /// An admit bound the block.
  void served(BlockId /*block*/) noexcept {}
  /// Its last holder left; tail first within a release.
  void parked(BlockId /*block*/) noexcept {}
  /// It leaves, evicted or not, and is off its queue.
  void erase(BlockId /*block*/, bool /*evicted*/) noexcept {}

  // As of EvictionOrder.
  void acting(int /*slot*/) noexcept {}
  void ended(int /*slot*/) noexcept {}
  void set_retention(int /*slot*/, int /*priority*/, std::int64_t /*ttl_ticks*/) noexcept {}
  void advance_clock(std::int64_t /*now_ticks*/) noexcept {}
  std::int64_t now_ticks() const noexcept { return 0; }

  // Of what it keeps beside queues and ranks.
  void audit_own() const {}
  std::uint64_t digest_own() const { return 0; }

 protected:
  BlockRank& rank(BlockId block) noexcept { return ranks_[at(block)]; }
  const BlockRank& rank(BlockId block) const noexcept { return ranks_[at(block)]; }

  BlockRanks& ranks_;
  std::int64_t capacity_;  ///< Blocks in the pool.
};

}  // namespace octavo::blocks
