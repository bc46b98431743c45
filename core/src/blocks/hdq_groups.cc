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
  enqueue_newest(open_);
  for (GroupId* cursor : {&oldest_in_bucket_[0], &lru_end_, &memory_end_}) {
    if (*cursor == 0) {
      *cursor = open_;
    }
  }
}

// A resident block was let go: the next shallower member of the open group, or the first of a new
// one.
void Hdq::open_group_for(KnownId id, hdq::ClassId class_id) noexcept {
  if (open_ == 0 || groups_[open_].class_id != class_id) {
    open_group(id, class_id);
  }
}

// LRU, too, has just been given them.
void Hdq::join(std::uint32_t blocks) noexcept {
  Group& group = groups_[open_];
  group.members += blocks;
  group.resident += blocks;
  group.lru += blocks;
  lru_blocks_ += blocks;
  if (!group.uncounted) {
    counters_.enter(group.class_id, 0, blocks);
  }
}

// The shallowest members of a group, all of them resident or none, are held or sealed again.
void Hdq::leave_group(GroupId id, std::uint32_t blocks, bool resident) noexcept {
  if (resident) {
    lose_residents(id, blocks);
  }
  Group& group = groups_[id];
  const std::uint32_t of_lru = std::min(group.lru, blocks);
  group.lru -= of_lru;
  lru_blocks_ -= of_lru;
  lose_members(id, blocks);
}

// Its last resident member left.
void Hdq::end_residence(GroupId id) noexcept {
  Group& group = groups_[id];
  if (!group.set_aside) {
    dequeue(id);
  }
  group.set_aside = false;
  residents_.remove(groups_, id);
}

// Its last member left.
void Hdq::end_group(GroupId id) noexcept {
  const Group& group = groups_[id];
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

void Hdq::enqueue_newest(GroupId id) noexcept {
  const hdq::ClassId class_id = groups_[id].class_id;
  queues_[class_id].push_newest(groups_, id);
  if (queues_[class_id].count(0) == 1) {
    contest_.set(class_id, 0, true, density_);
  }
}

void Hdq::enqueue_oldest(GroupId id) noexcept {
  const Group& group = groups_[id];
  queues_[group.class_id].push_oldest(groups_, id);
  if (queues_[group.class_id].count(group.bucket) == 1) {
    contest_.set(group.class_id, group.bucket, true, density_);
  }
}

void Hdq::dequeue(GroupId id) noexcept {
  const Group& group = groups_[id];
  queues_[group.class_id].remove(groups_, id);
  if (queues_[group.class_id].count(group.bucket) == 0) {
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
  enqueue_oldest(group_id);
}

// --- Age ---

// Groups enter the buckets that the clock has brought them to, the oldest bucket first. Those that
// are next are far apart in memory: the second one of each bucket is fetched for the next session.
void Hdq::grow_older() noexcept {
  for (std::size_t b = kBuckets - 1; b >= 1; --b) {
    const std::int64_t latest = clock_ - bucket_begin(b);  // Time of those that enter bucket b.
    GroupId& oldest_younger = oldest_in_bucket_[b - 1];
    GroupId id = oldest_younger;
    if (id == 0 || groups_[id].time > latest) {
      continue;
    }
    if (oldest_in_bucket_[b] == 0) {
      oldest_in_bucket_[b] = id;
    }
    do {
      const Group& group = groups_[id];
      come_of_age(id);
      id = group.order.newer;
    } while (id != 0 && groups_[id].time <= latest);
    oldest_younger = id != 0 && groups_[id].bucket == b - 1 ? id : 0;
    __builtin_prefetch(&groups_[groups_[id].order.newer], 1);
  }
}

// The group goes over to the next bucket. The older queue fills before the younger one is empty: so
// the oldest of a class changes once at most.
void Hdq::come_of_age(GroupId id) noexcept {
  Group& group = groups_[id];
  const std::size_t class_id = group.class_id;
  const std::size_t bucket = group.bucket;
  if (group.resident > 0 && !group.set_aside) {
    hdq::ClassQueues& queues = queues_[class_id];
    queues.age(groups_, id);
    if (queues.count(bucket + 1) == 1) {
      contest_.set(class_id, bucket + 1, true, density_);
    }
    if (queues.count(bucket) == 0) {
      contest_.set(class_id, bucket, false, density_);
    }
  }
  group.bucket = static_cast<std::uint8_t>(bucket + 1);
  if (!group.uncounted) {
    counters_.enter(class_id, bucket + 1, group.members);
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
  lose_members(group_id, 1);
}

// The oldest ghost goes. REQUIRES: there is one. A group without ghosts is passed for good: what is
// evicted of it later is forgotten at once.
void Hdq::forget_one_ghost() noexcept {
  while (groups_[memory_end_].members == groups_[memory_end_].resident) {
    groups_[memory_end_].passed = true;
    memory_end_ = groups_[memory_end_].order.newer;
  }
  forget_deepest(memory_end_);
  __builtin_prefetch(&known_[groups_[memory_end_].deepest], 1);  // It goes next.
}

}  // namespace octavo::blocks
