// Namespaces and their generations.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

TEST(Namespace, ASlotThatIsToldNothingBelongsToNamespaceZero) {
  Sessions s(small_config());
  s.cache(story(1, 9));
  EXPECT_EQ(s.probe_in(0, story(1, 10)), 9);
  s.set_namespace(0, 0);
  s.admit(0, story(2, 9));
  s.prefill(0);
  s.retire(0);
  EXPECT_EQ(s.probe(story(2, 10)), 9);
}

TEST(Namespace, EveryIdIsLegal) {
  Sessions s(small_config());
  s.set_namespace(3, UINT64_MAX);
  s.cache(story(1, 9));
  EXPECT_EQ(s.probe_in(UINT64_MAX, story(1, 10)), 9);
  EXPECT_EQ(s.probe_in(UINT64_MAX - 1, story(1, 10)), 0);
  EXPECT_EQ(s.probe_in(std::uint64_t{1} << 32, story(1, 10)), 0);
  EXPECT_EQ(s.probe(story(1, 10)), 0);
}

TEST(Namespace, MayBeNamedAgainWhileTheSlotIsFresh) {
  Sessions s(small_config());
  s.set_namespace(3, 5);
  s.cache(story(1, 9));
  s.set_namespace(0, 6);
  s.set_namespace(0, 5);
  EXPECT_EQ(s.admit(0, story(1, 10)), 9);
}

TEST(Namespace, CannotBeNamedOnceTheSlotIsInUse) {
  BlockManager m(small_config());
  m.admit(0, story(1, 9));
  reserve(m, {1}, {4});
  for (const int slot : {0, 1}) {
    EXPECT_ERROR(m, FailedPrecondition, m.set_namespace(slot, 5), "set_namespace", "slot",
                 std::to_string(slot));
  }
  m.evict(0);
  m.set_namespace(0, 5);
}

TEST(Namespace, LeavesTheSlotFresh) {
  BlockManager m(small_config());
  m.set_namespace(0, 5);
  EXPECT_TRUE(m.is_fresh(0));
  EXPECT_EQ(m.admit(0, story(1, 9)), 0);
}

TEST(Namespace, OfABareReservationIsTheOneItWasGiven) {
  Sessions s(small_config());
  s.set_namespace(0, 5);
  s.write(0, story(1, 9));
  s.retire(0);
  EXPECT_EQ(s.probe(story(1, 10)), 0);
  EXPECT_EQ(s.probe_in(5, story(1, 10)), 9);
}

TEST(Namespace, OfAFreshSlotIsTakenAwayByEvictAndAbandon) {
  Sessions s(small_config());
  s.cache(story(1, 9));
  s.set_namespace(0, 5);
  s.evict(0);
  EXPECT_EQ(s.admit(0, story(1, 10)), 9);
  s.set_namespace(1, 5);
  s.abandon(1);
  EXPECT_EQ(s.admit(1, story(1, 10)), 9);
}

// --- Generations ---

TEST(Generation, AnInvalidatedNamespaceServesNothingAndItsBlocksStayParked) {
  Sessions s(small_config());
  s.cache(story(1, 9));
  const std::int64_t parked = s.parked_blocks();
  s.invalidate_namespace(0);
  EXPECT_EQ(s.parked_blocks(), parked);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.probe(story(1, 10)), 0);
}

TEST(Generation, StaleBlocksAreEvictedInTheirTurn) {
  BlockManagerConfig config = small_config();
  config.num_blocks = 6;
  Sessions s(config);
  s.cache(story(1, 8));
  s.invalidate_namespace(0);
  s.cache(story(2, 8));
  s.write(0, story(9, 16));
  EXPECT_EQ(s.manager().stats().evicted_blocks(), 2);
  EXPECT_EQ(s.probe(story(2, 9)), 8);
}

TEST(Generation, AnUnknownNamespaceMayBeInvalidated) {
  Sessions s(small_config());
  s.cache(story(1, 9));
  s.invalidate_namespace(777);
  EXPECT_EQ(s.probe(story(1, 10)), 9);
  EXPECT_EQ(s.probe_in(777, story(1, 10)), 0);
}

TEST(Generation, ASlotGivenTheOldOneIsServedNothingAndSealsNothing) {
  Sessions s(small_config());
  s.set_namespace(3, 5);
  s.cache(story(1, 9));
  s.set_namespace(0, 5);
  s.invalidate_namespace(5);
  EXPECT_EQ(s.admit(0, story(1, 10)), 0);
  s.prefill(0);
  EXPECT_EQ(s.manager().stats().sealed_blocks, 2);
  s.retire(0, {2, 5});
  EXPECT_EQ(s.parked_blocks(), 3);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.probe_in(5, story(1, 10)), 0);
}

TEST(Generation, NamingItAgainGivesTheCurrentOne) {
  Sessions s(small_config());
  s.set_namespace(0, 5);
  s.invalidate_namespace(5);
  s.set_namespace(0, 5);
  EXPECT_EQ(s.admit(0, story(1, 9)), 0);
  s.prefill(0);
  EXPECT_EQ(s.probe_in(5, story(1, 9)), 8);
}

TEST(Generation, OfAnUntoldSlotIsSettledByItsFirstAdmitOrReserve) {
  Sessions s(small_config());
  s.admit(0, story(1, 9));
  s.write(1, story(2, 9));
  s.invalidate_namespace(0);
  s.prefill(0);
  EXPECT_EQ(s.probe(story(1, 9)), 0);
  s.commit(1);
  s.retire(1);
  EXPECT_EQ(s.probe(story(2, 10)), 0);
  EXPECT_EQ(s.parked_blocks(), 0);
  s.admit(2, story(3, 9));
  s.prefill(2);
  EXPECT_EQ(s.probe(story(3, 9)), 8);
}

// Its later blocks would only fill the pool with what nobody can be served.
TEST(Generation, ASlotThatGoesStaleInItsPromptSealsNoMoreOfIt) {
  Sessions s(small_config());
  s.admit(0, story(1, 13));
  s.prefill(0, 4);
  s.invalidate_namespace(0);
  s.prefill(0);
  EXPECT_EQ(s.manager().stats().sealed_blocks, 1);
  s.evict(0);
  EXPECT_EQ(s.parked_blocks(), 1);
  EXPECT_EQ(s.free_blocks(), 16);
}

// A slot that goes stale in the middle: what it sealed stays old, what it holds is released as
// ever.
TEST(Generation, ASlotThatGoesStaleKeepsRunningOnWhatItHolds) {
  Sessions s(small_config());
  s.cache(story(1, 6));
  EXPECT_EQ(s.admit(0, story(1, 14)), 6);
  s.prefill(0, 3);
  s.invalidate_namespace(0);
  s.prefill(0);
  s.decode(0, story(2, 5));
  s.rewind(0, 7);
  s.write(0, story(3, 4));
  s.rewind(0, 3);
  s.write(0, story(3, 12));
  s.commit(0);
  s.retire(0, {5});
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.probe(story(1, 14)), 0);
}

TEST(Generation, ManyOfThemNeverMeet) {
  Sessions s(small_config());
  for (int round = 0; round < 100; ++round) {
    s.set_namespace(3, 5);
    EXPECT_EQ(s.cache(story(1, 9)), 0) << round;
    EXPECT_EQ(s.probe_in(5, story(1, 10)), 9) << round;
    s.invalidate_namespace(5);
  }
}

// Stale and live blocks of the same tokens stand side by side; each slot ends on its own.
TEST(Generation, DuplicatesAreNotMergedAcrossGenerations) {
  Sessions s(small_config());
  s.admit(0, story(1, 9));
  s.prefill(0);
  s.invalidate_namespace(0);
  s.admit(1, story(1, 9));
  s.prefill(1);
  EXPECT_EQ(s.manager().stats().duplicate_blocks, 0);
  s.retire(0);
  s.retire(1);
  EXPECT_EQ(s.parked_blocks(), 2 + 3);
}

}  // namespace
}  // namespace octavo::testing
