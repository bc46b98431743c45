// Windows: which cells are released when, and what the pool must have for a step.
#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

BlockManagerConfig window_config(int window, std::int64_t num_blocks) {
  BlockManagerConfig config = small_config();
  config.window = window;
  config.num_blocks = num_blocks;
  config.max_tokens_per_seq = 1000;
  return config;
}

TEST(Window, ReleasesABlockWhenItsLastTokenIsOutOfSight) {
  Sessions s(window_config(8, 16));
  // Block 0 holds 0..3. With c committed the next query sees c - 7 .. c: it goes at c = 11.
  s.write(0, story(1, 10));
  s.commit(0);
  EXPECT_NE(s.row(0)[0], -1);
  s.write(0, story(1, 1, 10));
  EXPECT_NE(s.row(0)[0], -1);  // Reserved is not committed.
  s.commit(0);
  EXPECT_EQ(s.row(0)[0], -1);
  EXPECT_EQ(s.row(0).size(), 3U);
  EXPECT_EQ(s.free_blocks(), 14);
}

TEST(Window, OfOneTokenKeepsOnlyTheBlockOfTheNextQuery) {
  Sessions s(window_config(1, 16));
  s.write(0, story(1, 7));
  s.commit(0);
  EXPECT_EQ(s.row(0)[0], -1);
  EXPECT_NE(s.row(0)[1], -1);
  s.write(0, story(1, 1, 7));
  s.commit(0);
  EXPECT_EQ(s.row(0), (Ids{-1, -1}));
  EXPECT_EQ(s.free_blocks(), 16);
  s.write(0, story(1, 1, 8));
  EXPECT_EQ(s.row(0).size(), 3U);
}

TEST(Window, LongerThanTheSequenceReleasesNothing) {
  Sessions s(window_config(1000, 16));
  s.write(0, story(1, 60));
  s.commit(0);
  EXPECT_EQ(s.free_blocks(), 1);
  s.rewind(0, 0);
  EXPECT_EQ(s.free_blocks(), 1);
}

TEST(Window, ReleasedBlocksServeOthers) {
  Sessions s(window_config(4, 4));
  s.write(0, story(1, 16));
  EXPECT_EQ(s.free_blocks(), 0);
  s.commit(0);  // 16 - 4 + 1 = 13: three blocks go.
  EXPECT_EQ(s.free_blocks(), 3);
  s.write(1, story(2, 12));
  s.commit(1);
  s.check();
}

TEST(Window, AStepMayTakeWhatItsOwnCommitReleases) {
  Sessions s(window_config(4, 4));
  s.write(0, story(1, 16));
  s.write({{0, story(1, 12, 16)}});  // Three are released by its commit, three are taken.
  EXPECT_EQ(s.free_blocks(), 0);
  EXPECT_EQ(slice(s.row(0), 0, 3), (Ids{-1, -1, -1}));
  BlockManager& m = s.manager();
  EXPECT_ERROR(m, ResourceExhausted, prepare(m, {0, 13}, {28}, {0}), "prepare_step", "4", "3");
  EXPECT_ERROR(m, ResourceExhausted, reserve(m, {0}, {13}), "reserve", "4", "3");
}

TEST(Window, ABatchMayTakeWhatItsOtherMembersRelease) {
  Sessions s(window_config(4, 4));
  s.write(0, story(1, 16));
  s.write({{1, story(2, 8)}, {0, story(1, 4, 16)}});  // Three released, two and one taken.
  EXPECT_EQ(s.free_blocks(), 0);
  EXPECT_EQ(s.row(1).size(), 2U);
}

TEST(Window, TurnsSharingOffEvenWithCachingOn) {
  BlockManagerConfig config = window_config(8, 16);
  config.prefix_caching = true;
  Sessions s(config);
  s.cache(story(1, 9));
  EXPECT_EQ(s.probe(story(1, 10)), 0);
  EXPECT_EQ(s.parked_blocks(), 0);
}

TEST(Window, ALongPromptIsAdmittedIntoASmallPool) {
  Sessions s(window_config(4, 4));
  EXPECT_EQ(s.admit(0, story(1, 1000)), 0);
  BlockManager& m = s.manager();
  EXPECT_ERROR(m, InvalidArgument, m.admit(1, story(1, 1001)), "admit", "1001", "1000");
}

TEST(Window, RetireChecksItsHistoryAndCachesNothing) {
  Sessions s(window_config(8, 16));
  s.admit(0, story(1, 20));
  s.prefill(0);
  BlockManager& m = s.manager();
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, changed_at(story(1, 20), 2)), "retire", "history");
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, story(1, 19)), "retire", "19", "20");
  s.retire(0, {5});
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.parked_blocks(), 0);
}

TEST(Window, EvictionOfAWindowedSessionFreesWhatIsHeldOnce) {
  Sessions s(window_config(8, 16));
  s.admit(0, story(1, 40));
  s.prefill(0);
  s.write(0, story(2, 3));
  s.evict(0);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_TRUE(s.row(0).empty());
}

// A rewind within the window writes in place: there is nothing sealed to give up.
TEST(Window, ARewindWithinTheWindowWritesInPlace) {
  Sessions s(window_config(8, 16));
  s.admit(0, story(1, 20));
  s.prefill(0);
  const Ids cells = s.row(0);
  s.rewind(0, 19);
  s.write(0, story(2, 1));
  EXPECT_EQ(s.row(0), cells);
  EXPECT_TRUE(s.manager().copies().empty());
}

}  // namespace
}  // namespace octavo::testing
