// When which block expires: a hierarchical timing wheel over integer ticks.
//
// (Varghese and Lauck, "Hashed and hierarchical timing wheels", SOSP 1987.) Level L has a slot for
// each value of the L-th group of six bits; a block waits at the highest group in which its expiry
// differs from the present, and falls to a lower level when the present reaches its slot. So a
// block moves at most eleven times in its life, and time may jump by any amount. Blocks come out in
// the order of their expiry, those of one tick in the order they went in.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "blocks/block_queue.h"

namespace octavo::blocks {

class ExpiryWheel {
 public:
  explicit ExpiryWheel(std::int64_t num_blocks)
      : timers_(at(num_blocks), VirtualMemory::Pages::Huge, "the blocks' expiries") {}

  std::int64_t now() const noexcept { return now_; }
  /// 0: never.
  std::int64_t expiry(BlockId block) const noexcept { return timers_[at(block)].expiry; }

  /// REQUIRES: `expiry` > now(), and the block has none.
  void add(BlockId block, std::int64_t expiry) noexcept {
    timers_[at(block)].expiry = expiry;
    const std::size_t slot = slot_of(expiry);
    slots_[slot].push_newest(timers_, block);
    occupied_[slot / 64] |= bit(slot);
  }

  void remove(BlockId block) noexcept {
    if (timers_[at(block)].expiry == 0) {
      return;
    }
    const std::size_t slot = slot_of(timers_[at(block)].expiry);
    take(slot, block);
    timers_[at(block)].expiry = 0;
  }

  /// Moves the present to `to` (>= now()) and calls expired(block) for each whose time has come; it
  /// has no expiry any more.
  template <class Expired>
  void advance(std::int64_t to, Expired&& expired) noexcept {
    std::size_t slot = 0;
    for (std::int64_t begin = next_slot(slot); begin >= 0 && begin <= to; begin = next_slot(slot)) {
      now_ = begin;
      while (!slots_[slot].empty()) {
        const BlockId block = slots_[slot].oldest();
        take(slot, block);
        const std::int64_t expiry = timers_[at(block)].expiry;
        if (expiry > now_) {
          add(block, expiry);
        } else {
          timers_[at(block)].expiry = 0;
          expired(block);
        }
      }
    }
    now_ = to;
  }

  void clear(std::int64_t num_blocks) noexcept {
    timers_.clear(at(num_blocks));
    slots_ = {};
    occupied_ = {};
    now_ = 0;
  }

 private:
  static constexpr std::size_t kLevels = 11;

  struct Timer {
    BlockId older, newer;
    std::int64_t expiry;  ///< 0: none.
  };

  static std::uint64_t bit(std::size_t slot) noexcept { return std::uint64_t{1} << slot % 64; }

  std::size_t slot_of(std::int64_t expiry) const noexcept {
    const auto differing = static_cast<std::uint64_t>(expiry ^ now_);
    const std::size_t level = (static_cast<std::size_t>(std::bit_width(differing)) - 1) / 6;
    return level * 64 + (static_cast<std::uint64_t>(expiry) >> (6 * level)) % 64;
  }

  void take(std::size_t slot, BlockId block) noexcept {
    slots_[slot].remove(timers_, block);
    if (slots_[slot].empty()) {
      occupied_[slot / 64] &= ~bit(slot);
    }
  }

  // The first occupied slot and the tick it begins at, or -1. What is at a lower level is sooner.
  std::int64_t next_slot(std::size_t& slot) const noexcept {
    for (std::size_t level = 0; level < kLevels; ++level) {
      if (occupied_[level] == 0) {
        continue;
      }
      const auto index = static_cast<std::uint64_t>(std::countr_zero(occupied_[level]));
      slot = level * 64 + index;
      const auto now = static_cast<std::uint64_t>(now_);
      const std::uint64_t above = level + 1 == kLevels ? 0 : now >> (6 * level + 6) << 6;
      return static_cast<std::int64_t>((above | index) << (6 * level));
    }
    return -1;
  }

  VirtualArray<Timer> timers_;  ///< By block.
  std::array<BlockQueue, kLevels * 64> slots_{};
  std::array<std::uint64_t, kLevels> occupied_{};
  std::int64_t now_ = 0;
};

}  // namespace octavo::blocks
