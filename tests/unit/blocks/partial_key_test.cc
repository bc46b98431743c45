// Partial keys: the trailing partial block of a retired history and the boundaries it names.
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

// --- Which key is served ---

TEST(PartialKey, TheTrailingBlockOfAHistoryIsServedUpToItsEnd) {
  Sessions s(small_config());
  s.cache(story(1, 11));
  EXPECT_EQ(s.probe(then(story(1, 11))), 11);
  EXPECT_EQ(s.probe(then(story(1, 10))), 8);
  EXPECT_EQ(s.probe(story(1, 12)), 11);
  EXPECT_EQ(s.probe(story(1, 11)), 8);
}

TEST(PartialKey, ABoundaryIsServedWhereAPromptLeavesTheHistory) {
  Sessions s(small_config());
  s.cache(story(1, 12), {6, 3});
  EXPECT_EQ(s.probe(then(story(1, 6))), 6);
  EXPECT_EQ(s.probe(then(story(1, 7))), 6);
  EXPECT_EQ(s.probe(then(story(1, 5))), 4);
  EXPECT_EQ(s.probe(then(story(1, 3))), 3);
  EXPECT_EQ(s.probe(then(story(1, 2))), 0);
  EXPECT_EQ(s.probe(then(story(1, 12))), 12);
}

// A prompt of exactly k * B cached tokens: the last whole block is not served, a key in it may be.
TEST(PartialKey, APromptOfCachedTokensOnlyIsServedUpToAKeyInItsLastBlock) {
  Sessions s(small_config());
  s.cache(story(1, 12), {11, 9});
  EXPECT_EQ(s.probe(story(1, 12)), 11);
  EXPECT_EQ(s.probe(story(1, 11)), 9);
  EXPECT_EQ(s.probe(story(1, 10)), 9);
  EXPECT_EQ(s.probe(story(1, 9)), 8);
}

TEST(PartialKey, TheLongestThatFitsWins) {
  Sessions s(blocks_of_8());
  s.cache(story(1, 8), {2, 6, 4});
  const Tokens prompt = then(story(1, 8), 1);
  EXPECT_EQ(s.probe(prompt), 8);
  for (std::int64_t same = 0; same < 8; ++same) {
    EXPECT_EQ(s.probe(then(story(1, same))), same / 2 * 2) << same;
  }
  for (std::int64_t length = 1; length <= 8; ++length) {
    EXPECT_EQ(s.probe(story(1, length)), (length - 1) / 2 * 2) << length;
  }
  for (std::int64_t addressable = 0; addressable < 8; ++addressable) {
    EXPECT_EQ(s.probe(prompt, addressable), addressable / 2 * 2) << addressable;
  }
}

TEST(PartialKey, AWholeBlockWinsOverAnyKeyBesideIt) {
  Sessions s(small_config());
  s.cache(story(1, 4), {3});
  EXPECT_EQ(s.probe(then(story(1, 4))), 4);
}

TEST(PartialKey, KeysStandUnderTheirParentOnly) {
  Sessions s(small_config());
  s.cache(join(story(1, 4), story(3, 2)));
  s.cache(join(story(2, 4), story(4, 4)));
  EXPECT_EQ(s.probe(then(join(story(2, 4), story(3, 2)))), 4);
  EXPECT_EQ(s.probe(then(story(3, 2))), 0);
  EXPECT_EQ(s.probe(then(join(story(1, 4), story(3, 2)))), 6);
}

TEST(PartialKey, BoundariesOnEdgesOutsideOrPastTheEndAddNothing) {
  Sessions s(small_config());
  s.cache(story(1, 10), {0, 4, 8, 11, 12, 1000, INT64_MAX});
  EXPECT_EQ(s.parked_blocks(), 3);
  EXPECT_EQ(s.probe(then(story(1, 10))), 10);
  EXPECT_EQ(s.probe(then(story(1, 9))), 8);
  EXPECT_EQ(s.probe(then(story(1, 3))), 0);
}

TEST(PartialKey, ABoundaryAtTheEndIsTheTrailingKey) {
  Sessions s(small_config());
  s.cache(story(1, 10), {10});
  EXPECT_EQ(s.probe(then(story(1, 10))), 10);
  EXPECT_EQ(s.parked_blocks(), 3);
}

TEST(PartialKey, NothingIsNamedPastTheAddressableLength) {
  Sessions s(small_config());
  s.cache(story(1, 15), {5, 6, 7, 9, 13}, 6);
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.probe(story(1, 20)), 6);
  EXPECT_EQ(s.probe(then(story(1, 5))), 5);
}

TEST(PartialKey, RepeatedBoundariesCountOnce) {
  Sessions s(blocks_of_8());
  s.cache(story(1, 8), {1, 2, 3, 4, 4, 4, 4});
  for (const std::int64_t key : {1, 2, 3, 4}) {
    EXPECT_EQ(s.probe(then(story(1, key))), key);
  }
  EXPECT_EQ(s.manager().stats().dropped_keys, 0);
}

// --- Taken over or copied ---

TEST(PartialKey, IsTakenOverWithoutACopyWhenNobodyHoldsTheBlock) {
  Sessions s(small_config());
  s.admit(0, story(1, 6));
  s.prefill(0);
  const std::int32_t tail = s.row(0)[1];
  s.retire(0);
  EXPECT_EQ(s.admit(1, then(story(1, 6))), 6);
  EXPECT_TRUE(s.manager().copies().empty());
  EXPECT_EQ(s.row(1)[1], tail);
  EXPECT_EQ(s.parked_blocks(), 0);
  EXPECT_EQ(s.free_blocks(), 14);
  EXPECT_EQ(s.manager().stats().partial_takeovers, 1);
}

TEST(PartialKey, OfATakenOverBlockIsStillServedToOthersByACopy) {
  Sessions s(small_config());
  s.cache(story(1, 6));
  EXPECT_EQ(s.admit(0, then(story(1, 6))), 6);
  s.prefill(0);  // Appends behind the key, in the same block.
  EXPECT_EQ(s.admit(1, join(story(1, 6), story(2, 1))), 6);
  ASSERT_EQ(s.manager().copies().size(), 1U);
  EXPECT_EQ(s.manager().copies()[0], (BlockCopy{s.row(0)[1], s.row(1)[1], 2}));
  s.prefill(1);
  s.evict(0);
  s.evict(1);
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.probe(join(story(1, 6), story(5, 2))), 6);
  EXPECT_EQ(s.probe(then(story(1, 6))), 8);  // Whole by now.
}

TEST(PartialKey, IsCopiedWhenALongerKeyStandsInTheBlock) {
  Sessions s(blocks_of_8());
  s.admit(0, story(1, 7));
  s.prefill(0);
  const std::int32_t block = s.row(0)[0];
  s.retire(0, {3, 5});
  EXPECT_EQ(s.admit(1, then(story(1, 5))), 5);
  ASSERT_EQ(s.manager().copies().size(), 1U);
  EXPECT_EQ(s.manager().copies()[0], (BlockCopy{block, s.row(1)[0], 5}));
  EXPECT_EQ(s.parked_blocks(), 1);
  EXPECT_EQ(s.free_blocks(), 15);
  // The longest of them is free to be taken over.
  EXPECT_EQ(s.admit(2, then(story(1, 7))), 7);
  EXPECT_TRUE(s.manager().copies().empty());
  EXPECT_EQ(s.row(2)[0], block);
}

TEST(PartialKey, IsCopiedOutOfAWholeBlock) {
  Sessions s(small_config());
  s.cache(story(1, 8), {6});
  EXPECT_EQ(s.admit(0, then(story(1, 6))), 6);
  ASSERT_EQ(s.manager().copies().size(), 1U);
  EXPECT_EQ(s.manager().copies()[0].rows, 2);
  EXPECT_EQ(s.parked_blocks(), 1);
  EXPECT_EQ(s.probe(then(story(1, 8))), 8);
}

TEST(PartialKey, IsCopiedOutOfABlockThatAnotherSessionHolds) {
  Sessions s(small_config());
  s.cache(story(1, 8), {6});
  EXPECT_EQ(s.admit(0, then(story(1, 8))), 8);
  EXPECT_EQ(s.admit(1, then(story(1, 6))), 6);
  ASSERT_EQ(s.manager().copies().size(), 1U);
  EXPECT_EQ(s.manager().copies()[0], (BlockCopy{s.row(0)[1], s.row(1)[1], 2}));
}

// A block that was taken over and filled has its keys and, once sealed, is a whole block as well.
TEST(PartialKey, KeysStayWhenTheirBlockIsFilledAndSealed) {
  Sessions s(small_config());
  s.cache(story(1, 6));
  s.admit(0, story(1, 8));
  s.prefill(0);
  EXPECT_EQ(s.probe(then(story(1, 8))), 8);
  EXPECT_EQ(s.probe(then(story(1, 6))), 6);
  s.retire(0);
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.probe(then(story(1, 8))), 8);
  EXPECT_EQ(s.probe(then(story(1, 6))), 6);
}

TEST(PartialKey, KeysOfGrowingHistoriesStandInOneBlock) {
  Sessions s(blocks_of_8());
  for (const std::int64_t length : {2, 4, 5, 7}) {
    s.cache(story(1, length));
    EXPECT_EQ(s.parked_blocks(), 1) << length;
  }
  for (const std::int64_t length : {2, 4, 5, 7}) {
    EXPECT_EQ(s.probe(then(story(1, length))), length);
  }
}

// The rows behind a key differ between two sessions: both histories stand, each in a block.
TEST(PartialKey, TwoEndsOfOneBeginningNeedTwoBlocks) {
  Sessions s(blocks_of_8());
  s.cache(story(1, 3));
  s.cache(then(story(1, 3), 2));
  s.cache(join(story(1, 3), story(2, 3)));
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.probe(then(story(1, 3), 4)), 5);
  EXPECT_EQ(s.probe(join(story(1, 3), story(2, 4))), 6);
  EXPECT_EQ(s.probe(join(story(1, 3), story(3, 4))), 3);
}

// --- No room for the copy ---

TEST(PartialKey, WithoutABlockForTheCopyTheResultIsWholeBlocks) {
  Sessions s(blocks_of_8(2));
  s.cache(story(1, 16), {12});
  EXPECT_EQ(s.admit(0, then(story(1, 12))), 8);
  EXPECT_TRUE(s.manager().copies().empty());
  EXPECT_EQ(s.parked_blocks(), 1);
  EXPECT_EQ(s.manager().stats().partial_hits, 0);
}

TEST(PartialKey, AtTheRootWithoutABlockForTheCopyNothingIsServed) {
  Sessions s(blocks_of_8(1));
  s.cache(story(1, 8), {5});
  EXPECT_EQ(s.probe(then(story(1, 5), 2)), 0);
  EXPECT_EQ(s.parked_blocks(), 1);
}

// The source is the least recently used, and still another one has to go.
TEST(PartialKey, TheCopyTakesTheOldestBlockThatIsNotItsSource) {
  Sessions s(blocks_of_8(3));
  s.cache(story(1, 8), {5});
  s.cache(story(2, 8));
  s.cache(story(3, 8));
  EXPECT_EQ(s.admit(0, then(story(1, 5))), 5);
  EXPECT_EQ(s.manager().copies().size(), 1U);
  EXPECT_EQ(s.manager().stats().evicted_for_copy, 1);
  EXPECT_EQ(s.probe(then(story(2, 8))), 0);
  EXPECT_EQ(s.probe(then(story(3, 8))), 8);
  EXPECT_EQ(s.probe(then(story(1, 8))), 8);
}

TEST(PartialKey, TheCopyTakesAFreeBlockBeforeAParkedOne) {
  Sessions s(blocks_of_8(3));
  s.cache(story(1, 8), {5});
  s.cache(story(2, 8));
  EXPECT_EQ(s.admit(0, then(story(1, 5))), 5);
  EXPECT_EQ(s.manager().stats().evicted_blocks(), 0);
  EXPECT_EQ(s.parked_blocks(), 2);
}

// --- Keys die with what they stand on ---

TEST(PartialKey, IsGoneWhenItsBlockIsEvicted) {
  Sessions s(blocks_of_8(3));
  s.cache(story(1, 12));
  s.write(0, story(9, 16));  // The free block, then the tail.
  EXPECT_EQ(s.parked_blocks(), 1);
  EXPECT_EQ(s.probe(then(story(1, 12), 1)), 8);
  s.evict(0);
  EXPECT_EQ(s.probe(then(story(1, 12))), 8);
}

TEST(PartialKey, OfAnEvictedBlockMakesRoomUnderItsParent) {
  Sessions s(blocks_of_8(4));
  for (int i = 0; i < 4; ++i) {
    s.cache(story(10 + i, 3));
  }
  s.write(0, story(9, 9));  // Evicts the two oldest.
  s.evict(0);
  s.cache(story(20, 3));
  s.cache(story(21, 3));
  EXPECT_EQ(s.manager().stats().dropped_keys, 0);
  for (const int which : {12, 13, 20, 21}) {
    EXPECT_EQ(s.probe(story(which, 4)), 3) << which;
  }
}

// A duplicate that a partial key names is kept parked beside the canonical block.
TEST(PartialKey, KeepsADuplicateOfAWholeBlockParked) {
  Sessions s(small_config());
  s.cache(story(1, 6));
  EXPECT_EQ(s.admit(0, story(1, 9)), 6);  // Takes the block over.
  const std::int32_t taken_over = s.row(0)[1];
  EXPECT_EQ(s.admit(1, story(1, 9)), 6);  // Copies.
  const std::int32_t copy = s.row(1)[1];
  s.prefill(1);  // Seals its copy.
  s.prefill(0);  // Its own block is the duplicate now.
  EXPECT_EQ(s.row(0)[1], copy);
  EXPECT_EQ(s.parked_blocks(), 1);
  EXPECT_EQ(s.manager().stats().duplicate_blocks, 1);
  EXPECT_EQ(s.admit(2, join(story(1, 6), story(2, 3))), 6);
  EXPECT_EQ(s.row(2)[1], taken_over);
  EXPECT_TRUE(s.manager().copies().empty());
}

}  // namespace
}  // namespace octavo::testing
