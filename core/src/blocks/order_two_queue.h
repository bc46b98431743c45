// 2Q: newcomers pass through a FIFO; who comes back after that stays in an LRU list.
//
// (Johnson and Shasha, "2Q: a low overhead high performance buffer management replacement
// algorithm", VLDB 1994, the full version with its constants.) A new block enters the FIFO A1in,
// which serving does not change. Evicted from there, its name stays in the memory A1out, of half
// the pool; a new block of that name enters the list Am instead. While A1in has more than a quarter
// of the pool it gives, else Am does, the least recently parked first.
#pragma once

#include <algorithm>

#include "blocks/ghost_audit.h"
#include "blocks/queue_algorithm.h"

namespace octavo::blocks {

class TwoQueueOrder : public QueueAlgorithm<2> {
 public:
  static constexpr bool kNeedsNames = true;
  static constexpr bool kMovesWhenParked = true;

  TwoQueueOrder(const BlockManagerConfig& config, BlockRanks& ranks)
      : QueueAlgorithm(config, ranks),
        in_most_(std::max<std::int64_t>(1, capacity_ / 4)),
        out_most_(std::max<std::int64_t>(1, capacity_ / 2)),
        out_(out_most_ + 1) {}

  void expect(std::uint64_t name, bool sooner) const noexcept {
    if (sooner) {
      out_.prefetch_ghost(name);
    } else {
      out_.prefetch_bucket(name);
    }
  }
  void insert(BlockId block) noexcept {
    enter(block, out_.take(rank(block).name) == out_.kNowhere ? kIn : kMain);
  }
  void parked(BlockId block) noexcept {
    if (rank(block).queue == kMain) {
      move(block, kMain);
    }
  }
  BlockId turn() noexcept {
    const bool in = !queues_[kIn].empty() && (sizes_[kIn] > in_most_ || queues_[kMain].empty());
    return pop(in ? kIn : kMain);
  }
  void erase(BlockId block, bool evicted) noexcept {
    const BlockRank& gone = rank(block);
    if (evicted && gone.queue == kIn && gone.name != 0) {
      out_.prefetch_oldest(ranks_, queues_[kIn].oldest());
      out_.add(0, gone.name);
      if (out_.size(0) > out_most_) {
        out_.drop_oldest(0);
      }
    }
    QueueAlgorithm::erase(block, evicted);
  }
  void clear() noexcept {
    QueueAlgorithm::clear();
    out_.clear();
  }

  void audit_own() const { audit_ghosts(out_, 0, out_most_); }
  std::uint64_t digest_own() const { return digest_ghosts(out_, 0); }

 private:
  static constexpr std::uint8_t kIn = 0;
  static constexpr std::uint8_t kMain = 1;

  std::int64_t in_most_;
  std::int64_t out_most_;
  GhostMemory<1> out_;
};

}  // namespace octavo::blocks
