// The part that algorithms over a few queues share: which block is in which, and how many belong to
// each.
//
// A block belongs to the queue its rank names while it is queued and while it is set aside.
#pragma once

#include <array>

#include "blocks/block_algorithm.h"

namespace octavo::blocks {

template <std::size_t kQueues>
class QueueAlgorithm : public BlockAlgorithm {
 public:
  using BlockAlgorithm::BlockAlgorithm;

  void recall(BlockId block) noexcept { queue_of(block).push_oldest(ranks_, block); }
  void remove(BlockId block) noexcept { queue_of(block).remove(ranks_, block); }
  void erase(BlockId block, bool /*evicted*/) noexcept { --sizes_[rank(block).queue]; }
  void clear() noexcept {
    queues_ = {};
    sizes_ = {};
  }

  /// Whether the block belongs to the queue of this index.
  bool belongs(BlockId block, std::size_t queue) const noexcept {
    return rank(block).queue == queue;
  }

  template <class Visit>
  void visit_queues(Visit&& visit) const {
    for (std::size_t index = 0; index < kQueues; ++index) {
      visit(index, queues_[index], sizes_[index]);
    }
  }

 protected:
  BlockQueue& queue_of(BlockId block) noexcept { return queues_[rank(block).queue]; }

  /// A new block, as the newest.
  void enter(BlockId block, std::uint8_t queue) noexcept {
    rank(block).queue = queue;
    ++sizes_[queue];
    queues_[queue].push_newest(ranks_, block);
  }

  /// From where it belongs, queued or aside, to the new end of `queue`.
  void move(BlockId block, std::uint8_t queue) noexcept {
    BlockRank& moved = rank(block);
    if (moved.place == RankPlace::Queued) {
      queues_[moved.queue].remove(ranks_, block);
    }
    --sizes_[moved.queue];
    moved.place = RankPlace::Queued;
    enter(block, queue);
  }

  BlockId pop(std::uint8_t queue) noexcept {
    const BlockId block = queues_[queue].oldest();
    queues_[queue].remove(ranks_, block);
    return block;
  }

  std::array<BlockQueue, kQueues> queues_{};
  std::array<std::int64_t, kQueues> sizes_{};  ///< Those set aside count.
};

}  // namespace octavo::blocks
