// Faults of the kind "a window block is freed while a query can still see it".
//
// The arithmetic of these tests: with window W a query at position p sees p - W + 1 .. p, so with c
// committed tokens the next query sees c - W + 1 .. c and the blocks wholly before that may go.
#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

BlockManagerConfig window_config(int window) {
  BlockManagerConfig config = small_config();
  config.window = window;
  config.max_tokens_per_seq = 400;
  return config;
}

// vllm-project/vllm PR #47728 (#47282), vllm-ascend #13501, vLLM PR #45357: the boundary of what
// may be freed was computed from the scheduled length. When draft tokens were refused, the length
// went back behind a block that was already someone else's.
TEST(Windows, ABlockThatRefusedDraftTokensWouldHaveFreedIsStillThere) {
  Sessions s(window_config(8));
  s.admit(0, story(1, 16));
  s.prefill(0);
  EXPECT_EQ(s.row(0)[0], -1);
  EXPECT_EQ(s.row(0)[1], -1);  // 16 - 8 + 1 = 9: positions 0..7 are out of sight.
  const std::int32_t kept = s.row(0)[2];
  s.write(0, story(7, 4));  // Four drafts: 20 are reserved, 16 are committed.
  EXPECT_EQ(s.row(0)[2], kept);
  s.rewind(0, 17);  // The next query reads 10..17, and 10 lies in block 2.
  EXPECT_EQ(s.row(0)[2], kept);
  s.write(0, story(2, 1));
  EXPECT_EQ(s.row(0)[2], kept);
  EXPECT_EQ(s.free_blocks(), 16 - 3);
}

// The rewind that would need what is gone must raise, not read another's rows.
TEST(Windows, ARewindBehindWhatIsHeldRaises) {
  Sessions s(window_config(8));
  s.admit(0, story(1, 20));
  s.prefill(0);  // 20 - 8 + 1 = 13: blocks 0..2 are gone, position 12 is the first one held.
  EXPECT_EQ(s.row(0)[2], -1);
  EXPECT_NE(s.row(0)[3], -1);
  BlockManager& manager = s.manager();
  EXPECT_ERROR(manager, FailedPrecondition, manager.update_position(0, 18), "update_position",
               "18");
  EXPECT_ERROR(manager, FailedPrecondition, manager.update_position(0, 0), "update_position", "0");
  s.rewind(0, 19);  // Reads 12..19.
  s.write(0, story(2, 3));
  s.commit(0);
}

// The same through past_len, in a batch, leaves the other slot alone.
TEST(Windows, AStepThatRewindsBehindWhatIsHeldRaisesForTheWholeBatch) {
  Sessions s(window_config(8));
  for (const int slot : {0, 1}) {
    s.admit(slot, story(slot, 20));
    s.prefill(slot);
  }
  BlockManager& manager = s.manager();
  try {
    const std::uint64_t digest = manager.digest();
    EXPECT_THROW(prepare(manager, {0, 1, 2}, {20, 18}, {0, 1}), Error);
    EXPECT_EQ(manager.digest(), digest);
    prepare(manager, {0, 1, 2}, {20, 19}, {0, 1});
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

// Every length of a session, every rewind from it: raises exactly when a position is gone.
TEST(Windows, EveryRewindFromEveryLengthIsRightForManyWindows) {
  for (const int window : {1, 2, 3, 4, 5, 7, 8, 9}) {
    for (std::int64_t length = 1; length <= 24; ++length) {
      for (std::int64_t to = 0; to < length; ++to) {
        BlockManager manager(window_config(window));
        reserve(manager, {0}, {static_cast<std::int32_t>(length)});
        manager.update_position(0, length);
        const std::int64_t gone = length - window + 1 > 0 ? (length - window + 1) / 4 : 0;
        const std::int64_t first_read = to - window + 1 > 0 ? to - window + 1 : 0;
        std::int64_t released = 0;
        for (const std::int32_t cell : manager.block_table(0)) {
          released += cell == -1 ? 1 : 0;
        }
        ASSERT_EQ(released, gone) << "window " << window << " length " << length;
        bool raised = false;
        try {
          manager.update_position(0, to);
        } catch (const Error& error) {
          raised = error.code() == ErrorCode::FailedPrecondition;
        }
        ASSERT_EQ(raised, first_read < gone * 4)
            << "window " << window << ", from " << length << " to " << to;
        manager.audit();
      }
    }
  }
}

// A long session under a window runs in a pool far smaller than its history, and what it holds
// never exceeds what the window and one step need.
TEST(Windows, ALongSessionHoldsOnlyItsWindow) {
  BlockManagerConfig config = window_config(8);
  config.num_blocks = 3;
  Sessions s(config);
  s.admit(0, story(1, 300));
  for (int i = 0; i < 75; ++i) {
    // From the fourth step on nothing is free before it: its own commit releases what it takes.
    s.write_prompt(0, 4);
    ASSERT_EQ(s.free_blocks(), i < 2 ? 2 - i : 0) << i;
  }
  s.commit(0);
  EXPECT_EQ(s.free_blocks(), 3 - 2);  // 300 - 8 + 1 = 293: block 73 (292..295) is the first held.
  EXPECT_EQ(s.row(0).size(), 75U);
  s.evict(0);
  EXPECT_EQ(s.free_blocks(), 3);
}

// Half of vllm-project/vllm #57610 for windows: such a cache shares nothing, and says so with 0.
TEST(Windows, AWindowedPoolServesNothingAndParksNothing) {
  Sessions s(window_config(8));
  EXPECT_EQ(s.cache(story(1, 20), {5, 10}), 0);
  EXPECT_EQ(s.parked_blocks(), 0);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.cache(story(1, 20)), 0);
  EXPECT_EQ(s.probe(story(1, 30)), 0);
  EXPECT_EQ(s.manager().stats().sealed_blocks, 0);
}

// A failed device and a window: released blocks are out of the step's reach, the rest is not.
TEST(Windows, AbandoningAWindowedSessionQuarantinesOnlyWhatTheStepMayWrite) {
  Sessions s(window_config(8));
  s.admit(0, story(1, 24));
  s.prefill(0, 20);
  s.write_prompt(0, 4);
  s.abandon(0);
  EXPECT_EQ(s.manager().quarantined_blocks(), 1);
  EXPECT_EQ(s.free_blocks(), 15);
}

}  // namespace
}  // namespace octavo::testing
