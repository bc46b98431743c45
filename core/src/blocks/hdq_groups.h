// HDQ: what sessions let go, in the order they let go.
//
// A *group* is a stretch of one session's path, all of one class, that was let go at once. Its
// *members* are known blocks: the resident ones are the shallower part, ghosts the deeper one.
// Blocks join a group when they are parked, deepest first, and leave it when they are held or
// sealed again, shallowest first, or forgotten, deepest first; so a group is two ends and a few
// counts, and following `parent` from the deeper end visits it.
//
// Every group with members is in the *order*, oldest first, the deeper part of one session before
// the shallower: the LRU stack. Age buckets are stretches of it. Groups with resident members are
// also in the *residents*, in the same order, and in the *queue* of their class and bucket, unless
// they were *set aside* because their deepest resident block still carries another one; such a
// group returns to the front of its queue when it carries none.
//
// LRU's own pool is told by one number a group: how many of its shallowest members LRU would hold.
//
// Owned by one Hdq; O(1) but for what is said, amortised.
#pragma once

#include <array>
#include <cstdint>

#include "base/slab.h"
#include "blocks/hdq_classes.h"
#include "blocks/hdq_known.h"

namespace octavo::blocks::hdq {

struct Link {
  GroupId older;
  GroupId newer;
};

struct alignas(64) Group {
  std::int64_t time;         ///< The clock when it was let go.
  Link order;                ///< Among all groups.
  Link residents;            ///< Among those with resident members.
  Link queue;                ///< Among those of its class and bucket, unless set aside.
  KnownId deepest;           ///< The last member.
  KnownId deepest_resident;  ///< The last resident member, if any.
  std::uint32_t members;
  std::uint32_t resident;
  std::uint32_t lru;  ///< Members that LRU would hold: the shallowest ones.
  ClassId class_id;
  std::uint8_t bucket;
  bool set_aside;
  bool passed;     ///< It is too old to remember ghosts.
  bool uncounted;  ///< A nameless block: no counter learns from it.
};
static_assert(sizeof(Group) == 64);

/// A doubly linked list through one Link of the groups.
template <Link Group::*kLink>
class GroupList {
 public:
  GroupId oldest() const noexcept { return oldest_; }
  GroupId newest() const noexcept { return newest_; }
  bool empty() const noexcept { return oldest_ == 0; }

  void push_newest(Slab<Group>& groups, GroupId id) noexcept { insert(groups, id, 0); }
  /// Right before `newer` (0: as the newest).
  void insert(Slab<Group>& groups, GroupId id, GroupId newer) noexcept {
    GroupId& link_back = newer != 0 ? (groups[newer].*kLink).older : newest_;
    const GroupId older = link_back;
    link_back = id;
    (older != 0 ? (groups[older].*kLink).newer : oldest_) = id;
    (groups[id].*kLink) = {older, newer};
  }
  void remove(Slab<Group>& groups, GroupId id) noexcept {
    const Link link = groups[id].*kLink;
    (link.older != 0 ? (groups[link.older].*kLink).newer : oldest_) = link.newer;
    (link.newer != 0 ? (groups[link.newer].*kLink).older : newest_) = link.older;
  }

 private:
  GroupId oldest_ = 0;
  GroupId newest_ = 0;
};

/// The queues of one class: one list, the older buckets first, so that the group at the head of its
/// bucket comes of age where it stands. (Not every group does: one that was set aside returns to
/// the front, before older ones.)
class ClassQueues {
 public:
  /// 0: the bucket's queue is empty. The next `count(bucket) - 1` groups are in it, too.
  GroupId oldest(std::size_t bucket) const noexcept {
    return count_[bucket] > 0 ? oldest_[bucket] : 0;
  }
  std::uint32_t count(std::size_t bucket) const noexcept { return count_[bucket]; }

  /// Into the youngest bucket.
  void push_newest(Slab<Group>& groups, GroupId id) noexcept {
    list_.push_newest(groups, id);
    add_behind(0, id);
  }
  /// To the front of its bucket.
  void push_oldest(Slab<Group>& groups, GroupId id) noexcept {
    const std::size_t bucket = groups[id].bucket;
    std::size_t next = bucket;  // The queue before which it comes.
    while (count_[next] == 0 && next > 0) {
      --next;
    }
    list_.insert(groups, id, oldest(next));
    oldest_[bucket] = id;
    ++count_[bucket];
  }
  void remove(Slab<Group>& groups, GroupId id) noexcept {
    take(groups, id);
    list_.remove(groups, id);
  }
  /// To the end of the next older bucket.
  void age(Slab<Group>& groups, GroupId id) noexcept {
    const std::size_t bucket = groups[id].bucket;
    if (oldest_[bucket] != id) {
      list_.remove(groups, id);
      list_.insert(groups, id, oldest_[bucket]);
    }
    take(groups, id);
    add_behind(bucket + 1, id);
  }

 private:
  void add_behind(std::size_t bucket, GroupId id) noexcept {
    if (count_[bucket]++ == 0) {
      oldest_[bucket] = id;
    }
  }
  void take(const Slab<Group>& groups, GroupId id) noexcept {
    const Group& group = groups[id];
    --count_[group.bucket];
    if (oldest_[group.bucket] == id) {
      oldest_[group.bucket] = group.queue.newer;
    }
  }

  GroupList<&Group::queue> list_;
  std::array<GroupId, kBuckets> oldest_{};  ///< Means nothing where the queue is empty.
  std::array<std::uint32_t, kBuckets> count_{};
};

}  // namespace octavo::blocks::hdq
