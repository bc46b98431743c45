// HDQ: when to be plain LRU instead.
//
// Both compare with what LRU would have hit in a pool of the same size, which the policy counts
// exactly beside its own hits.
//
// The *gate* asks whether there is anything to win: it is shut, and LRU rules, unless the blocks
// that are remembered and that LRU missed are more than 8 % of LRU's hits; both sums halve every
// 8 x capacity allocations. The *guard* asks whether the policy loses: the balance of its hits over
// LRU's is kept, at most 10 % of the capacity ahead. When it is 2 % of the capacity behind, LRU
// rules for the next X x capacity allocations, and the balance starts at nothing; X doubles with
// every such stay, from 1 to at most 16, and is 1 again once the balance is full.
#pragma once

#include <algorithm>
#include <cstdint>

#include "blocks/chain_hash.h"

namespace octavo::blocks::hdq {

class Guard {
 public:
  explicit Guard(std::int64_t capacity) : capacity_(capacity) {}

  /// What one session asked for, in blocks that may be served: those the policy had, those LRU
  /// would have had, those that are known at all. All are prefixes; known >= either.
  void touched(std::int64_t ours, std::int64_t lru, std::int64_t known) noexcept {
    missed_ += (known - lru) * kOne;
    lru_hits_ += lru * kOne;
    if (std::max(missed_, lru_hits_) > kLargestSum) {  // Nothing was allocated for ages.
      missed_ /= 2;
      lru_hits_ /= 2;
    }
    open_ = missed_ * 25 > lru_hits_ * 2;  // More than 8 %.
    if (!leads()) {
      return;
    }
    const std::int64_t full = capacity_ / 10;
    balance_ = std::min(balance_ + ours - lru, full);
    if (balance_ >= full) {
      stay_ = 1;
    }
    if (balance_ * 50 < -capacity_) {
      lru_for_ = stay_ * capacity_;
      stay_ = std::min<std::int64_t>(stay_ * 2, kLongestStay);
    }
  }

  /// Blocks were taken that a hit would have saved.
  void allocated(std::int64_t blocks) noexcept {
    if (lru_for_ > 0) {
      lru_for_ = std::max<std::int64_t>(lru_for_ - blocks, 0);
      balance_ = lru_for_ == 0 ? 0 : balance_;
    }
    aged_ += blocks * kAgings;
    for (; aged_ >= capacity_; aged_ -= capacity_) {
      missed_ -= aging(missed_);
      lru_hits_ -= aging(lru_hits_);
    }
  }

  /// Whether densities decide now; else LRU does.
  bool leads() const noexcept { return open_ && lru_for_ == 0; }

  std::int64_t balance() const noexcept { return balance_; }
  std::int64_t lru_for() const noexcept { return lru_for_; }
  std::int64_t stay() const noexcept { return stay_; }
  bool open() const noexcept { return open_; }
  std::uint64_t digest() const noexcept {
    std::uint64_t hash = open_ ? 1 : 0;
    for (const std::int64_t word : {missed_, lru_hits_, aged_, balance_, lru_for_, stay_}) {
      hash = mix(hash, static_cast<std::uint64_t>(word));
    }
    return hash;
  }

 private:
  static constexpr std::int64_t kOne = 1 << 16;  // Sums have 16 bits behind the point.
  static constexpr std::int64_t kLargestSum = std::int64_t{1} << 56;
  static constexpr std::int64_t kLongestStay = 16;  // Capacities.
  static constexpr std::int64_t kAgings = 16;       // Times the sums age in a capacity.
  static constexpr std::int64_t kAgingShift = 20;
  static constexpr std::int64_t kAgingPart = 5663;  // round(2^20 (1 - 2^(-1/128)))

  // What goes of a sum at one aging: half goes in 128. Split so that nothing outgrows 64 bits.
  static std::int64_t aging(std::int64_t sum) noexcept {
    return (sum >> kAgingShift) * kAgingPart +
           (((sum & ((1 << kAgingShift) - 1)) * kAgingPart) >> kAgingShift);
  }

  std::int64_t capacity_;  ///< Blocks of the pool.
  std::int64_t missed_ = 0;
  std::int64_t lru_hits_ = 0;
  std::int64_t aged_ = 0;     ///< Allocations since the sums last aged, times kAgings.
  std::int64_t balance_ = 0;  ///< Our hits less LRU's, in blocks.
  std::int64_t lru_for_ = 0;  ///< Allocations for which LRU rules by the guard's word.
  std::int64_t stay_ = 1;     ///< The next such stay, in capacities.
  bool open_ = false;
};

}  // namespace octavo::blocks::hdq
