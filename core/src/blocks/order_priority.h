// Lowest retention priority first, expired ones before, then the least recently parked.
//
// A block takes the retention of the slot whose release parks it, and keeps it until it is parked
// again: a priority, and perhaps a time to live from then on. When that is over it leaves before
// every block that is not expired, among its like in the order they expired.
#pragma once

#include <array>

#include "blocks/block_algorithm.h"
#include "blocks/expiry_wheel.h"
#include "blocks/occupancy_map.h"
#include "blocks/order_error.h"

namespace octavo::blocks {

class PriorityOrder : public BlockAlgorithm {
 public:
  static constexpr bool kMovesWhenParked = true;

  PriorityOrder(const BlockManagerConfig& config, BlockRanks& ranks)
      : BlockAlgorithm(config, ranks),
        slots_(config.max_seqs),
        retentions_(at(config.max_seqs), VirtualMemory::Pages::Small, "the slots' retentions"),
        wheel_(config.num_blocks) {}

  void insert(BlockId block) noexcept { enter(block, level_of(kDefaultPriority)); }
  void parked(BlockId block) noexcept {
    if (rank(block).place == RankPlace::Queued) {
      remove(block);
    }
    wheel_.remove(block);
    const Retention& retention = retentions_[at(acting_)];
    enter(block, retention.level > 0 ? retention.level : level_of(kDefaultPriority));
    if (retention.ttl_ticks > 0) {
      wheel_.add(block, wheel_.now() + retention.ttl_ticks);
    }
  }
  BlockId turn() noexcept {
    const BlockId block = queues_[occupied_.first()].oldest();
    remove(block);
    return block;
  }
  void recall(BlockId block) noexcept {
    queues_[rank(block).queue].push_oldest(ranks_, block);
    occupied_.set(rank(block).queue);
  }
  void remove(BlockId block) noexcept {
    BlockQueue& queue = queues_[rank(block).queue];
    queue.remove(ranks_, block);
    if (queue.empty()) {
      occupied_.clear(rank(block).queue);
    }
  }
  void erase(BlockId block, bool /*evicted*/) noexcept { wheel_.remove(block); }

  void acting(int slot) noexcept { acting_ = slot; }
  void ended(int slot) noexcept { retentions_[at(slot)] = {}; }
  void set_retention(int slot, int priority, std::int64_t ttl_ticks) noexcept {
    retentions_[at(slot)] = {ttl_ticks, level_of(priority)};
  }
  void advance_clock(std::int64_t now_ticks) noexcept {
    wheel_.advance(now_ticks, [&](BlockId block) { expire(block); });
  }
  std::int64_t now_ticks() const noexcept { return wheel_.now(); }

  void clear() noexcept {
    queues_ = {};
    occupied_.clear_all();
    retentions_.clear(at(slots_));
    wheel_.clear(capacity_);
    acting_ = 0;
  }

  bool belongs(BlockId block, std::size_t queue) const noexcept {
    return rank(block).queue == queue;
  }
  template <class Visit>
  void visit_queues(Visit&& visit) const {
    occupied_.visit([&](std::uint32_t level) { visit(level, queues_[level], -1); });
  }
  void audit_own() const {
    occupied_.visit([&](std::uint32_t level) {
      for (BlockId block = queues_[level].oldest(); block != kNoBlock; block = rank(block).newer) {
        require_order(wheel_.expiry(block) == 0 || wheel_.expiry(block) > wheel_.now(),
                      "E-3: a block is past its expiry", block);
      }
    });
  }
  std::uint64_t digest_own() const {
    std::uint64_t hash = static_cast<std::uint64_t>(wheel_.now());
    for (int slot = 0; slot < slots_; ++slot) {
      const Retention& retention = retentions_[at(slot)];
      if (retention.level > 0) {
        hash = mix(at(slot), mix(retention.level, mix(at(retention.ttl_ticks), hash)));
      }
    }
    visit_queues([&](std::size_t, const BlockQueue& queue, std::int64_t) {
      for (BlockId block = queue.oldest(); block != kNoBlock; block = rank(block).newer) {
        hash = mix(at(wheel_.expiry(block)), hash);
      }
    });
    return hash;
  }

 private:
  static constexpr std::uint8_t kExpired = 0;
  static constexpr std::size_t kLevels = kHighestPriority + 2;

  struct Retention {
    std::int64_t ttl_ticks;  ///< 0: for ever.
    std::uint8_t level;      ///< 0: nothing was set.
  };

  static std::uint8_t level_of(int priority) noexcept {
    return static_cast<std::uint8_t>(priority + 1);
  }
  void enter(BlockId block, std::uint8_t level) noexcept {
    rank(block).place = RankPlace::Queued;
    rank(block).queue = level;
    queues_[level].push_newest(ranks_, block);
    occupied_.set(level);
  }
  void expire(BlockId block) noexcept {
    if (rank(block).place == RankPlace::Queued) {
      remove(block);
      enter(block, kExpired);
    } else {
      rank(block).queue = kExpired;  // It returns there.
    }
  }

  std::array<BlockQueue, kLevels> queues_{};  ///< The expired, then by priority.
  OccupancyMap occupied_;
  int slots_;
  VirtualArray<Retention> retentions_;  ///< By slot.
  ExpiryWheel wheel_;
  int acting_ = 0;  ///< The slot whose doing it is.
};

}  // namespace octavo::blocks
