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

  void push_newest(Slab<Group>& groups, GroupId id) noexcept {
    (groups[id].*kLink) = {newest_, 0};
    (newest_ != 0 ? (groups[newest_].*kLink).newer : oldest_) = id;
    newest_ = id;
  }
  void push_oldest(Slab<Group>& groups, GroupId id) noexcept {
    (groups[id].*kLink) = {0, oldest_};
    (oldest_ != 0 ? (groups[oldest_].*kLink).older : newest_) = id;
    oldest_ = id;
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

}  // namespace octavo::blocks::hdq
