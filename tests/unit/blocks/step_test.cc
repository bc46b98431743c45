// reserve, prepare_step and update_position: lengths, blocks and what they hand out.
#include <algorithm>
#include <span>

#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

// --- reserve ---

TEST(Reserve, ReturnsTheLengthsBeforeAndAdvancesThem) {
  BlockManager m(small_config());
  EXPECT_EQ(reserve(m, {2, 0}, {5, 3}), (Ids{0, 0}));
  EXPECT_EQ(reserve(m, {0, 1, 2}, {4, 1, 2}), (Ids{3, 0, 5}));
  EXPECT_EQ(m.reserved_len(0), 7);
  EXPECT_EQ(m.reserved_len(1), 1);
  EXPECT_EQ(m.reserved_len(2), 7);
  EXPECT_EQ(m.block_table(0).size(), 2U);
  EXPECT_EQ(m.block_table(1).size(), 1U);
  EXPECT_EQ(m.block_table(2).size(), 2U);
  EXPECT_EQ(m.free_blocks(), 11);
}

TEST(Reserve, CommitsWhatWasReservedBefore) {
  BlockManager m(small_config());
  reserve(m, {0}, {5});
  EXPECT_EQ(m.committed_len(0), 0);
  reserve(m, {0}, {2});
  EXPECT_EQ(m.committed_len(0), 5);
  reserve(m, {0}, {0});
  EXPECT_EQ(m.committed_len(0), 7);
  EXPECT_EQ(m.reserved_len(0), 7);
}

TEST(Reserve, TakesABlockOnlyWhenTheLastOneIsFull) {
  BlockManager m(small_config());
  reserve(m, {0}, {1});
  EXPECT_EQ(m.free_blocks(), 15);
  reserve(m, {0}, {3});
  EXPECT_EQ(m.free_blocks(), 15);
  reserve(m, {0}, {1});
  EXPECT_EQ(m.free_blocks(), 14);
}

TEST(Reserve, InOneCallOrInManyTakesTheSameBlocks) {
  BlockManager once(small_config());
  BlockManager often(small_config());
  reserve(once, {0}, {23});
  for (const std::int32_t n : {1, 7, 4, 8, 3}) {
    reserve(often, {0}, {n});
  }
  EXPECT_EQ(row(often, 0), row(once, 0));
  EXPECT_EQ(often.reserved_len(0), once.reserved_len(0));
}

TEST(Reserve, HandsEveryBlockToOneCellOnly) {
  Sessions s(small_config());
  s.write({{0, story(1, 20)}, {1, story(2, 20)}, {2, story(3, 24)}});
  Ids all;
  for (const int slot : {0, 1, 2}) {
    all = join(all, s.row(slot));
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all.size(), 16U);
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
  EXPECT_EQ(all.front(), 0);
  EXPECT_EQ(all.back(), 15);
}

TEST(Reserve, RefusesSpansOfDifferentLengths) {
  BlockManager m(small_config());
  const Ids one = {1};
  const Ids two = {0, 1};
  Ids room(2);
  EXPECT_ERROR(m, InvalidArgument, m.reserve(two, one, room), "reserve", "2", "1");
  EXPECT_ERROR(m, InvalidArgument, m.reserve(one, two, std::span(room).first(1)), "reserve", "1",
               "2");
  EXPECT_ERROR(m, InvalidArgument, m.reserve(two, two, std::span(room).first(1)), "reserve", "2",
               "1");
}

TEST(Reserve, RefusesDuplicateSlotsAndNegativeCounts) {
  BlockManager m(small_config());
  EXPECT_ERROR(m, InvalidArgument, reserve(m, {1, 2, 1}, {1, 1, 1}), "reserve", "slot", "1");
  EXPECT_ERROR(m, InvalidArgument, reserve(m, {1, 1}, {0, 0}), "reserve", "1");
  EXPECT_ERROR(m, InvalidArgument, reserve(m, {1, 2}, {1, -3}), "reserve", "-3");
  // A refusal leaves no mark: the same slots are fine in the next call.
  EXPECT_EQ(reserve(m, {1, 2}, {1, 1}), (Ids{0, 0}));
}

TEST(Reserve, DoesNotWriteOffsetsWhenItRaises) {
  BlockManager m(small_config());
  const Ids slots = {0, 1};
  const Ids n_new = {4, 64};
  Ids offsets = {77, 78};
  EXPECT_ERROR(m, ResourceExhausted, m.reserve(slots, n_new, offsets), "reserve", "17", "16");
  EXPECT_EQ(offsets, (Ids{77, 78}));
}

TEST(Reserve, OfTheLastBlockWorksAndOfOneMoreIsExhaustion) {
  BlockManager m(small_config());
  reserve(m, {0, 1}, {32, 32});
  EXPECT_EQ(m.free_blocks(), 0);
  EXPECT_ERROR(m, ResourceExhausted, reserve(m, {2}, {1}), "reserve", "1", "0");
  reserve(m, {0, 1}, {0, 0});
  m.evict(0);
  reserve(m, {2}, {1});
}

TEST(Reserve, OfAnEmptyBatchDoesNothing) {
  BlockManager m(small_config());
  const std::uint64_t digest = m.digest();
  reserve(m, {}, {});
  EXPECT_EQ(m.digest(), digest);
}

TEST(Reserve, OfNoTokensStillPutsAFreshSlotToUse) {
  BlockManager m(small_config());
  reserve(m, {0}, {0});
  EXPECT_FALSE(m.is_fresh(0));
  EXPECT_EQ(m.free_blocks(), 16);
  EXPECT_ERROR(m, FailedPrecondition, m.admit(0, story(1, 4)), "admit", "0");
  m.evict(0);
  EXPECT_TRUE(m.is_fresh(0));
}

// --- the checks alone ---

TEST(CheckStep, RaisesWhatTheStepRaisesAndChangesNothing) {
  BlockManager m(small_config());
  reserve(m, {0}, {5});
  const std::uint64_t digest = m.digest();
  const Ids slots = {0};
  EXPECT_NO_THROW(m.check_step(Ids{0, 3}, Ids{2}, slots));
  EXPECT_NO_THROW(m.check_reserve(slots, Ids{7}));
  const auto message = [](auto call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const Ids past = {6};
  const Ids lengths = {0, 1};
  EXPECT_EQ(message([&] { m.check_step(lengths, past, slots); }),
            message([&] { m.prepare_step(lengths, past, slots); }));
  Ids offsets = {0};
  const Ids too_many = {64};
  EXPECT_EQ(message([&] { m.check_reserve(slots, too_many); }),
            message([&] { m.reserve(slots, too_many, offsets); }));
  EXPECT_NE(message([&] { m.check_reserve(slots, too_many); }), "no error");
  EXPECT_EQ(m.digest(), digest);
}

// --- prepare_step ---

TEST(PrepareStep, OfDecodeHandsOutTheLengthsAfterTheAppend) {
  BlockManager m(small_config());
  reserve(m, {0, 1, 3}, {5, 9, 1});
  const Ids cu = {0, 1, 2, 3};
  const Ids past = {1, 5, 9};
  const Ids slots = {3, 0, 1};
  const StepPlan plan = m.prepare_step(cu, past, slots);
  EXPECT_TRUE(plan.decode);
  EXPECT_EQ(Ids(plan.cu_seqlens_k.begin(), plan.cu_seqlens_k.end()), (Ids{2, 6, 10}));
  EXPECT_EQ(m.reserved_len(0), 6);
  EXPECT_EQ(m.committed_len(0), 5);
}

TEST(PrepareStep, OfPrefillHandsOutTheRunningSumOfLengths) {
  BlockManager m(small_config());
  reserve(m, {0, 1}, {5, 9});
  const Ids cu = {0, 1, 4, 11};
  const Ids past = {5, 9, 0};
  const Ids slots = {0, 1, 2};
  const StepPlan plan = m.prepare_step(cu, past, slots);
  EXPECT_FALSE(plan.decode);
  EXPECT_EQ(Ids(plan.cu_seqlens_k.begin(), plan.cu_seqlens_k.end()), (Ids{0, 6, 18, 25}));
}

TEST(PrepareStep, OfOneTokenPrefillsIsADecode) {
  BlockManager m(small_config());
  EXPECT_EQ(prepare(m, {0, 1}, {0}, {2}), Ids{1});
}

TEST(PrepareStep, IsARewindAndAReservation) {
  BlockManager by_step(small_config());
  BlockManager by_hand(small_config());
  for (BlockManager* m : {&by_step, &by_hand}) {
    m->admit(0, story(1, 9));
    reserve(*m, {0, 1}, {9, 6});
  }
  prepare(by_step, {0, 2, 7}, {9, 3}, {0, 1});
  by_hand.update_position(0, 9);
  by_hand.update_position(1, 3);
  EXPECT_EQ(reserve(by_hand, {0, 1}, {2, 5}), (Ids{9, 3}));
  EXPECT_EQ(by_step.digest(), by_hand.digest());
}

TEST(PrepareStep, PlanStaysValidUntilTheNextStep) {
  BlockManager m(small_config());
  const Ids cu = {0, 3};
  const Ids past = {0};
  const Ids slots = {0};
  const StepPlan plan = m.prepare_step(cu, past, slots);
  m.update_position(0, 3);
  m.admit(1, story(1, 9));
  m.evict(0);
  m.retire(1, {});
  EXPECT_EQ(Ids(plan.cu_seqlens_k.begin(), plan.cu_seqlens_k.end()), (Ids{0, 3}));
}

TEST(PrepareStep, RefusesEveryBadArgumentByName) {
  BlockManager m(small_config());
  reserve(m, {0, 1}, {5, 9});
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 1}, {5, 9}, {0, 1}), "prepare_step",
               "cu_seqlens_q", "2", "3");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 1, 2, 3}, {5, 9}, {0, 1}), "prepare_step",
               "cu_seqlens_q", "4", "3");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {}, {}, {}), "prepare_step", "cu_seqlens_q");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 1, 2}, {5}, {0, 1}), "prepare_step", "past_len");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 1, 2}, {5, 9}, {0}), "prepare_step");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {1, 2, 3}, {5, 9}, {0, 1}), "prepare_step",
               "cu_seqlens_q", "1");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {-1, 1, 2}, {5, 9}, {0, 1}), "prepare_step",
               "cu_seqlens_q", "-1");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 0, 1}, {5, 9}, {0, 1}), "prepare_step", "0", "1");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 2, 1}, {5, 9}, {0, 1}), "prepare_step", "-1");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 1, 2}, {5, 10}, {0, 1}), "prepare_step",
               "past_len", "10", "9");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 1, 2}, {-5, 9}, {0, 1}), "prepare_step",
               "past_len", "-5");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 1, 2}, {5, 5}, {0, 0}), "prepare_step", "slot",
               "0");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 1}, {1}, {2}), "prepare_step", "past_len", "1",
               "0");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 60}, {5}, {0}), "prepare_step", "64");
  EXPECT_ERROR(m, ResourceExhausted, prepare(m, {0, 50}, {5}, {0}), "prepare_step", "12", "11");
}

// A batch of one goes its own way through the manager.
TEST(PrepareStep, OfOneSequenceRefusesWhatABatchRefuses) {
  BlockManager m(small_config());
  reserve(m, {0, 1}, {5, 9});
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0}, {5}, {0}), "prepare_step", "cu_seqlens_q");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {1, 2}, {5}, {0}), "cu_seqlens_q", "1");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 1}, {5}, {99}), "prepare_step", "slot", "99");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 1}, {5}, {-1}), "prepare_step", "slot", "-1");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 0}, {5}, {0}), "query length", "0");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, -1}, {5}, {0}), "query length", "-1");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 1}, {10}, {1}), "past_len", "10", "9");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 1}, {-5}, {1}), "past_len", "-5");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 99}, {9}, {1}), "108", "64");
}

TEST(PrepareStep, OfOneSequenceAfterAnotherLeavesWhatABatchLeaves) {
  BlockManager once(small_config());
  BlockManager one_by_one(small_config());
  for (BlockManager* m : {&once, &one_by_one}) {
    m->admit(0, story(1, 9));
    reserve(*m, {0, 1}, {9, 6});
  }
  // A slot that seals, one that rewinds, a fresh one; then all of them decode.
  prepare(once, {0, 2, 7, 10}, {9, 3, 0}, {0, 1, 2});
  prepare(one_by_one, {0, 2}, {9}, {0});
  prepare(one_by_one, {0, 5}, {3}, {1});
  EXPECT_EQ(prepare(one_by_one, {0, 3}, {0}, {2}), (Ids{0, 3}));
  EXPECT_EQ(one_by_one.digest(), once.digest());
  prepare(once, {0, 1, 2, 3}, {11, 8, 3}, {0, 1, 2});
  prepare(one_by_one, {0, 1}, {11}, {0});
  EXPECT_EQ(prepare(one_by_one, {0, 1}, {8}, {1}), Ids{9});
  prepare(one_by_one, {0, 1}, {3}, {2});
  EXPECT_EQ(one_by_one.digest(), once.digest());
}

// Telling a fresh slot its position leaves marks in it, and still it has not begun.
TEST(PrepareStep, PutsAFreshSlotToUseThatWasToldItsPosition) {
  for (const bool alone : {true, false}) {
    BlockManager m(small_config());
    reserve(m, {1}, {3});
    m.update_position(0, 0);
    alone ? prepare(m, {0, 1}, {0}, {0}) : prepare(m, {0, 1, 2}, {3, 0}, {1, 0});
    EXPECT_FALSE(m.is_fresh(0));
    m.audit();
    m.retire(0, story(1, 1));
    EXPECT_TRUE(m.is_fresh(0));
  }
}

TEST(PrepareStep, TheOrderOfTheBatchChangesNothingButTheOrderOfTheResult) {
  BlockManager forward(small_config());
  BlockManager backward(small_config());
  for (BlockManager* m : {&forward, &backward}) {
    reserve(*m, {0, 1, 2}, {3, 4, 5});
  }
  EXPECT_EQ(prepare(forward, {0, 1, 2, 3}, {3, 4, 5}, {0, 1, 2}), (Ids{4, 5, 6}));
  EXPECT_EQ(prepare(backward, {0, 1, 2, 3}, {5, 4, 3}, {2, 1, 0}), (Ids{6, 5, 4}));
  EXPECT_EQ(backward.digest(), forward.digest());  // One slot of the three takes a block.
}

TEST(PrepareStep, OfAnEmptyBatchHandsOutNothingAndChangesNothing) {
  BlockManager m(small_config());
  const std::uint64_t digest = m.digest();
  EXPECT_TRUE(prepare(m, {0}, {}, {}).empty());
  EXPECT_EQ(m.digest(), digest);
}

// --- update_position ---

TEST(UpdatePosition, SetsBothLengths) {
  BlockManager m(small_config());
  reserve(m, {0}, {9});
  m.update_position(0, 9);
  EXPECT_EQ(m.committed_len(0), 9);
  m.update_position(0, 5);
  EXPECT_EQ(m.committed_len(0), 5);
  EXPECT_EQ(m.reserved_len(0), 5);
  EXPECT_ERROR(m, InvalidArgument, m.update_position(0, 6), "update_position", "6", "5");
  m.update_position(0, 0);
  EXPECT_EQ(m.reserved_len(0), 0);
}

TEST(UpdatePosition, OfAFreshSlotToZeroLeavesItFresh) {
  BlockManager m(small_config());
  const std::uint64_t digest = m.digest();
  m.update_position(0, 0);
  EXPECT_TRUE(m.is_fresh(0));
  EXPECT_EQ(m.digest(), digest);
}

// --- Copies ---

TEST(Copies, AreThoseOfTheLatestCallThatReturned) {
  Sessions s(small_config());
  s.cache(story(1, 8), {6});
  BlockManager& m = s.manager();
  EXPECT_EQ(m.admit(0, join(story(1, 6), story(2, 4))), 6);
  ASSERT_EQ(m.copies().size(), 1U);
  const BlockCopy copy = m.copies()[0];
  EXPECT_EQ(copy.rows, 2);
  EXPECT_EQ(copy.dst, m.block_table(0)[1]);
  // Other verbs and calls that raise leave the list alone.
  EXPECT_THROW(m.admit(0, story(1, 8)), Error);
  EXPECT_THROW(reserve(m, {0}, {-1}), Error);
  EXPECT_THROW(prepare(m, {0, 1}, {9}, {0}), Error);
  m.update_position(0, 6);
  m.evict(1);
  ASSERT_EQ(m.copies().size(), 1U);
  EXPECT_EQ(m.copies()[0], copy);
  reserve(m, {0}, {1});
  EXPECT_TRUE(m.copies().empty());
}

TEST(Copies, OfABatchComeInTheOrderOfTheBatch) {
  Sessions s(small_config());
  for (const int slot : {0, 1, 2}) {
    s.admit(slot, story(slot, 8));
    s.prefill(slot);
  }
  const std::int32_t two = s.row(2)[1];
  const std::int32_t zero = s.row(0)[1];
  s.rewind(0, 5);
  s.rewind(2, 7);
  s.write({{2, story(7, 1)}, {1, story(7, 1)}, {0, story(7, 1)}});
  const std::span<const BlockCopy> copies = s.manager().copies();
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(copies[0], (BlockCopy{two, s.row(2)[1], 3}));
  EXPECT_EQ(copies[1], (BlockCopy{zero, s.row(0)[1], 1}));
}

}  // namespace
}  // namespace octavo::testing
