// At most four partial keys stand under one parent; the latest named stay.
#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

TEST(PartialKeyLimit, AFifthKeyDisplacesTheFirstNamed) {
  Sessions s(blocks_of_8());
  for (int i = 0; i < 5; ++i) {
    s.cache(story(10 + i, 3));
  }
  EXPECT_EQ(s.parked_blocks(), 4);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.manager().stats().dropped_keys, 1);
  EXPECT_EQ(s.manager().stats().evicted_blocks(), 0);
  EXPECT_EQ(s.probe(then(story(10, 3))), 0);
  for (int i = 1; i < 5; ++i) {
    EXPECT_EQ(s.probe(then(story(10 + i, 3))), 3) << i;
  }
}

TEST(PartialKeyLimit, OneHistoryNamesFourAtMostTheTrailingOneAmongThem) {
  Sessions s(blocks_of_8());
  s.cache(story(1, 6), {1, 2, 3, 5});
  EXPECT_EQ(s.manager().stats().dropped_keys, 1);
  EXPECT_EQ(s.probe(then(story(1, 1))), 0);
  EXPECT_EQ(s.probe(then(story(1, 2))), 2);
  EXPECT_EQ(s.probe(then(story(1, 3))), 3);
  EXPECT_EQ(s.probe(then(story(1, 4))), 3);
  EXPECT_EQ(s.probe(then(story(1, 5))), 5);
  EXPECT_EQ(s.probe(then(story(1, 6))), 6);
}

TEST(PartialKeyLimit, TheLatestInSpanOrderStay) {
  Sessions s(blocks_of_8());
  s.cache(story(1, 8), {7, 6, 5, 4, 3});
  EXPECT_EQ(s.probe(then(story(1, 7))), 6);
  EXPECT_EQ(s.probe(then(story(1, 3))), 3);
}

TEST(PartialKeyLimit, CountsEachParentByItself) {
  Sessions s(blocks_of_8());
  s.cache(story(1, 23), {1, 2, 3, 4, 9, 10, 11, 12, 17, 18, 19});
  EXPECT_EQ(s.manager().stats().dropped_keys, 0);
  for (const std::int64_t key : {1, 2, 3, 4, 9, 10, 11, 12, 17, 18, 19, 23}) {
    EXPECT_EQ(s.probe(then(story(1, key))), key);
  }
}

TEST(PartialKeyLimit, ReNamingMakesAKeyTheLatest) {
  Sessions s(blocks_of_8());
  for (int i = 0; i < 4; ++i) {
    s.cache(story(10 + i, 3));
  }
  s.cache(story(10, 3));  // Computed again: a prompt is never served whole.
  s.cache(story(20, 3));
  EXPECT_EQ(s.probe(then(story(10, 3))), 3);
  EXPECT_EQ(s.probe(then(story(11, 3))), 0);
  EXPECT_EQ(s.parked_blocks(), 4);
}

TEST(PartialKeyLimit, BeingServedDoesNotMakeAKeyTheLatest) {
  Sessions s(blocks_of_8());
  for (int i = 0; i < 4; ++i) {
    s.cache(story(10 + i, 3));
  }
  EXPECT_EQ(s.probe(then(story(10, 3))), 3);
  s.cache(story(20, 3));
  EXPECT_EQ(s.probe(then(story(10, 3))), 0);
}

TEST(PartialKeyLimit, ReNamingKeepsTheOldBlockAndItsPlaceAmongTheParked) {
  Sessions s(blocks_of_8(4));
  s.cache(story(1, 3));  // The oldest.
  s.cache(story(2, 3));
  s.admit(0, story(1, 3));
  s.prefill(0);
  s.retire(0);
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.free_blocks(), 4);
  s.write(1, story(9, 24));  // Two free blocks and the oldest parked one.
  EXPECT_EQ(s.parked_blocks(), 1);
  EXPECT_EQ(s.probe(story(2, 4)), 3);
}

// A displaced key's block is free at once only when nothing else names or holds it.
TEST(PartialKeyLimit, ADisplacedKeyLeavesABlockThatOthersStillName) {
  Sessions s(blocks_of_8());
  s.cache(story(1, 8), {3});  // One whole block with a key of three rows.
  for (int i = 0; i < 4; ++i) {
    s.cache(story(10 + i, 3));
  }
  EXPECT_EQ(s.manager().stats().dropped_keys, 1);
  EXPECT_EQ(s.parked_blocks(), 5);
  EXPECT_EQ(s.probe(then(story(1, 3))), 0);
  EXPECT_EQ(s.probe(then(story(1, 8))), 8);
}

TEST(PartialKeyLimit, ADisplacedKeyOfAHeldBlockLeavesItToItsHolder) {
  Sessions s(blocks_of_8());
  s.cache(story(1, 3));
  EXPECT_EQ(s.admit(0, then(story(1, 3))), 3);
  s.prefill(0);
  for (int i = 0; i < 4; ++i) {
    s.cache(story(10 + i, 3));
  }
  EXPECT_EQ(s.probe(then(story(1, 3))), 0);
  s.decode(0, story(2, 1));
  s.evict(0);
  EXPECT_EQ(s.parked_blocks(), 4);
  EXPECT_EQ(s.free_blocks(), 16);
}

// Once its longer keys are displaced, a block may be taken over for a shorter one.
TEST(PartialKeyLimit, ADisplacedLongerKeyNoLongerForcesACopy) {
  Sessions s(blocks_of_8());
  s.cache(story(1, 6), {2});
  s.cache(story(1, 2));  // Computed again: 2 is the latest now, in its old block.
  s.cache(story(10, 3));
  s.cache(story(11, 3));
  s.cache(story(12, 3));  // Displaces 6.
  EXPECT_EQ(s.manager().stats().dropped_keys, 1);
  EXPECT_EQ(s.admit(0, then(story(1, 6))), 2);
  EXPECT_TRUE(s.manager().copies().empty());
  EXPECT_EQ(s.parked_blocks(), 3);
}

TEST(PartialKeyLimit, ABlockIsFreeWhenTheLastOfItsKeysIsDisplaced) {
  Sessions s(blocks_of_8());
  s.cache(story(1, 6), {5, 6, 2});  // In the order 5, 2, 6: the trailing one is named last.
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(s.probe(story(1, 7)), 6) << i;
    s.cache(story(10 + i, 3));
    EXPECT_EQ(s.parked_blocks(), i < 3 ? 2 + i : 4) << i;
  }
  EXPECT_EQ(s.probe(story(1, 7)), 0);
  EXPECT_EQ(s.manager().stats().dropped_keys, 3);
  EXPECT_EQ(s.free_blocks(), 16);
}

}  // namespace
}  // namespace octavo::testing
