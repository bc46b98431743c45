// How groups are made, shrink, age and are forgotten.

#include "blocks/hdq_groups.h"

#include "blocks/hdq.h"

namespace octavo::blocks {

using hdq::bucket_begin;
using hdq::kBuckets;

// --- Members come and go ---

void Hdq::open_group(KnownId deepest, hdq::ClassId class_id) noexcept {
  open_ = groups_.take();
  Group& group = groups_[open_];
  group.time = clock_;
  group.deepest = group.deepest_resident = deepest;
  group.class_id = class_id;
  group.uncounted = known_[deepest].nameless;
  order_.push_newest(groups_, open_);
  residents_.push_newest(groups_, open_);
  enqueue(open_, End::Newest);
  for (GroupId* cursor : {&oldest_in_bucket_[0], &lru_end_, &memory_end_}) {
    if (*cursor == 0) {
      *cursor = open_;
    }
  }
}

// A resident block was let go: the next shallower member of the open group, or the first of a new
// one. LRU, too, has just been given it.
void Hdq::join(KnownId id, hdq::ClassId class_id) noexcept {
  if (open_ == 0 || groups_[open_].class_id != class_id) {
    open_group(id, class_id);
  }
  Group& group = groups_[open_];
  known_[id].group = open_;
  ++group.members;
  ++group.resident;
  ++group.lru;
  ++lru_blocks_;
  if (!group.uncounted) {
    ++counters_.entered[class_id][0];
  }
}

// The shallowest member of its group is held, or sealed again.
void Hdq::leave_group(KnownId id) noexcept {
  const GroupId group_id = known_[id].group;
  known_[id].group = 0;
  if (known_[id].block != kNoBlock) {
    lose_resident(group_id);
  }
  Group& group = groups_[group_id];
  if (group.lru > 0) {
    --group.lru;
    --lru_blocks_;
  }
  lose_member(group_id);
}

void Hdq::lose_resident(GroupId id) noexcept {
  Group& group = groups_[id];
  if (--group.resident > 0) {
    return;
  }
  if (!group.set_aside) {
    dequeue(id);
  }
  group.set_aside = false;
  residents_.remove(groups_, id);
}

void Hdq::lose_member(GroupId id) noexcept {
  const Group& group = groups_[id];
  if (groups_[id].members-- > 1) {
    return;
  }
  const GroupId newer = group.order.newer;
  GroupId& oldest = oldest_in_bucket_[group.bucket];
  if (oldest == id) {
    oldest = newer != 0 && groups_[newer].bucket == group.bucket ? newer : 0;
  }
  for (GroupId* cursor : {&lru_end_, &memory_end_}) {
    if (*cursor == id) {
      *cursor = newer;
    }
  }
  if (open_ == id) {
    open_ = 0;
  }
  order_.remove(groups_, id);
  groups_.give(id);
}

// --- Queues ---

void Hdq::enqueue(GroupId id, End end) noexcept {
  const Group& group = groups_[id];
  Queue& queue = queues_[group.class_id][group.bucket];
  if (queue.empty()) {
    contest_.set(group.class_id, group.bucket, true, density_);
  }
  if (end == End::Newest) {
    queue.push_newest(groups_, id);
  } else {
    queue.push_oldest(groups_, id);
  }
}

void Hdq::dequeue(GroupId id) noexcept {
  const Group& group = groups_[id];
  Queue& queue = queues_[group.class_id][group.bucket];
  queue.remove(groups_, id);
  if (queue.empty()) {
    contest_.set(group.class_id, group.bucket, false, density_);
  }
}

void Hdq::set_aside(GroupId id) noexcept {
  dequeue(id);
  groups_[id].set_aside = true;
}

// The last block that stood on this one left: its group may give it up.
void Hdq::carries_none(KnownId id) noexcept {
  const GroupId group_id = known_[id].group;
  Group& group = groups_[group_id];
  if (group_id == 0 || !group.set_aside || group.deepest_resident != id) {
    return;
  }
  group.set_aside = false;
  enqueue(group_id, End::Oldest);
}

// --- Age ---

// Groups enter the buckets that the clock has brought them to, the oldest bucket first. Those that
// are next are far apart in memory: they are fetched for the next session.
void Hdq::grow_older() noexcept {
  for (std::size_t b = kBuckets - 1; b >= 1; --b) {
    GroupId& oldest_younger = oldest_in_bucket_[b - 1];
    while (oldest_younger != 0 && groups_[oldest_younger].time + bucket_begin(b) <= clock_) {
      const GroupId id = oldest_younger;
      Group& group = groups_[id];
      const GroupId newer = group.order.newer;
      oldest_younger = newer != 0 && groups_[newer].bucket == b - 1 ? newer : 0;
      if (oldest_in_bucket_[b] == 0) {
        oldest_in_bucket_[b] = id;
      }
      const bool queued = group.resident > 0 && !group.set_aside;
      if (queued) {
        dequeue(id);
      }
      group.bucket = static_cast<std::uint8_t>(b);
      if (queued) {
        enqueue(id, End::Newest);
      }
      if (!group.uncounted) {
        counters_.entered[group.class_id][b] += group.members;
      }
    }
    __builtin_prefetch(&groups_[oldest_younger], 1);
  }
}

// LRU's pool has room for `room` parked blocks: the oldest beyond that leave it.
void Hdq::trim_lru(std::int64_t room) noexcept {
  while (lru_blocks_ > room) {
    Group& group = groups_[lru_end_];
    const auto leaving =
        static_cast<std::uint32_t>(std::min<std::int64_t>(group.lru, lru_blocks_ - room));
    group.lru -= leaving;
    lru_blocks_ -= leaving;
    if (group.lru == 0) {
      lru_end_ = group.order.newer;
    }
  }
}

// --- Memory ---

// REQUIRES: the group's deepest member is a ghost.
void Hdq::forget_deepest(GroupId group_id) noexcept {
  Group& group = groups_[group_id];
  const KnownId id = group.deepest;
  group.deepest = known_[id].parent;
  known_.forget(id);
  if (group.lru == group.members) {
    --group.lru;
    --lru_blocks_;
  }
  lose_member(group_id);
}

// The oldest ghost goes. REQUIRES: there is one. A group without ghosts is passed for good: what is
// evicted of it later is forgotten at once.
void Hdq::forget_one_ghost() noexcept {
  while (groups_[memory_end_].members == groups_[memory_end_].resident) {
    groups_[memory_end_].passed = true;
    memory_end_ = groups_[memory_end_].order.newer;
  }
  const KnownId next = known_[groups_[memory_end_].deepest].parent;
  forget_deepest(memory_end_);
  known_.prefetch_line(known_[next].fingerprint);
}

}  // namespace octavo::blocks
