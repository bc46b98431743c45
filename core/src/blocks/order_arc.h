// ARC: a balance between what was seen once and what was seen again, learnt from what left.
//
// (Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003.) A new block
// enters T1, a served one T2; both give their least recently parked. The names of what left T1 and
// T2 stay in B1 and B2, T1 and B1 together at most one pool, all four two. A new block named in B1
// or B2 enters T2 and moves the target p of T1 by max(1, |B2| / |B1|) up, or by max(1, |B1| / |B2|)
// down, in steps of 2^-16 block. T1 gives while it has more than p, else T2. The pool makes room
// for a request's blocks before they are written, so p moves when they are sealed, after their
// evictions; the paper's special case for |T1| = p, which looks at the incoming block, is not
// there.
#pragma once

#include <algorithm>

#include "blocks/ghost_audit.h"
#include "blocks/queue_algorithm.h"

namespace octavo::blocks {

class ArcOrder : public QueueAlgorithm<2> {
 public:
  static constexpr bool kNeedsNames = true;
  static constexpr bool kMovesWhenParked = true;

  ArcOrder(const BlockManagerConfig& config, BlockRanks& ranks)
      : QueueAlgorithm(config, ranks), left_(2 * capacity_ + 1) {}

  void expect(std::uint64_t name, bool sooner) const noexcept {
    if (sooner) {
      left_.prefetch_ghost(name);
    } else {
      left_.prefetch_bucket(name);
    }
  }
  void insert(BlockId block) noexcept {
    const std::int64_t once = left_.size(kOnce);
    const std::int64_t again = left_.size(kAgain);
    const std::size_t list = left_.take(rank(block).name);
    if (list == kOnce) {
      target_ = std::min(capacity_ * kUnit, target_ + step(again, once));
    } else if (list == kAgain) {
      target_ = std::max<std::int64_t>(0, target_ - step(once, again));
    }
    enter(block, list == left_.kNowhere ? kOnce : kAgain);
    trim();
  }
  void served(BlockId block) noexcept { move(block, kAgain); }
  void parked(BlockId block) noexcept { move(block, rank(block).queue); }
  BlockId turn() noexcept {
    const bool once =
        !queues_[kOnce].empty() && (sizes_[kOnce] * kUnit > target_ || queues_[kAgain].empty());
    return pop(once ? kOnce : kAgain);
  }
  void erase(BlockId block, bool evicted) noexcept {
    QueueAlgorithm::erase(block, evicted);
    if (evicted && rank(block).name != 0) {
      left_.prefetch_oldest(ranks_, queue_of(block).oldest());
      left_.add(rank(block).queue, rank(block).name);
      trim();
    }
  }
  void clear() noexcept {
    QueueAlgorithm::clear();
    left_.clear();
    target_ = 0;
  }

  void audit_own() const {
    audit_ghosts(left_, kOnce, capacity_);
    audit_ghosts(left_, kAgain, 2 * capacity_);
    require_order(target_ >= 0 && target_ <= capacity_ * kUnit, "E-3: ARC's target is out of range",
                  target_);
  }
  std::uint64_t digest_own() const {
    const std::uint64_t ghosts = mix(digest_ghosts(left_, kOnce), digest_ghosts(left_, kAgain));
    return mix(static_cast<std::uint64_t>(target_), ghosts);
  }

 private:
  static constexpr std::uint8_t kOnce = 0;   ///< T1, and B1 among those that left.
  static constexpr std::uint8_t kAgain = 1;  ///< T2 and B2.
  static constexpr std::int64_t kUnit = 1 << 16;

  static std::int64_t step(std::int64_t other, std::int64_t own) noexcept {
    return std::max(kUnit, other * kUnit / own);
  }

  void trim() noexcept {
    while (left_.size(kOnce) > 0 && sizes_[kOnce] + left_.size(kOnce) > capacity_) {
      left_.drop_oldest(kOnce);
    }
    while (left_.size(kAgain) > 0 &&
           sizes_[kOnce] + sizes_[kAgain] + left_.size(kOnce) + left_.size(kAgain) >
               2 * capacity_) {
      left_.drop_oldest(kAgain);
    }
  }

  GhostMemory<2> left_;
  std::int64_t target_ = 0;  ///< p, what T1 should have, in 1 / kUnit of a block.
};

}  // namespace octavo::blocks
