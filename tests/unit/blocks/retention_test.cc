// EvictionPolicy::Priority: retention and its clock.
#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

constexpr std::int64_t kTicksMost = std::int64_t{1} << 62;

constexpr int kCacheSlot = 3;  // Sessions::cache and probe use the last slot.

void cache_block(Sessions& s, int block, int priority, std::int64_t ttl_ticks = kNeverExpires) {
  s.manager().set_retention(kCacheSlot, priority, ttl_ticks);
  s.cache(story(block, 4));
}
TEST(Retention, TheLowestPriorityLeavesFirst) {
  Sessions s(pool_of(4, EvictionPolicy::Priority));
  cache_block(s, 1, 90);
  cache_block(s, 2, 0);
  s.cache(story(3, 4));  // kDefaultPriority
  cache_block(s, 4, 34);
  // Only what is still kept is asked for: a probe parks anew, at the default priority.
  s.write(0, story(99, 4));
  EXPECT_EQ(s.probe(story(2, 5)), 0);
  s.write(0, story(98, 4));
  EXPECT_EQ(s.probe(story(4, 5)), 0);
  s.write(0, story(97, 4));
  EXPECT_EQ(s.probe(story(3, 5)), 0);
  EXPECT_EQ(s.probe(story(1, 5)), 4);
}

TEST(Retention, AmongEqualsTheLeastRecentlyParkedLeavesFirst) {
  Sessions s(pool_of(3, EvictionPolicy::Priority));
  cache_block(s, 1, 50);
  cache_block(s, 2, 50);
  cache_block(s, 3, 50);
  s.manager().set_retention(kCacheSlot, 50);
  EXPECT_EQ(s.probe(story(1, 5)), 4);
  s.write(0, story(99, 4));
  EXPECT_EQ(s.probe(story(2, 5)), 0);
  EXPECT_EQ(s.probe(story(1, 5)), 4);
}

TEST(Retention, WhatHasExpiredLeavesBeforeAllOthersInTheOrderItExpired) {
  Sessions s(pool_of(4, EvictionPolicy::Priority));
  cache_block(s, 1, 0);
  cache_block(s, 2, 100, 700);
  cache_block(s, 3, 100, 5);
  cache_block(s, 4, 100, 100'000);
  s.manager().advance_clock(4);
  s.write(0, story(99, 4));  // Nothing has expired yet.
  EXPECT_EQ(s.probe(story(1, 5)), 0);
  s.manager().advance_clock(99'999);
  s.write(0, story(98, 4));
  EXPECT_EQ(s.probe(story(3, 5)), 0);
  s.write(0, story(97, 4));
  EXPECT_EQ(s.probe(story(2, 5)), 0);
  EXPECT_EQ(s.probe(story(4, 5)), 4);
}

// Times to live of every length, each to the tick.
TEST(Retention, ABlockExpiresAtItsTickAndNotBefore) {
  for (const std::int64_t start :
       {std::int64_t{0}, std::int64_t{63}, std::int64_t{4000}, (std::int64_t{1} << 40) + 12345}) {
    for (int bits = 0; bits < 62; ++bits) {
      for (const std::int64_t off : {-1, 0, 1}) {
        const std::int64_t ttl = (std::int64_t{1} << bits) + off;
        if (ttl < 1 || start + ttl > kTicksMost) {
          continue;
        }
        for (const std::int64_t age : {ttl - 1, ttl}) {
          Sessions s(pool_of(2, EvictionPolicy::Priority));
          s.manager().advance_clock(start);
          cache_block(s, 1, 100, ttl);
          cache_block(s, 2, 1);
          s.manager().advance_clock(start + ttl / 2);
          s.manager().advance_clock(start + age);
          s.write(0, story(99, 4));
          EXPECT_EQ(s.probe(story(1, 5)), age == ttl ? 0 : 4) << start << " + " << age;
          EXPECT_EQ(s.probe(story(2, 5)), age == ttl ? 4 : 0) << start << " + " << age;
        }
      }
    }
  }
}

TEST(Retention, IsTakenFromTheSessionThatParksABlockAgain) {
  Sessions s(pool_of(2, EvictionPolicy::Priority));
  cache_block(s, 1, 100, 10);
  cache_block(s, 2, 50);
  s.manager().set_retention(kCacheSlot, 60);
  EXPECT_EQ(s.probe(story(1, 5)), 4);
  s.manager().advance_clock(1000);  // Nothing expires any more.
  s.write(0, story(99, 4));
  EXPECT_EQ(s.probe(story(2, 5)), 0);
}

TEST(Retention, AHeadOfLowPriorityWaitsForWhatContinuesIt) {
  Sessions s(pool_of(3, EvictionPolicy::Priority));
  s.manager().set_retention(kCacheSlot, 90);
  s.cache(story(1, 8));
  s.manager().set_retention(kCacheSlot, 10);
  EXPECT_EQ(s.probe(story(1, 5)), 4);  // The head is worth 10 now, the tail 90.
  cache_block(s, 2, 50);
  s.write(0, story(99, 4));  // 2: the head may not leave, and its tail is worth more.
  EXPECT_EQ(s.probe(story(2, 5)), 0);
  s.write(0, story(98, 4));
  EXPECT_EQ(s.probe(story(1, 9)), 4);
}

TEST(Retention, EndsWithTheSlotsSession) {
  Sessions s(pool_of(3, EvictionPolicy::Priority));
  const std::uint64_t fresh = s.manager().digest();
  s.manager().set_retention(1, 7, 8);
  EXPECT_NE(s.manager().digest(), fresh);
  EXPECT_TRUE(s.manager().is_fresh(1));
  s.manager().evict(1);
  EXPECT_EQ(s.manager().digest(), fresh);
}

TEST(Retention, RefusesWhatIsOutOfRange) {
  Sessions s(pool_of(3, EvictionPolicy::Priority));
  BlockManager& m = s.manager();
  m.advance_clock(10);
  EXPECT_ERROR(m, InvalidArgument, m.set_retention(4, 1), "set_retention", "4");
  EXPECT_ERROR(m, InvalidArgument, m.set_retention(0, -1), "set_retention", "priority -1", "100");
  EXPECT_ERROR(m, InvalidArgument, m.set_retention(0, 101), "priority 101", "[0, 100]");
  EXPECT_ERROR(m, InvalidArgument, m.set_retention(0, 1, -1), "ttl_ticks -1");
  EXPECT_ERROR(m, InvalidArgument, m.set_retention(0, 1, kTicksMost + 1), "ttl_ticks");
  EXPECT_ERROR(m, InvalidArgument, m.advance_clock(9), "advance_clock", "now_ticks 9", "[10, ");
  EXPECT_ERROR(m, InvalidArgument, m.advance_clock(kTicksMost + 1), "now_ticks");
}

TEST(Retention, IsRefusedUnderAnotherPolicy) {
  BlockManagerConfig config = pool_of(3, EvictionPolicy::Priority);
  config.policy = EvictionPolicy::Lru;
  BlockManager m(config);
  EXPECT_ERROR(m, FailedPrecondition, m.set_retention(0, 1), "set_retention", "lru", "priority");
  EXPECT_ERROR(m, FailedPrecondition, m.advance_clock(1), "advance_clock", "lru", "priority");
}

}  // namespace
}  // namespace octavo::testing
