// Segmented LRU: what was served once more lives in a protected segment.
//
// (Karedla, Love and Wherry, "Caching strategies to improve disk system performance", Computer
// 1994.) A new block enters probation; a served one enters protection, which keeps at most 80 % of
// the pool: its oldest fall back to the new end of probation. Probation leaves first, each segment
// from the least recently parked on.
#pragma once

#include "blocks/queue_algorithm.h"

namespace octavo::blocks {

class SlruOrder : public QueueAlgorithm<2> {
 public:
  static constexpr bool kMovesWhenParked = true;

  SlruOrder(const BlockManagerConfig& config, BlockRanks& ranks)
      : QueueAlgorithm(config, ranks), protected_most_(capacity_ * 4 / 5) {}

  void insert(BlockId block) noexcept { enter(block, kProbation); }
  void served(BlockId block) noexcept {
    move(block, kProtected);
    while (sizes_[kProtected] > protected_most_ && !queues_[kProtected].empty()) {
      move(queues_[kProtected].oldest(), kProbation);
    }
  }
  void parked(BlockId block) noexcept { move(block, rank(block).queue); }
  BlockId turn() noexcept { return pop(queues_[kProbation].empty() ? kProtected : kProbation); }

 private:
  static constexpr std::uint8_t kProbation = 0;
  static constexpr std::uint8_t kProtected = 1;

  std::int64_t protected_most_;
};

}  // namespace octavo::blocks
