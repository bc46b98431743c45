// SIEVE: one FIFO and a hand that spares whom it finds served since its last visit.
//
// (Zhang et al., "SIEVE is simpler than LRU", NSDI 2024.) The hand moves from old to new and wraps
// around; who is spared keeps its place. A block that was set aside returns under the hand.
#pragma once

#include "blocks/order_error.h"
#include "blocks/queue_algorithm.h"

namespace octavo::blocks {

class SieveOrder : public QueueAlgorithm<1> {
 public:
  using QueueAlgorithm::QueueAlgorithm;

  void insert(BlockId block) noexcept {
    rank(block).uses = 0;
    enter(block, 0);
  }
  void served(BlockId block) noexcept { rank(block).uses = 1; }
  BlockId turn() noexcept {
    BlockId block = hand_ != kNoBlock ? hand_ : queues_[0].oldest();
    while (rank(block).uses > 0) {
      rank(block).uses = 0;
      const BlockId newer = rank(block).newer;
      block = newer != kNoBlock ? newer : queues_[0].oldest();
    }
    hand_ = block;
    remove(block);
    return block;
  }
  void recall(BlockId block) noexcept {
    queues_[0].push_before(ranks_, hand_, block);
    hand_ = block;
  }
  void remove(BlockId block) noexcept {
    if (hand_ == block) {
      hand_ = rank(block).newer;
    }
    QueueAlgorithm::remove(block);
  }
  void clear() noexcept {
    QueueAlgorithm::clear();
    hand_ = kNoBlock;
  }

  void audit_own() const {
    require_order(hand_ == kNoBlock || rank(hand_).place == RankPlace::Queued,
                  "E-3: SIEVE's hand is on no block of the queue", hand_);
  }
  std::uint64_t digest_own() const { return at(hand_) + 1; }

 private:
  BlockId hand_ = kNoBlock;  ///< Whom it looks at next; kNoBlock: the oldest.
};

}  // namespace octavo::blocks
