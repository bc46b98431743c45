// abandon and quarantine: what a failed device may still be writing is out of reach, and only that.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

TEST(Abandon, OfAFreshSlotChangesNothing) {
  BlockManager m(small_config());
  const std::uint64_t digest = m.digest();
  m.abandon(0);
  EXPECT_EQ(m.digest(), digest);
}

TEST(Abandon, OfACommittedSessionIsAnEviction) {
  Sessions abandoned(small_config());
  Sessions evicted(small_config());
  for (Sessions* s : {&abandoned, &evicted}) {
    s->cache(story(1, 6));
    s->admit(0, story(1, 15));
    s->prefill(0);
    s->write(0, story(2, 3));
    s->commit(0);
  }
  abandoned.abandon(0);
  evicted.evict(0);
  EXPECT_EQ(abandoned.manager().digest(), evicted.manager().digest());
  EXPECT_EQ(abandoned.manager().quarantined_blocks(), 0);
}

// Every committed length against every reserved one: the blocks that hold a position in between.
TEST(Abandon, QuarantinesTheBlocksWithAPositionInFlight) {
  for (std::int64_t committed = 0; committed <= 12; ++committed) {
    for (std::int64_t reserved = committed; reserved <= 16; ++reserved) {
      Sessions s(small_config());
      if (committed > 0) {
        s.write(0, story(1, committed));
        s.commit(0);
      }
      if (reserved > committed) {
        s.write(0, story(1, reserved - committed, committed));
      }
      s.abandon(0);
      const std::int64_t in_flight = reserved > committed ? (reserved + 3) / 4 - committed / 4 : 0;
      ASSERT_EQ(s.manager().quarantined_blocks(), in_flight) << committed << " " << reserved;
      ASSERT_EQ(s.free_blocks(), 16 - in_flight);
      ASSERT_EQ(s.release_quarantined(), in_flight);
      ASSERT_EQ(s.free_blocks(), 16);
    }
  }
}

// Slot 0 takes the cached partial block over, so slot 1 gets a copy of it, which a device that
// fails now may still be writing.
TEST(Abandon, QuarantinesTheTargetOfACopyUntilAStepBehindItIsCommitted) {
  Sessions s(small_config());
  s.cache(story(1, 6));
  for (int slot : {0, 1}) {
    s.admit(slot, story(1, 8));
  }
  ASSERT_EQ(s.manager().committed_len(1), 6);
  const std::int32_t target = s.manager().block_table(1)[1];
  s.abandon(1);
  EXPECT_EQ(s.manager().quarantined_blocks(), 1);
  EXPECT_EQ(s.release_quarantined(), 1);

  s.admit(1, story(1, 8));
  ASSERT_EQ(s.manager().block_table(1)[1], target);
  s.prefill(1);
  s.abandon(1);
  EXPECT_EQ(s.manager().quarantined_blocks(), 0);
}

TEST(Abandon, QuarantinedBlocksAreNeverHandedOut) {
  BlockManagerConfig config = small_config();
  config.num_blocks = 6;
  Sessions s(config);
  s.write(0, story(1, 9));
  const Ids in_flight = s.row(0);
  s.abandon(0);
  s.write(1, story(2, 12));
  for (const std::int32_t block : s.row(1)) {
    EXPECT_EQ(std::count(in_flight.begin(), in_flight.end(), block), 0);
  }
  BlockManager& m = s.manager();
  EXPECT_EQ(s.free_blocks(), 0);
  EXPECT_ERROR(m, ResourceExhausted, reserve(m, {2}, {1}), "reserve", "1", "0");
  s.evict(1);
  EXPECT_EQ(s.free_blocks(), 3);
  EXPECT_EQ(s.release_quarantined(), 3);
  EXPECT_EQ(s.release_quarantined(), 0);
  s.write(1, story(2, 24));
}

// A rewind does not recall a step; a commit of everything reserved proves that it is done.
TEST(Abandon, ARewindKeepsTheStepInFlight) {
  Sessions s(small_config());
  s.write(0, story(1, 4));
  s.write(0, story(1, 9, 4));
  s.rewind(0, 5);  // Positions 5..12 may still be written.
  s.abandon(0);
  EXPECT_EQ(s.manager().quarantined_blocks(), 3);
  EXPECT_EQ(s.free_blocks(), 13);
}

TEST(Abandon, ACommitOfEverythingEndsTheStep) {
  Sessions s(small_config());
  s.write(0, story(1, 13));
  s.commit(0);
  s.rewind(0, 5);
  s.abandon(0);
  EXPECT_EQ(s.manager().quarantined_blocks(), 0);
  EXPECT_EQ(s.free_blocks(), 16);
}

// The step from before the rewind may still be on its way, farther than the one after it.
TEST(Abandon, AStepAfterARewindIsInFlightAsFarAsTheLongerOfBoth) {
  Sessions s(small_config());
  s.write(0, story(1, 13));
  s.rewind(0, 5);
  s.write(0, story(2, 2));
  s.abandon(0);
  EXPECT_EQ(s.manager().quarantined_blocks(), 3);
}

// Saying once more where the rewind went commits no step.
TEST(Abandon, ACommitAfterARewindProvesNothingUntilSomethingWasReserved) {
  for (const bool with_step : {false, true}) {
    Sessions s(small_config());
    s.write(0, story(1, 13));
    s.rewind(0, 5);
    s.commit(0);
    if (with_step) {
      s.write(0, story(2, 1));
      s.commit(0);
    }
    s.abandon(0);
    EXPECT_EQ(s.manager().quarantined_blocks(), with_step ? 0 : 3);
  }
}

TEST(Abandon, ABareReservationAfterARewindProvesNothingItself) {
  BlockManager m(small_config());
  reserve(m, {0}, {13});
  m.update_position(0, 5);
  reserve(m, {0}, {0});
  m.abandon(0);
  EXPECT_EQ(m.quarantined_blocks(), 3);
}

// Sealed and shared blocks are written by no step.
TEST(Abandon, SealedBlocksAreReleasedNotQuarantined) {
  Sessions s(small_config());
  s.admit(0, story(1, 9));
  s.prefill(0);
  s.write(0, story(2, 2));
  s.abandon(0);
  EXPECT_EQ(s.manager().quarantined_blocks(), 1);
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.probe(story(1, 9)), 8);
}

TEST(Abandon, ARewoundSealedBlockIsNotInFlight) {
  Sessions s(small_config());
  s.admit(0, story(1, 8));
  s.prefill(0);
  s.write(0, story(2, 4));
  s.rewind(0, 6);  // The step writes 8..11; block 1 is sealed.
  s.abandon(0);
  EXPECT_EQ(s.manager().quarantined_blocks(), 1);
  EXPECT_EQ(s.parked_blocks(), 2);
}

TEST(Abandon, ATakenOverBlockInFlightLosesItsKeys) {
  Sessions s(small_config());
  s.cache(story(1, 6));
  EXPECT_EQ(s.admit(0, join(story(1, 6), story(2, 3))), 6);
  s.write_prompt(0);
  s.abandon(0);
  EXPECT_EQ(s.manager().quarantined_blocks(), 2);
  EXPECT_EQ(s.parked_blocks(), 1);
  EXPECT_EQ(s.probe(story(1, 7)), 4);
  EXPECT_EQ(s.release_quarantined(), 2);
  EXPECT_EQ(s.probe(story(1, 7)), 4);
}

TEST(Abandon, ATakenOverBlockThatWasNotWrittenKeepsItsKeys) {
  Sessions s(small_config());
  s.cache(story(1, 6));
  EXPECT_EQ(s.admit(0, join(story(1, 6), story(2, 3))), 6);
  s.abandon(0);
  EXPECT_EQ(s.manager().quarantined_blocks(), 0);
  EXPECT_EQ(s.probe(story(1, 7)), 6);
}

TEST(Abandon, AKeyLostToQuarantineMakesRoomForAnother) {
  BlockManagerConfig config = small_config();
  config.block_size = 8;
  Sessions s(config);
  for (int i = 0; i < 4; ++i) {
    s.cache(story(10 + i, 3));
  }
  EXPECT_EQ(s.admit(0, story(10, 5)), 3);
  s.write_prompt(0);
  s.abandon(0);
  s.cache(story(20, 3));
  EXPECT_EQ(s.manager().stats().dropped_keys, 0);
  for (const int which : {11, 12, 13, 20}) {
    EXPECT_EQ(s.probe(story(which, 4)), 3) << which;
  }
}

TEST(Abandon, ResetEndsTheQuarantine) {
  Sessions s(small_config());
  s.write(0, story(1, 9));
  s.abandon(0);
  s.reset();
  EXPECT_EQ(s.manager().quarantined_blocks(), 0);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.manager().stats().quarantined_blocks, 3);
}

}  // namespace
}  // namespace octavo::testing
