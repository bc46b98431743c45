// HDQ once more, slowly: vectors and maps, searched from end to end, and an LRU cache of its own
// beside it. Only the arithmetic that has tests of its own is shared: class_of, Density, Guard.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "blocks/hdq_classes.h"
#include "blocks/hdq_density.h"
#include "blocks/hdq_guard.h"

namespace octavo::testing {

namespace hdq = blocks::hdq;

class NaiveHdq {
 public:
  NaiveHdq(std::int64_t capacity, std::int64_t block_tokens)
      : capacity_(capacity), block_tokens_(block_tokens), guard_(capacity) {
    density_.learn(counters_);
  }

  std::int64_t serve(std::span<const std::int32_t> ids,
                     std::int64_t servable,
                     std::int64_t output_tokens) {
    ids = ids.first(std::min(ids.size(), static_cast<std::size_t>(capacity_)));
    const std::size_t known = begin(ids, servable);
    const std::uint8_t depth = known == 0 ? 0
                                          : static_cast<std::uint8_t>(std::min<int>(
                                                blocks_[ids[known - 1]].depth + 1, hdq::kDeepest));
    const std::int64_t served = leading(ids, [&](std::int32_t id) { return resident(id); });
    lru_.erase(std::remove_if(lru_.begin(), lru_.end(),
                              [&](std::int32_t id) {
                                return std::find(ids.begin(), ids.end(), id) != ids.end();
                              }),
               lru_.end());
    while (std::ssize(lru_) > capacity_ - std::ssize(ids)) {
      lru_.erase(lru_.begin());
    }

    for (std::int64_t i = 0; i < served; ++i) {
      leave_group(ids[static_cast<std::size_t>(i)]);
    }
    while (residents() + std::ssize(ids) - served > capacity_) {
      evict();
    }
    for (std::size_t i = static_cast<std::size_t>(served); i < ids.size(); ++i) {
      if (i < known && blocks_.count(ids[i]) > 0) {
        leave_group(ids[i]);
      } else {
        while (std::ssize(blocks_) == 17 * capacity_) {
          forget_one();
        }
        blocks_[ids[i]] = {i == 0 ? -1 : ids[i - 1], 1, depth, true, false};
      }
      blocks_[ids[i]].resident = true;
      blocks_[ids[i]].held = true;
    }
    park(ids, hdq::traits_of((std::ssize(ids) - static_cast<std::int64_t>(known)) * block_tokens_,
                             output_tokens));
    for (std::size_t i = ids.size(); i-- > 0;) {
      lru_.push_back(ids[i]);
    }
    return std::min(served, servable);
  }

  bool resident(std::int32_t id) const {
    const auto found = blocks_.find(id);
    return found != blocks_.end() && found->second.resident;
  }
  std::int64_t known() const { return std::ssize(blocks_); }
  std::int64_t lru_hits() const { return lru_hits_; }
  std::int64_t set_aside() const { return times_set_aside_; }
  std::int64_t forgotten() const { return times_forgotten_; }
  std::int64_t chosen_by_density() const { return times_chosen_; }

 private:
  struct Block {
    std::int32_t parent;
    std::uint8_t touches;
    std::uint8_t depth;
    bool resident;
    bool held;
  };
  struct Group {
    std::int64_t time;
    hdq::ClassId class_id;
    std::size_t bucket;
    std::int64_t place;  ///< In the queue of its class and bucket: lower goes first.
    bool set_aside;
    bool passed;
    std::vector<std::int32_t> members;  ///< Deepest first.
  };

  template <class Holds>
  static std::int64_t leading(std::span<const std::int32_t> ids, Holds&& holds) {
    std::int64_t count = 0;
    while (count < std::ssize(ids) && holds(ids[static_cast<std::size_t>(count)])) {
      ++count;
    }
    return count;
  }
  std::int64_t residents() const {
    return std::count_if(blocks_.begin(), blocks_.end(),
                         [](const auto& entry) { return entry.second.resident; });
  }
  std::size_t group_of(std::int32_t id) const {
    std::size_t index = 0;
    while (std::find(groups_[index].members.begin(), groups_[index].members.end(), id) ==
           groups_[index].members.end()) {
      ++index;
    }
    return index;
  }
  std::optional<std::int32_t> deepest_resident(const Group& group) const {
    for (const std::int32_t id : group.members) {
      if (blocks_.at(id).resident) {
        return id;
      }
    }
    return std::nullopt;
  }
  bool carries(std::int32_t id) const {
    return std::any_of(blocks_.begin(), blocks_.end(), [&](const auto& entry) {
      return entry.second.parent == id && entry.second.resident;
    });
  }

  // Returns how many of the blocks are known.
  std::size_t begin(std::span<const std::int32_t> ids, std::int64_t servable) {
    guard_.allocated(allocated_);
    if (unlearned_ == 32) {
      unlearned_ = 0;
      density_.learn(counters_);
    }
    ++clock_;
    std::int64_t last_place = 0;
    for (const Group& group : groups_) {
      last_place = std::max(last_place, group.place);
    }
    for (Group& group : groups_) {
      const std::size_t bucket = bucket_of(clock_ - group.time);
      if (bucket != group.bucket) {
        group.bucket = bucket;
        group.place = ++last_place;
        counters_.enter(group.class_id, bucket, group.members.size());
      }
    }
    const auto known = static_cast<std::size_t>(
        leading(ids, [&](std::int32_t id) { return blocks_.count(id) > 0; }));
    for (const std::int32_t id : ids.first(known)) {
      const Group& group = groups_[group_of(id)];
      counters_.hit(group.class_id, group.bucket);
      blocks_[id].touches = static_cast<std::uint8_t>(std::min<int>(blocks_[id].touches + 1, 5));
    }
    const std::int64_t resident = leading(ids, [&](std::int32_t id) { return this->resident(id); });
    const std::int64_t in_lru =
        std::min(servable, leading(ids, [&](std::int32_t id) {
                   return std::find(lru_.begin(), lru_.end(), id) != lru_.end();
                 }));
    guard_.touched(std::min(resident, servable), in_lru,
                   std::min(static_cast<std::int64_t>(known), servable));
    lru_hits_ += in_lru;
    allocated_ = std::ssize(ids) - resident;
    if (!ids.empty()) {
      ++unlearned_;
      ++counters_.sessions;
      counters_.session_blocks += ids.size();
    }
    return known;
  }

  static std::size_t bucket_of(std::int64_t age) {
    std::size_t bucket = 0;
    for (std::int64_t end = 1; age >= end && bucket < 14; end *= 2) {
      ++bucket;
    }
    return bucket;
  }

  void park(std::span<const std::int32_t> ids, hdq::SessionTraits traits) {
    bool first = true;
    for (std::size_t i = ids.size(); i-- > 0;) {
      Block& block = blocks_[ids[i]];
      block.held = false;
      const hdq::ClassId class_id = hdq::class_of(blocks_[ids.back()].depth, block.touches, traits);
      if (first || groups_.back().class_id != class_id) {
        std::int64_t place = 0;
        for (const Group& group : groups_) {
          place = std::max(place, group.place + 1);
        }
        groups_.push_back({clock_, class_id, 0, place, false, false, {}});
        first = false;
      }
      groups_.back().members.push_back(ids[i]);
      counters_.enter(class_id, 0, 1);
    }
  }

  void leave_group(std::int32_t id) {
    const std::size_t index = group_of(id);
    auto& members = groups_[index].members;
    members.erase(std::find(members.begin(), members.end(), id));
    drop_if_empty(index);
  }
  void drop_if_empty(std::size_t index) {
    if (groups_[index].members.empty()) {
      groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }

  // The oldest group with a resident block, or the first in the queue of least density that may
  // go; those found carrying something are set aside.
  std::size_t choose() {
    for (;;) {
      std::size_t best = groups_.size();
      for (std::size_t i = 0; i < groups_.size(); ++i) {
        if (!deepest_resident(groups_[i])) {
          continue;
        }
        if (!guard_.leads()) {
          return i;
        }
        if (!groups_[i].set_aside && (best == groups_.size() || before(i, best))) {
          best = i;
        }
      }
      ++times_chosen_;
      if (!carries(*deepest_resident(groups_[best]))) {
        return best;
      }
      groups_[best].set_aside = true;
      ++times_set_aside_;
    }
  }
  bool before(std::size_t a, std::size_t b) const {
    const Group& x = groups_[a];
    const Group& y = groups_[b];
    if (x.class_id == y.class_id) {  // Densities fall with age.
      return x.bucket != y.bucket ? x.bucket > y.bucket : x.place < y.place;
    }
    const double density_x = class_density(x.class_id);
    const double density_y = class_density(y.class_id);
    return density_x != density_y ? density_x < density_y : x.class_id < y.class_id;
  }
  // Of its oldest bucket that has a queue.
  double class_density(hdq::ClassId class_id) const {
    std::size_t bucket = 0;
    for (const Group& group : groups_) {
      if (group.class_id == class_id && !group.set_aside && deepest_resident(group)) {
        bucket = std::max(bucket, group.bucket);
      }
    }
    return density_.at(class_id, bucket);
  }

  void evict() {
    const std::size_t index = choose();
    const std::int32_t id = *deepest_resident(groups_[index]);
    const std::int32_t parent = blocks_[id].parent;
    blocks_[id].resident = false;
    if (groups_[index].passed) {
      forget(index);
    }
    if (parent < 0 || carries(parent) || blocks_[parent].held) {
      return;
    }
    for (Group& group : groups_) {
      if (group.set_aside && deepest_resident(group) == parent) {
        group.set_aside = false;
        for (const Group& other : groups_) {
          group.place = std::min(group.place, other.place - 1);
        }
      }
    }
  }

  void forget(std::size_t index) {
    blocks_.erase(groups_[index].members.front());
    groups_[index].members.erase(groups_[index].members.begin());
    ++times_forgotten_;
    drop_if_empty(index);
  }
  void forget_one() {
    for (std::size_t index = 0;; ++index) {
      if (!blocks_[groups_[index].members.front()].resident) {
        forget(index);
        return;
      }
      groups_[index].passed = true;
    }
  }

  std::int64_t capacity_;
  std::int64_t block_tokens_;
  std::map<std::int32_t, Block> blocks_;
  std::vector<Group> groups_;      ///< Oldest first.
  std::vector<std::int32_t> lru_;  ///< Of a pool of the same size, oldest first.
  hdq::Counters counters_;
  hdq::Density density_;
  hdq::Guard guard_;
  std::int64_t clock_ = 0;
  std::int64_t allocated_ = 0;
  int unlearned_ = 0;
  std::int64_t lru_hits_ = 0;
  std::int64_t times_set_aside_ = 0;
  std::int64_t times_forgotten_ = 0;
  std::int64_t times_chosen_ = 0;
};

}  // namespace octavo::testing
