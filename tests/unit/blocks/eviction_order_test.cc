// Which block a step takes: free ones first, then the least recently parked, tails before heads.
#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

TEST(EvictionOrder, FreeBlocksGoBeforeParkedOnes) {
  Sessions s(pool_of(8));
  s.cache(story(1, 16));
  take(s, 4);
  EXPECT_EQ(s.manager().stats().evicted_blocks(), 0);
  EXPECT_EQ(s.parked_blocks(), 4);
  EXPECT_EQ(s.probe(story(1, 17)), 16);
}

TEST(EvictionOrder, TheTailOfAPrefixGoesFirst) {
  for (std::int64_t taken = 1; taken <= 4; ++taken) {
    Sessions s(pool_of(5));
    s.cache(story(1, 20));
    take(s, taken);
    EXPECT_EQ(s.probe(story(1, 20)), 4 * (5 - taken)) << taken;
    EXPECT_EQ(s.manager().stats().evicted_for_step, taken);
  }
}

TEST(EvictionOrder, TheLeastRecentlyRetiredGoesFirst) {
  Sessions s(pool_of(6));
  s.cache(story(1, 8));
  s.cache(story(2, 8));
  s.cache(story(3, 8));
  take(s, 2);
  EXPECT_EQ(s.probe(story(1, 9)), 0);
  EXPECT_EQ(s.probe(story(2, 9)), 8);
  EXPECT_EQ(s.probe(story(3, 9)), 8);
}

TEST(EvictionOrder, BeingServedMakesAPrefixRecent) {
  Sessions s(pool_of(6));
  s.cache(story(1, 8));
  s.cache(story(2, 8));
  s.cache(story(3, 8));
  EXPECT_EQ(s.probe(story(1, 9)), 8);
  take(s, 2);
  EXPECT_EQ(s.probe(story(2, 9)), 0);
  EXPECT_EQ(s.probe(story(1, 9)), 8);
}

// Only what was served becomes recent, not what lies behind it.
TEST(EvictionOrder, BeingServedHalfMakesTheHeadRecentOnly) {
  Sessions s(pool_of(6));
  s.cache(story(1, 12));
  s.cache(story(2, 12));
  EXPECT_EQ(s.probe(story(1, 5)), 4);
  take(s, 3);  // Two of the first's tail, then the tail of the second.
  EXPECT_EQ(s.probe(story(1, 13)), 4);
  EXPECT_EQ(s.probe(story(2, 13)), 8);
}

TEST(EvictionOrder, CountsFromTheReleaseNotFromTheAdmission) {
  Sessions s(pool_of(6));
  s.admit(1, story(1, 8));
  s.prefill(1);
  s.admit(2, story(2, 8));
  s.prefill(2);
  s.retire(2);
  s.retire(1);
  take(s, 3);
  EXPECT_EQ(s.probe(story(2, 9)), 4);
  EXPECT_EQ(s.probe(story(1, 9)), 8);
}

TEST(EvictionOrder, AHeldPrefixIsNeverTaken) {
  Sessions s(pool_of(6));
  s.cache(story(1, 8));
  s.cache(story(2, 8));
  EXPECT_EQ(s.admit(1, story(1, 9)), 8);
  take(s, 4);
  EXPECT_EQ(s.manager().stats().evicted_blocks(), 2);
  EXPECT_EQ(s.parked_blocks(), 0);
  BlockManager& m = s.manager();
  EXPECT_ERROR(m, ResourceExhausted, reserve(m, {0}, {1}), "reserve", "1", "0");
}

// A fork: the common head goes after both ends, whichever was last.
TEST(EvictionOrder, TheHeadOfAForkGoesAfterItsEnds) {
  Sessions s(pool_of(6));
  s.cache(join(story(1, 8), story(2, 4)));
  s.cache(join(story(1, 8), story(3, 4)));
  EXPECT_EQ(s.parked_blocks(), 4);
  take(s, 3);  // Two are free: the older end goes.
  EXPECT_EQ(s.probe(join(story(1, 8), story(2, 5))), 8);
  EXPECT_EQ(s.probe(join(story(1, 8), story(3, 5))), 12);
  s.write(1, story(98, 4));
  EXPECT_EQ(s.probe(join(story(1, 8), story(3, 5))), 8);
}

// A parked child of a held parent is fair game; the parent is not.
TEST(EvictionOrder, AParkedTailOfAHeldHeadIsTaken) {
  Sessions s(pool_of(4));
  s.cache(story(1, 16));
  EXPECT_EQ(s.admit(1, story(1, 9)), 8);
  take(s, 2);
  EXPECT_EQ(s.manager().stats().evicted_blocks(), 2);
  EXPECT_EQ(s.probe(story(1, 16)), 8);
}

TEST(EvictionOrder, AStepThatTakesManyTakesThemInOrder) {
  Sessions s(pool_of(10));
  s.cache(story(1, 16));
  s.cache(story(2, 16));
  take(s, 7);
  EXPECT_EQ(s.manager().stats().evicted_blocks(), 5);
  EXPECT_EQ(s.probe(story(1, 17)), 0);
  EXPECT_EQ(s.probe(story(2, 17)), 12);
}

TEST(EvictionOrder, AnEvictedPrefixIsComputedAndCachedAnew) {
  Sessions s(pool_of(4));
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(s.cache(story(1, 16)), 0) << round;
    EXPECT_EQ(s.probe(story(1, 16)), 12) << round;
    EXPECT_EQ(s.cache(story(2, 16)), 0) << round;
  }
  EXPECT_EQ(s.manager().stats().evicted_blocks(), 4 * 19);
}

// Partial keys are parked like blocks: the trailing one is the tail.
TEST(EvictionOrder, TheTrailingPartialBlockGoesBeforeTheWholeOnes) {
  Sessions s(pool_of(4));
  s.cache(story(1, 14));
  take(s, 1);
  EXPECT_EQ(s.probe(story(1, 15)), 12);
}

TEST(EvictionOrder, ATakenOverBlockIsParkedAnewWhenItsHolderIsCancelled) {
  Sessions s(pool_of(4));
  s.cache(story(1, 3));
  s.cache(story(2, 3));
  EXPECT_EQ(s.probe(story(1, 4)), 3);
  take(s, 3);  // Two free ones, then the second story's.
  EXPECT_EQ(s.probe(story(2, 4)), 0);
  EXPECT_EQ(s.probe(story(1, 4)), 3);
}

// The source of a copy is not touched by it.
TEST(EvictionOrder, BeingCopiedFromDoesNotMakeABlockRecent) {
  Sessions s(pool_of(4));
  s.cache(story(1, 4), {2});
  s.cache(story(2, 4));
  EXPECT_EQ(s.probe(join(story(1, 2), story(5, 1))), 2);
  take(s, 3);
  EXPECT_EQ(s.probe(story(1, 5)), 0);
  EXPECT_EQ(s.probe(story(2, 5)), 4);
}

}  // namespace
}  // namespace octavo::testing
