// Least often served first; ties to the least recently parked.
//
// A block counts 1 when it becomes known and one more each time an admit binds it; the count goes
// with the block. One queue a count, so a touch and a turn are O(1); counts stop at 2^18 - 1.
#pragma once

#include <algorithm>

#include "blocks/block_algorithm.h"
#include "blocks/occupancy_map.h"

namespace octavo::blocks {

class LfuOrder : public BlockAlgorithm {
 public:
  static constexpr bool kMovesWhenParked = true;

  LfuOrder(const BlockManagerConfig& config, BlockRanks& ranks)
      : BlockAlgorithm(config, ranks),
        queues_(OccupancyMap::kSize, VirtualMemory::Pages::Small, "the queues of LFU") {}

  void insert(BlockId block) noexcept {
    rank(block).uses = 1;
    push_newest(block);
  }
  void served(BlockId block) noexcept {
    detach(block);
    rank(block).uses = std::min(rank(block).uses + 1, OccupancyMap::kSize - 1);
    push_newest(block);
  }
  void parked(BlockId block) noexcept {
    detach(block);
    push_newest(block);
  }
  BlockId turn() noexcept {
    const BlockId block = queues_[occupied_.first()].oldest();
    remove(block);
    return block;
  }
  void recall(BlockId block) noexcept {
    queues_[rank(block).uses].push_oldest(ranks_, block);
    occupied_.set(rank(block).uses);
  }
  void remove(BlockId block) noexcept {
    BlockQueue& queue = queues_[rank(block).uses];
    queue.remove(ranks_, block);
    if (queue.empty()) {
      occupied_.clear(rank(block).uses);
    }
  }
  void clear() noexcept {
    queues_.clear(OccupancyMap::kSize);
    occupied_.clear_all();
  }

  bool belongs(BlockId block, std::size_t queue) const noexcept {
    return rank(block).uses == queue;
  }
  template <class Visit>
  void visit_queues(Visit&& visit) const {
    occupied_.visit([&](std::uint32_t count) { visit(count, queues_[count], -1); });
  }

 private:
  void detach(BlockId block) noexcept {
    if (rank(block).place == RankPlace::Queued) {
      remove(block);
    }
  }
  void push_newest(BlockId block) noexcept {
    rank(block).place = RankPlace::Queued;
    queues_[rank(block).uses].push_newest(ranks_, block);
    occupied_.set(rank(block).uses);
  }

  VirtualArray<BlockQueue> queues_;  ///< By count.
  OccupancyMap occupied_;
};

}  // namespace octavo::blocks
