// BlockManager::replay: what it refuses, and what it leaves in managers of both kinds: those that
// replay at once (LRU, whole blocks alone) and those that make the calls of a session.
#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

BlockManagerConfig whole_blocks_config() {
  BlockManagerConfig config = small_config();
  config.partial_keys = false;
  return config;
}

TEST(Replay, LeavesAPromptServable) {
  for (const BlockManagerConfig& config : {whole_blocks_config(), small_config()}) {
    BlockManager m(config);
    EXPECT_EQ(m.replay(0, story(1, 14)), 0);
    EXPECT_TRUE(m.is_fresh(0));
    EXPECT_EQ(m.parked_blocks(), config.partial_keys ? 4 : 3);
    EXPECT_EQ(m.replay(0, story(1, 14)), 12);
    EXPECT_EQ(m.replay(1, story(1, 12)), 8) << "never a whole prompt";
    EXPECT_EQ(m.replay(1, story(1, 14), 4), 4);
    EXPECT_EQ(m.free_blocks(), m.num_blocks());
    EXPECT_EQ(m.stats().admits, 4);
    EXPECT_EQ(m.stats().hit_tokens, 24);
    m.audit();
  }
}

TEST(Replay, OfAPromptThatFillsThePoolEvictsTheRest) {
  BlockManager m(whole_blocks_config());
  m.replay(0, story(1, 14));
  EXPECT_EQ(m.replay(0, story(2, 64)), 0);
  EXPECT_EQ(m.parked_blocks(), 16);
  EXPECT_EQ(m.replay(0, story(1, 14)), 0);
  EXPECT_EQ(m.stats().bound_blocks_max, 16);
  m.audit();
}

TEST(Replay, TakesTheNamespaceThatItsSlotWasGiven) {
  BlockManager m(whole_blocks_config());
  m.set_namespace(0, 7);
  m.replay(0, story(1, 14));
  EXPECT_EQ(m.replay(0, story(1, 14)), 0) << "the namespace has left with its session";
  m.set_namespace(0, 7);
  EXPECT_EQ(m.replay(0, story(1, 14)), 12);
  m.set_namespace(0, 7);
  m.invalidate_namespace(7);
  EXPECT_EQ(m.replay(0, story(1, 14)), 0) << "stale";
  m.audit();
}

// A manager that has ordered copies for somebody else's write orders none any more.
TEST(Replay, LeavesNoCopies) {
  Sessions s(whole_blocks_config());
  s.admit(0, story(1, 8));
  s.write(0, story(1, 8));
  s.rewind(0, 8);
  s.rewind(0, 6);
  s.write(0, story(2, 1));
  ASSERT_EQ(s.manager().copies().size(), 1U);
  s.manager().replay(1, story(3, 4));
  EXPECT_TRUE(s.manager().copies().empty());
}

TEST(Replay, RefusesWhatTheCallsOfASessionWouldRefuse) {
  for (const BlockManagerConfig& config : {whole_blocks_config(), small_config()}) {
    BlockManager m(config);
    m.admit(1, story(1, 9));
    EXPECT_ERROR(m, InvalidArgument, m.replay(4, story(1, 9)), "replay", "slot 4", "[0, 4)");
    EXPECT_ERROR(m, FailedPrecondition, m.replay(1, story(1, 9)), "replay", "slot 1", "in use");
    EXPECT_ERROR(m, InvalidArgument, m.replay(0, {}), "replay", "prompt length 0");
    EXPECT_ERROR(m, InvalidArgument, m.replay(0, story(1, 9), -2), "replay", "addressable_len -2");
    EXPECT_ERROR(m, InvalidArgument, m.replay(0, story(1, 9), kAddressableAll, -1), "replay",
                 "output_tokens -1");
  }
}

TEST(Replay, OfAPromptThatThePoolHasNoRoomForChangesNothing) {
  for (const BlockManagerConfig& config : {whole_blocks_config(), small_config()}) {
    Sessions s(config);
    s.admit(0, story(1, 40));
    s.write(0, story(1, 40));
    s.rewind(0, 40);  // Commits: ten blocks are held and servable.
    BlockManager& m = s.manager();
    EXPECT_ERROR(m, ResourceExhausted, m.replay(1, story(2, 28)), "replay", "7 blocks", "6 of 16");
    EXPECT_EQ(m.replay(1, join(story(1, 40), story(2, 24))), 40) << "what is held needs no room";
    EXPECT_ERROR(m, ResourceExhausted, m.replay(1, story(1, 64), 36), "replay", "7 blocks");
    EXPECT_EQ(m.replay(1, story(2, 24)), 0);
    EXPECT_ERROR(m, ResourceExhausted, m.replay(1, join(story(2, 24), story(3, 4))), "replay",
                 "1 blocks", "0 of 16");
    m.audit();
  }
}

}  // namespace
}  // namespace octavo::testing
