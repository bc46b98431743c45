// Rewinds: what stays bound, what the next write gives up, copies or takes back.
#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

// --- Private blocks are served again ---

TEST(Rewind, KeepsEveryBlockBound) {
  Sessions s(small_config());
  s.write(0, story(1, 30));
  const Ids cells = s.row(0);
  for (const std::int64_t position : {30, 22, 9, 8, 7, 1, 0}) {
    s.rewind(0, position);
    EXPECT_EQ(s.row(0), cells) << position;
    EXPECT_EQ(s.free_blocks(), 8) << position;
  }
}

TEST(Rewind, TheSameBlocksAreServedAgainBeforeNewOnes) {
  Sessions s(small_config());
  s.write(0, story(1, 16));
  const Ids cells = s.row(0);
  s.rewind(0, 5);
  s.write(0, story(2, 3));
  EXPECT_EQ(s.row(0), cells);
  s.write(0, story(2, 8, 3));
  EXPECT_EQ(s.row(0), cells);
  EXPECT_EQ(s.free_blocks(), 12);
  s.write(0, story(2, 1, 11));
  EXPECT_EQ(slice(s.row(0), 0, 4), cells);
  EXPECT_EQ(s.free_blocks(), 11);
}

TEST(Rewind, ARewoundSlotCanUseItsOwnBlocksInAFullPool) {
  Sessions s(small_config());
  s.write(0, story(1, 64));
  EXPECT_EQ(s.free_blocks(), 0);
  s.rewind(0, 1);
  s.write(0, story(2, 63));
  EXPECT_EQ(s.free_blocks(), 0);
}

TEST(Rewind, OfABareSessionRetiresUnderWhatIsLeft) {
  Sessions s(small_config());
  s.write(0, story(1, 16));
  s.rewind(0, 6);
  s.retire(0);
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.probe(story(1, 20)), 6);
}

// --- Sealed blocks are given up ---

TEST(Rewind, AWriteInsideASealedBlockCopiesTheKeptRowsAndGivesItUp) {
  Sessions s(small_config());
  s.admit(0, story(1, 8));
  s.prefill(0);
  const Ids before = s.row(0);
  s.rewind(0, 6);
  EXPECT_EQ(s.row(0), before);
  EXPECT_EQ(s.free_blocks(), 14);
  s.write(0, story(2, 1));
  ASSERT_EQ(s.manager().copies().size(), 1U);
  EXPECT_EQ(s.manager().copies()[0], (BlockCopy{before[1], s.row(0)[1], 2}));
  EXPECT_EQ(s.row(0)[0], before[0]);
  EXPECT_NE(s.row(0)[1], before[1]);
  EXPECT_EQ(s.parked_blocks(), 1);
  EXPECT_EQ(s.free_blocks(), 14);
  EXPECT_EQ(s.manager().stats().copied_blocks, 1);
  // The block that was given up is still what the prompt computed.
  EXPECT_EQ(s.probe(story(1, 9)), 8);
}

TEST(Rewind, AWriteOnABlockEdgeNeedsNoCopy) {
  Sessions s(small_config());
  s.admit(0, story(1, 12));
  s.prefill(0);
  const Ids before = s.row(0);
  s.rewind(0, 4);
  s.write(0, story(2, 4));
  EXPECT_TRUE(s.manager().copies().empty());
  EXPECT_EQ(s.row(0).size(), 2U);
  EXPECT_EQ(s.row(0)[0], before[0]);
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.free_blocks(), 14);
  EXPECT_EQ(s.probe(story(1, 13)), 12);
}

// Two sealed blocks go, the two private ones behind them stay, move up, and the last of them takes
// the kept rows. Nothing new is acquired.
TEST(Rewind, PrivateBlocksMoveUpAndTheLastTakesTheKeptRows) {
  Sessions s(small_config());
  s.admit(0, story(1, 12));
  s.prefill(0);
  s.write(0, story(2, 8));
  const Ids before = s.row(0);  // Three sealed, two private.
  s.rewind(0, 6);
  s.write(0, story(3, 1));
  ASSERT_EQ(s.manager().copies().size(), 1U);
  EXPECT_EQ(s.manager().copies()[0], (BlockCopy{before[1], before[4], 2}));
  EXPECT_EQ(s.row(0), (Ids{before[0], before[4], before[3]}));
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.free_blocks(), 13);
  // A longer write goes on in the block that moved up, then in a new one.
  s.write(0, story(3, 9, 1));
  EXPECT_EQ(slice(s.row(0), 0, 3), (Ids{before[0], before[4], before[3]}));
  EXPECT_EQ(s.row(0).size(), 4U);
}

TEST(Rewind, PrivateBlocksMoveUpInOrderBehindAnEdge) {
  Sessions s(small_config());
  s.admit(0, story(1, 8));
  s.prefill(0);
  s.write(0, story(2, 12));
  const Ids before = s.row(0);  // Two sealed, three private.
  s.rewind(0, 4);
  s.write(0, story(3, 2));
  EXPECT_TRUE(s.manager().copies().empty());
  EXPECT_EQ(s.row(0), (Ids{before[0], before[2], before[3], before[4]}));
}

TEST(Rewind, SharedBlocksAreLeftToTheOthers) {
  Sessions s(small_config());
  s.cache(story(1, 12));
  EXPECT_EQ(s.admit(0, story(1, 13)), 12);
  EXPECT_EQ(s.admit(1, story(1, 13)), 12);
  const Ids shared = s.row(1);
  s.rewind(0, 5);
  s.write(0, story(2, 6));
  EXPECT_EQ(s.row(0)[0], shared[0]);
  EXPECT_NE(s.row(0)[1], shared[1]);
  EXPECT_EQ(s.row(1), shared);
  EXPECT_EQ(s.parked_blocks(), 0);
  EXPECT_EQ(s.free_blocks(), 16 - 3 - 2);
  s.prefill(1);
  s.evict(1);
  EXPECT_EQ(s.parked_blocks(), 2);
}

TEST(Rewind, ToTheStartGivesUpEverythingSealed) {
  Sessions s(small_config());
  s.admit(0, story(1, 8));
  s.prefill(0);
  s.rewind(0, 0);
  s.write(0, story(2, 8));
  s.commit(0);
  EXPECT_EQ(s.parked_blocks(), 2);
  s.retire(0);
  EXPECT_EQ(s.parked_blocks(), 4);
  EXPECT_EQ(s.probe(story(1, 9)), 8);
  EXPECT_EQ(s.probe(story(2, 9)), 8);
}

// Given-up blocks park tail first, so the tail leaves first.
TEST(Rewind, GivenUpBlocksAreReleasedTailFirst) {
  BlockManagerConfig config = small_config();
  config.num_blocks = 7;
  Sessions s(config);
  s.admit(0, story(1, 12));
  s.prefill(0);
  s.rewind(0, 0);
  s.write(0, story(2, 4));  // Three go, one is new: three parked, three free.
  EXPECT_EQ(s.parked_blocks(), 3);
  s.write(1, story(3, 16));  // The three free ones and one parked.
  EXPECT_EQ(s.probe(story(1, 13)), 8);
  s.write(1, story(3, 4, 16));
  EXPECT_EQ(s.probe(story(1, 13)), 4);
}

// New blocks are acquired before anything is given up, and judged so.
TEST(Rewind, AWriteThatNeedsACopyInAFullPoolIsExhaustion) {
  BlockManagerConfig config = small_config();
  config.num_blocks = 2;
  Sessions s(config);
  s.admit(0, story(1, 8));
  s.prefill(0);
  s.rewind(0, 6);
  BlockManager& m = s.manager();
  EXPECT_ERROR(m, ResourceExhausted, prepare(m, {0, 1}, {6}, {0}), "prepare_step", "1", "0");
  EXPECT_ERROR(m, ResourceExhausted, reserve(m, {0}, {1}), "reserve", "1", "0");
  s.retire(0);
  EXPECT_EQ(s.parked_blocks(), 2);
}

// --- Blocks behind partial keys ---

TEST(Rewind, AWriteBehindTheKeysOfATakenOverBlockStaysInPlace) {
  Sessions s(small_config());
  s.cache(story(1, 6));
  EXPECT_EQ(s.admit(0, join(story(1, 6), story(2, 4))), 6);
  const Ids cells = s.row(0);
  s.write(0, story(2, 1));
  s.rewind(0, 6);
  s.write(0, story(3, 2));
  EXPECT_EQ(slice(s.row(0), 0, 2), cells);
  EXPECT_TRUE(s.manager().copies().empty());
  s.evict(0);
  EXPECT_EQ(s.probe(story(1, 7)), 6);
}

TEST(Rewind, AWriteBeforeTheKeysOfATakenOverBlockGivesItUp) {
  Sessions s(small_config());
  s.cache(story(1, 6));
  EXPECT_EQ(s.admit(0, join(story(1, 6), story(2, 4))), 6);
  const Ids cells = s.row(0);
  s.rewind(0, 5);
  s.write(0, story(3, 1));
  ASSERT_EQ(s.manager().copies().size(), 1U);
  EXPECT_EQ(s.manager().copies()[0], (BlockCopy{cells[1], s.row(0)[1], 1}));
  EXPECT_EQ(s.parked_blocks(), 1);
  EXPECT_EQ(s.probe(story(1, 7)), 6);
}

TEST(Rewind, AWriteBeforeATakenOverBlockGivesItUpWithItsKeys) {
  Sessions s(small_config());
  s.cache(story(1, 6));
  EXPECT_EQ(s.admit(0, join(story(1, 6), story(2, 4))), 6);
  s.rewind(0, 3);
  s.write(0, story(3, 6));
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.probe(story(1, 7)), 6);
}

// A key that was displaced covers nothing any more.
TEST(Rewind, AWriteOverADisplacedKeyStaysInPlace) {
  BlockManagerConfig config = small_config();
  config.block_size = 8;
  Sessions s(config);
  s.cache(story(1, 6));
  EXPECT_EQ(s.admit(0, story(1, 7)), 6);
  const Ids cells = s.row(0);
  for (int i = 0; i < 4; ++i) {
    s.cache(story(10 + i, 3));
  }
  s.rewind(0, 2);
  s.write(0, story(3, 1));
  EXPECT_EQ(s.row(0), cells);
  EXPECT_TRUE(s.manager().copies().empty());
}

// --- Into the prompt ---

TEST(Rewind, IntoThePromptEndsItsEnrolmentThere) {
  Sessions s(small_config());
  s.admit(0, story(1, 13));
  s.prefill(0, 4);
  s.write_prompt(0, 4);
  s.rewind(0, 6);
  s.write(0, story(1, 7, 6));
  s.commit(0);
  EXPECT_EQ(s.probe(story(1, 14)), 4);
  s.evict(0);
  EXPECT_EQ(s.parked_blocks(), 1);
}

TEST(Rewind, ThroughThePastLengthOfAStepEndsTheEnrolmentAsWell) {
  BlockManager m(small_config());
  m.admit(0, story(1, 13));
  prepare(m, {0, 8}, {0}, {0});
  prepare(m, {0, 7}, {6}, {0});
  m.update_position(0, 13);
  m.evict(0);
  EXPECT_EQ(m.parked_blocks(), 1);
  EXPECT_EQ(m.admit(0, story(1, 14)), 4);
}

TEST(Rewind, IntoThePromptFreesTheHistoryToGoAnotherWay) {
  Sessions s(small_config());
  s.admit(0, story(1, 9));
  s.prefill(0);
  s.rewind(0, 5);
  s.write(0, story(2, 4));
  BlockManager& m = s.manager();
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, join(story(2, 5), story(2, 4))), "retire",
               "history");
  s.retire(0);
  EXPECT_EQ(s.probe(join(join(story(1, 5), story(2, 4)), story(3, 1))), 9);
  EXPECT_EQ(s.probe(story(1, 9)), 8);  // What the prompt had published before.
}

TEST(Rewind, ToTheEndOfThePromptKeepsTheWholePromptInTheCheck) {
  Sessions s(small_config());
  s.admit(0, story(1, 9));
  s.prefill(0);
  s.write(0, story(2, 4));
  s.rewind(0, 9);
  BlockManager& m = s.manager();
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, changed_at(story(1, 9), 8)), "retire", "history");
  s.retire(0);
}

// A prompt served from the cache: its head is known only by the blocks, which the rewind gives up.
TEST(Rewind, IntoAServedPrefixStillChecksWhatIsLeftOfThePrompt) {
  Sessions s(small_config());
  s.cache(story(1, 12));
  EXPECT_EQ(s.admit(0, story(1, 14)), 12);
  s.rewind(0, 6);
  s.write(0, story(2, 5));
  s.commit(0);
  BlockManager& m = s.manager();
  const Tokens history = join(story(1, 6), story(2, 5));
  for (std::int64_t at = 0; at < 6; ++at) {
    EXPECT_ERROR(m, InvalidArgument, m.retire(0, changed_at(history, at)), "retire", "history");
  }
  s.retire(0);
  EXPECT_EQ(s.probe(join(history, story(3, 1))), 11);
  EXPECT_EQ(s.probe(story(1, 13)), 12);
}

TEST(Rewind, LeavesTheCheckOfTheAddressableLengthAsAdmitWasGivenIt) {
  Sessions s(small_config());
  s.admit(0, story(1, 12), 10);
  s.prefill(0);
  s.rewind(0, 6);
  s.write(0, story(2, 3));
  BlockManager& m = s.manager();
  const Tokens history = join(story(1, 6), story(2, 3));
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, history), "addressable_len");
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, history, 6), "addressable_len", "6", "10");
  s.retire(0, {}, 10);
  EXPECT_EQ(s.probe(join(history, story(3, 3))), 9);
}

}  // namespace
}  // namespace octavo::testing
