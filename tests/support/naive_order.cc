#include "naive_order.h"

#include <algorithm>
#include <sstream>

namespace octavo::testkit {
namespace {

constexpr std::int64_t kArcUnit = 65536;

}  // namespace

NaiveOrder::NaiveOrder(const BlockManagerConfig& config) : config_(config) {}

std::int64_t NaiveOrder::size(int queue) const {
  return std::count_if(known_.begin(), known_.end(),
                       [&](const auto& entry) { return entry.second.queue == queue; });
}

void NaiveOrder::detach(Block block) {
  for (Queue& queue : queues_) {
    const auto found = std::find(queue.begin(), queue.end(), block);
    if (found == queue.end()) {
      continue;
    }
    if (hand_ == block) {
      hand_ = found + 1 == queue.end() ? -1 : found[1];
    }
    queue.erase(found);
  }
}

void NaiveOrder::move(Block block, int queue) {
  detach(block);
  known_.at(block).queue = queue;
  known_.at(block).aside = false;
  queues_.at(static_cast<std::size_t>(queue)).push_back(block);
}

// --- New blocks, and those that come back ---

bool NaiveOrder::recall_ghost(std::size_t list, const Name& name) {
  return !name.second.empty() && std::erase(ghosts_.at(list), name) > 0;
}

int NaiveOrder::queue_of_new(const Name& name) {
  switch (config_.policy) {
    case EvictionPolicy::TwoQueue:
    case EvictionPolicy::S3Fifo:
      return recall_ghost(0, name) ? 1 : 0;
    case EvictionPolicy::Arc: {
      const std::int64_t once = std::ssize(ghosts_[0]);
      const std::int64_t again = std::ssize(ghosts_[1]);
      if (recall_ghost(0, name)) {
        target_ += std::max(kArcUnit, again * kArcUnit / once);
        target_ = std::min(target_, config_.num_blocks * kArcUnit);
        return 1;
      }
      if (recall_ghost(1, name)) {
        target_ -= std::max(kArcUnit, once * kArcUnit / again);
        target_ = std::max<std::int64_t>(target_, 0);
        return 1;
      }
      return 0;
    }
    default:
      return 0;
  }
}

void NaiveOrder::seal(Block block, const Name& name) {
  forget(block);  // Of a leaf, what it was is forgotten.
  const int queue = queue_of_new(name);
  known_[block].name = name;
  known_[block].uses = config_.policy == EvictionPolicy::Lfu        ? 1
                       : config_.policy == EvictionPolicy::Priority ? 1 + Retention{}.priority
                                                                    : 0;
  move(block, queue);
  if (config_.policy == EvictionPolicy::Arc) {
    remember({});
  }
}

// --- Touches ---

void NaiveOrder::serve(Block block) {
  Known& served = known_.at(block);
  switch (config_.policy) {
    case EvictionPolicy::Lfu:
      served.uses += 1;
      move(block, 0);
      break;
    case EvictionPolicy::Slru:
      move(block, 1);
      while (size(1) > config_.num_blocks * 4 / 5 && !queues_[1].empty()) {
        move(queues_[1].front(), 0);
      }
      break;
    case EvictionPolicy::Arc:
      move(block, 1);
      break;
    case EvictionPolicy::S3Fifo:
      served.uses = std::min(served.uses + 1, 3);
      break;
    case EvictionPolicy::Sieve:
      served.uses = 1;
      break;
    default:
      break;
  }
}

void NaiveOrder::park(Block block) {
  if (!known_.contains(block)) {
    seal(block, {});
  }
  Known& parked = known_.at(block);
  switch (config_.policy) {
    case EvictionPolicy::Lfu:
    case EvictionPolicy::Slru:
    case EvictionPolicy::Arc:
      move(block, parked.queue);
      break;
    case EvictionPolicy::TwoQueue:
      if (parked.queue == 1) {
        move(block, 1);
      }
      break;
    case EvictionPolicy::Priority: {
      const Retention retention =
          retentions_.contains(acting_) ? retentions_.at(acting_) : Retention{};
      parked.uses = 1 + retention.priority;
      parked.parked = ++parked_;
      parked.expiry = retention.ttl_ticks == kNeverExpires ? 0 : now_ticks_ + retention.ttl_ticks;
      move(block, 0);
      break;
    }
    default:
      break;
  }
}

// --- Leaving ---

/// The first of a queue, taken off it.
NaiveOrder::Block NaiveOrder::oldest(int queue) {
  const Block block = queues_.at(static_cast<std::size_t>(queue)).front();
  detach(block);
  return block;
}

NaiveOrder::Block NaiveOrder::turn() {
  const std::int64_t pool = config_.num_blocks;
  const bool only_first = queues_[1].empty();
  switch (config_.policy) {
    case EvictionPolicy::Lfu:
    case EvictionPolicy::Priority: {
      const auto least =
          std::min_element(queues_[0].begin(), queues_[0].end(),
                           [&](Block a, Block b) { return known_.at(a).uses < known_.at(b).uses; });
      const Block block = *least;
      queues_[0].erase(least);
      return block;
    }
    case EvictionPolicy::Slru:
      return oldest(queues_[0].empty() ? 1 : 0);
    case EvictionPolicy::TwoQueue: {
      const bool over = size(0) > std::max<std::int64_t>(1, pool / 4);
      return oldest(!queues_[0].empty() && (over || only_first) ? 0 : 1);
    }
    case EvictionPolicy::Arc: {
      const bool over = size(0) * kArcUnit > target_;
      return oldest(!queues_[0].empty() && (over || only_first) ? 0 : 1);
    }
    case EvictionPolicy::S3Fifo: {
      const bool over = size(0) >= std::max<std::int64_t>(1, pool / 10);
      const int queue = !queues_[0].empty() && (over || only_first) ? 0 : 1;
      const Block block = queues_[static_cast<std::size_t>(queue)].front();
      Known& next = known_.at(block);
      if (next.uses == 0) {
        return oldest(queue);
      }
      next.uses = queue == 0 ? 0 : next.uses - 1;
      move(block, 1);
      return turn();
    }
    case EvictionPolicy::Sieve: {
      const Block block = hand_ == -1 ? queues_[0].front() : hand_;
      if (known_.at(block).uses == 0) {
        hand_ = block;  // detach moves it on.
        detach(block);
        return block;
      }
      known_.at(block).uses = 0;
      const auto here = std::find(queues_[0].begin(), queues_[0].end(), block);
      hand_ = here + 1 == queues_[0].end() ? -1 : here[1];
      return turn();
    }
    default:
      return oldest(0);
  }
}

NaiveOrder::Block NaiveOrder::victim(const MayLeave& may_leave, Block spare) {
  const bool any = std::any_of(known_.begin(), known_.end(), [&](const auto& entry) {
    return entry.first != spare && may_leave(entry.first);
  });
  if (!any) {
    return -1;
  }
  Block block = turn();
  while (block == spare || !may_leave(block)) {
    known_.at(block).aside = true;
    block = turn();
  }
  refresh(may_leave);  // The spared one returns.
  const Known gone = known_.at(block);
  known_.erase(block);
  remember(gone);
  return block;
}

void NaiveOrder::refresh(const MayLeave& may_leave) {
  for (auto& [block, known] : known_) {
    if (!known.aside || !may_leave(block)) {
      continue;
    }
    known.aside = false;
    Queue& queue = queues_.at(static_cast<std::size_t>(known.queue));
    if (config_.policy == EvictionPolicy::Sieve) {
      queue.insert(std::find(queue.begin(), queue.end(), hand_), block);
      hand_ = block;
    } else {
      queue.insert(queue.begin(), block);
    }
  }
}

void NaiveOrder::forget(Block block) {
  detach(block);
  known_.erase(block);
}

/// A block was evicted (or, with none, a block came): what is remembered, and what no longer.
void NaiveOrder::remember(const Known& gone) {
  const std::int64_t pool = config_.num_blocks;
  const bool named = !gone.name.second.empty();
  const auto append = [&](std::size_t list) {
    std::erase(ghosts_[0], gone.name);
    std::erase(ghosts_[1], gone.name);
    ghosts_.at(list).push_back(gone.name);
  };
  const auto cut = [&](std::size_t list, std::int64_t most) {
    while (!ghosts_.at(list).empty() && std::ssize(ghosts_.at(list)) > most) {
      ghosts_.at(list).erase(ghosts_.at(list).begin());
    }
  };
  if (config_.policy == EvictionPolicy::TwoQueue && named && gone.queue == 0) {
    append(0);
    cut(0, std::max<std::int64_t>(1, pool / 2));
  }
  if (config_.policy == EvictionPolicy::S3Fifo && named && gone.queue == 0) {
    append(0);
    cut(0, pool - std::max<std::int64_t>(1, pool / 10));
  }
  if (config_.policy == EvictionPolicy::Arc) {
    if (named) {
      append(static_cast<std::size_t>(gone.queue));
    }
    cut(0, pool - size(0));
    cut(1, 2 * pool - size(0) - size(1) - std::ssize(ghosts_[0]));
  }
}

// --- Retention ---

void NaiveOrder::set_retention(int slot, int priority, std::int64_t ttl_ticks) {
  retentions_[slot] = {priority, ttl_ticks};
}

void NaiveOrder::advance_clock(std::int64_t now_ticks) {
  for (; now_ticks_ < now_ticks; ++now_ticks_) {
    Queue queued = queues_[0];
    std::sort(queued.begin(), queued.end(),
              [&](Block a, Block b) { return known_.at(a).parked < known_.at(b).parked; });
    for (const Block block : queued) {
      if (known_.at(block).expiry == now_ticks_ + 1) {
        move(block, 0);
      }
    }
    for (auto& [block, known] : known_) {
      if (known.expiry == now_ticks_ + 1) {
        known.expiry = 0;
        known.uses = 0;
      }
    }
  }
}

std::string NaiveOrder::print(const std::function<std::string(Block)>& rename) const {
  std::ostringstream out;
  out << "|o" << target_ << ' ' << (hand_ == -1 ? "-" : rename(hand_)) << ' ' << now_ticks_;
  std::map<std::string, std::string> states;  // In an order that renaming does not change.
  for (Queue queue : queues_) {
    // Nobody ever compares blocks of different counts (or priorities) by their order.
    if (config_.policy == EvictionPolicy::Lfu || config_.policy == EvictionPolicy::Priority) {
      std::stable_sort(queue.begin(), queue.end(),
                       [&](Block a, Block b) { return known_.at(a).uses < known_.at(b).uses; });
    }
    out << '/';
    for (const Block block : queue) {
      out << ' ' << rename(block);
    }
  }
  for (const auto& [block, known] : known_) {
    states[rename(block)] = std::to_string(known.queue) + ' ' + std::to_string(known.uses) + ' ' +
                            std::to_string(known.expiry - now_ticks_) + ' ' +
                            std::to_string(known.aside);
  }
  for (const auto& [name, state] : states) {
    out << '/' << name << ' ' << state;
  }
  for (const auto& list : ghosts_) {
    out << "/g";
    for (const Name& name : list) {
      out << ' ' << name.first << '.';
      for (const std::int32_t token : name.second) {
        out << token << ',';
      }
    }
  }
  return out.str();
}

}  // namespace octavo::testkit
