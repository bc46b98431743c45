// Faults of the kind "a call failed half way": orphaned blocks, leaked slots, stale tables.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

const Tokens kPrompt = story(1, 9);

// TensorRT-LLM PR #15018, #12933: a sequence was removed before its blocks were registered; they
// stayed behind without an owner and the next one read garbage.
TEST(Failures, AnAbandonedPrefillLeavesNothingToServe) {
  Sessions s(small_config());
  s.admit(0, kPrompt);
  s.write_prompt(0);
  const Ids in_flight = s.row(0);
  s.abandon(0);
  EXPECT_TRUE(s.manager().is_fresh(0));
  EXPECT_EQ(s.manager().quarantined_blocks(), 3);
  EXPECT_EQ(s.free_blocks(), 13);
  EXPECT_EQ(s.admit(0, kPrompt), 0);
  // The step that may still be running must not write under the new session.
  s.prefill(0);
  for (const std::int32_t block : s.row(0)) {
    EXPECT_EQ(std::count(in_flight.begin(), in_flight.end(), block), 0) << "block " << block;
  }
}

TEST(Failures, AnAbandonedSessionKeepsWhatWasCommittedServable) {
  Sessions s(small_config());
  s.admit(0, kPrompt);
  s.prefill(0, 6);
  s.write_prompt(0);
  s.abandon(0);
  EXPECT_EQ(s.manager().quarantined_blocks(), 2);  // Block 1 is half in flight.
  EXPECT_EQ(s.parked_blocks(), 1);
  EXPECT_EQ(s.admit(0, kPrompt), 4);
}

TEST(Failures, AbandoningThreeSessionsOfOneBatchQuarantinesEachOnesOwnBlocksOnly) {
  Sessions s(small_config());
  s.cache(story(1, 8));
  for (const int slot : {0, 1, 2}) {
    EXPECT_EQ(s.admit(slot, join(story(1, 8), story(2 + slot, 4))), 8);
  }
  s.write({{0, story(2, 4)}, {1, story(3, 4)}, {2, story(4, 4)}});
  s.abandon(0);
  s.abandon(2);
  EXPECT_EQ(s.manager().quarantined_blocks(), 2);
  EXPECT_EQ(s.free_blocks(), 16 - 2 - 3);
  s.abandon(1);
  EXPECT_EQ(s.manager().quarantined_blocks(), 3);
  EXPECT_EQ(s.free_blocks(), 13);
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.release_quarantined(), 3);
  EXPECT_EQ(s.free_blocks(), 16);
}

// sglang PR #16067, #15840: one resource was taken for a request, the next one was refused, and the
// first leaked. A batch is all or nothing.
TEST(Failures, ABatchThatDoesNotFitMovesNobody) {
  BlockManagerConfig config = small_config();
  config.num_blocks = 4;
  Sessions s(config);
  s.admit(0, story(1, 7));
  s.prefill(0, 4);
  s.admit(1, story(2, 12));
  s.prefill(1, 4);
  EXPECT_EQ(s.free_blocks(), 2);
  BlockManager& manager = s.manager();
  EXPECT_ERROR(manager, ResourceExhausted, prepare(manager, {0, 3, 11}, {4, 4}, {0, 1}),
               "prepare_step", "3", "2");
  EXPECT_ERROR(manager, ResourceExhausted, reserve(manager, {0, 1}, {3, 8}), "reserve", "3", "2");
  EXPECT_EQ(manager.reserved_len(0), 4);
  EXPECT_EQ(manager.reserved_len(1), 4);
  EXPECT_EQ(s.free_blocks(), 2);
  s.evict(0);
  s.write_prompt(1, 8);
  EXPECT_EQ(manager.reserved_len(1), 12);
}

// The bad member may stand anywhere in the batch and fail for any reason.
TEST(Failures, OneBadMemberAnywhereStopsTheWholeBatch) {
  BlockManagerConfig config = small_config();
  config.max_tokens_per_seq = 20;
  Sessions s(config);
  for (const int slot : {0, 1, 2}) {
    s.admit(slot, story(slot, 5));
    s.prefill(slot);
  }
  BlockManager& manager = s.manager();
  for (int bad = 0; bad < 3; ++bad) {
    SCOPED_TRACE(bad);
    Ids past(3, 5);
    Ids n_new(3, 2);
    Ids slots = {0, 1, 2};
    const auto b = static_cast<std::size_t>(bad);
    past[b] = 6;
    EXPECT_ERROR(manager, InvalidArgument, prepare(manager, {0, 2, 4, 6}, past, slots), "6", "5");
    past[b] = -1;
    EXPECT_ERROR(manager, InvalidArgument, prepare(manager, {0, 2, 4, 6}, past, slots), "-1");
    n_new[b] = 16;
    EXPECT_ERROR(manager, InvalidArgument, reserve(manager, slots, n_new), "reserve", "20");
    n_new[b] = -1;
    EXPECT_ERROR(manager, InvalidArgument, reserve(manager, slots, n_new), "reserve", "-1");
    slots[b] = 4;
    EXPECT_ERROR(manager, InvalidArgument, reserve(manager, slots, {1, 1, 1}), "slot", "4");
    slots[b] = (bad + 1) % 3;
    EXPECT_ERROR(manager, InvalidArgument, reserve(manager, slots, {1, 1, 1}), "slot");
  }
  for (const int slot : {0, 1, 2}) {
    EXPECT_EQ(manager.reserved_len(slot), 5);
  }
}

// Rewinds of members before the one that fails must not be kept.
TEST(Failures, ARewindInABatchThatDoesNotFitIsNotKept) {
  BlockManagerConfig config = small_config();
  config.num_blocks = 6;
  Sessions s(config);
  s.admit(0, story(1, 8));
  s.prefill(0);
  s.admit(1, story(2, 8));
  s.prefill(1);
  BlockManager& manager = s.manager();
  // Slot 0 would need a private copy and give a block up, slot 1 three blocks more than there are.
  EXPECT_ERROR(manager, ResourceExhausted, prepare(manager, {0, 1, 13}, {6, 8}, {0, 1}),
               "prepare_step");
  EXPECT_EQ(manager.reserved_len(0), 8);
  EXPECT_EQ(manager.committed_len(0), 8);
  EXPECT_TRUE(manager.copies().empty());
  s.check();
}

// LMCache PR #1361, #2007, #1969, PR #2984: a request that was preempted and resumed still carried
// its old block ids; by then others had written them.
TEST(Failures, AResumedSessionHasOnlyNewCells) {
  BlockManagerConfig config = small_config();
  config.num_blocks = 10;
  Sessions s(config);
  const Tokens history = join(kPrompt, story(2, 6));
  s.admit(0, kPrompt);
  s.prefill(0);
  s.decode(0, story(2, 6));
  s.evict(0);
  EXPECT_TRUE(s.row(0).empty());
  EXPECT_EQ(s.manager().reserved_len(0), 0);
  // Others take every block in between.
  s.admit(1, story(3, 40));
  s.prefill(1);
  EXPECT_EQ(s.free_blocks(), 0);
  s.evict(1);
  EXPECT_EQ(s.admit(0, history), 0);
  s.admit(2, story(4, 20));
  s.prefill(2);
  s.prefill(0);
  EXPECT_EQ(s.row(0).size(), 4U);
  s.evict(2);
  s.check();
}

TEST(Failures, AResumedSessionIsServedWhatItCommittedBefore) {
  Sessions s(small_config());
  s.admit(0, kPrompt);
  s.prefill(0);
  s.decode(0, story(2, 6));
  s.evict(0);
  EXPECT_EQ(s.admit(1, join(kPrompt, story(2, 6))), 8);
  // With retire instead of evict, preemption keeps all of it.
  s.prefill(1);
  s.retire(1);
  EXPECT_EQ(s.admit(0, join(kPrompt, story(2, 7))), 15);
}

// mlx-lm PR #1528 (a negative trim), aprender PR #2014 (a rollback that reset every length): a
// position out of range must raise and leave every length alone.
TEST(Failures, APositionOutOfRangeMovesNothing) {
  Sessions s(small_config());
  s.admit(0, kPrompt);
  s.prefill(0);
  s.admit(1, story(2, 5));
  s.prefill(1);
  BlockManager& manager = s.manager();
  EXPECT_ERROR(manager, InvalidArgument, manager.update_position(0, 10), "update_position", "10",
               "9");
  EXPECT_ERROR(manager, InvalidArgument, manager.update_position(0, -1), "update_position", "-1");
  EXPECT_ERROR(manager, InvalidArgument, manager.update_position(0, std::int64_t{1} << 40),
               "update_position", "1099511627776");
  EXPECT_ERROR(manager, InvalidArgument, manager.update_position(0, INT64_MIN), "update_position");
  EXPECT_ERROR(manager, InvalidArgument, manager.update_position(2, 1), "update_position", "1");
  EXPECT_ERROR(manager, InvalidArgument, manager.update_position(4, 0), "slot", "4");
  EXPECT_EQ(manager.reserved_len(0), 9);
  EXPECT_EQ(manager.reserved_len(1), 5);
}

TEST(Failures, AbortingAfterARewindFreesEverythingOnce) {
  Sessions s(small_config());
  s.admit(0, kPrompt);
  s.prefill(0);
  s.write(0, story(2, 7));
  s.rewind(0, 10);
  s.evict(0);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.parked_blocks(), 2);
  s.admit(0, kPrompt);
  EXPECT_EQ(s.manager().reserved_len(0), 8);
  EXPECT_EQ(s.row(0).size(), 2U);
}

}  // namespace
}  // namespace octavo::testing
