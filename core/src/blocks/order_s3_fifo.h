// S3-FIFO: a small FIFO that most newcomers do not survive, a main one, and a memory of names.
//
// (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023.) A new block enters
// the small queue, or the main one when its name is remembered. Serving counts up to 3. While the
// small queue has a tenth of the pool or more it gives: who was served moves to the main queue with
// its count at 0, who was not leaves and is remembered, as many names as the main queue's nine
// tenths. Else the main queue gives: who has a count pays one and goes to the new end. The paper
// asks for two hits in the small queue; a prompt's prefix seldom comes twice in so short a time,
// and one gives more hits on recorded prompts.
#pragma once

#include <algorithm>

#include "blocks/ghost_audit.h"
#include "blocks/queue_algorithm.h"

namespace octavo::blocks {

class S3FifoOrder : public QueueAlgorithm<2> {
 public:
  static constexpr bool kNeedsNames = true;

  S3FifoOrder(const BlockManagerConfig& config, BlockRanks& ranks)
      : QueueAlgorithm(config, ranks),
        small_target_(std::max<std::int64_t>(1, capacity_ / 10)),
        ghosts_most_(capacity_ - small_target_),
        ghosts_(ghosts_most_ + 1) {}

  void expect(std::uint64_t name, bool sooner) const noexcept {
    if (sooner) {
      ghosts_.prefetch_ghost(name);
    } else {
      ghosts_.prefetch_bucket(name);
    }
  }
  void insert(BlockId block) noexcept {
    rank(block).uses = 0;
    enter(block, ghosts_.take(rank(block).name) == ghosts_.kNowhere ? kSmall : kMain);
  }
  void served(BlockId block) noexcept {
    rank(block).uses = std::min(rank(block).uses + 1, kUsesMost);
  }
  BlockId turn() noexcept {
    for (;;) {
      const bool small =
          !queues_[kSmall].empty() && (sizes_[kSmall] >= small_target_ || queues_[kMain].empty());
      const BlockId block = queues_[small ? kSmall : kMain].oldest();
      std::uint32_t& uses = rank(block).uses;
      if (small ? uses < kUsesToStay : uses == 0) {
        return pop(small ? kSmall : kMain);
      }
      uses = small ? 0 : uses - 1;
      move(block, kMain);
    }
  }
  void erase(BlockId block, bool evicted) noexcept {
    const BlockRank& gone = rank(block);
    if (evicted && gone.queue == kSmall && gone.name != 0) {
      ghosts_.prefetch_oldest(ranks_, queues_[kSmall].oldest());
      ghosts_.add(0, gone.name);
      if (ghosts_.size(0) > ghosts_most_) {
        ghosts_.drop_oldest(0);
      }
    }
    QueueAlgorithm::erase(block, evicted);
  }
  void clear() noexcept {
    QueueAlgorithm::clear();
    ghosts_.clear();
  }

  void audit_own() const { audit_ghosts(ghosts_, 0, ghosts_most_); }
  std::uint64_t digest_own() const { return digest_ghosts(ghosts_, 0); }

 private:
  static constexpr std::uint8_t kSmall = 0;
  static constexpr std::uint8_t kMain = 1;
  static constexpr std::uint32_t kUsesMost = 3;
  static constexpr std::uint32_t kUsesToStay = 1;

  std::int64_t small_target_;
  std::int64_t ghosts_most_;
  GhostMemory<1> ghosts_;
};

}  // namespace octavo::blocks
