// Faults of the kind "a block is served before its rows exist". They stand where a manager names a
// block when it hands it out and not when the device has written it.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

const Tokens kPublished = story(1, 9);

// vllm-project/vllm #41400, PR #38715, PR #43569; nano-vllm #208, PR #209; vllm-omni PR #7877: the
// hash of a block was registered at allocation, an abort before the forward pass left it naming
// rows that nobody had written, and the next request read them.
TEST(Publishing, AnAdmittedPromptThatNeverRanIsNotServed) {
  Sessions s(small_config());
  EXPECT_EQ(s.admit(0, kPublished), 0);
  s.evict(0);
  EXPECT_EQ(s.admit(1, kPublished), 0);
  EXPECT_EQ(s.parked_blocks(), 0);
}

// The same with a step in flight: reserved is not committed, so the step proves nothing.
TEST(Publishing, AStepThatWasNotCommittedIsNotServed) {
  Sessions s(small_config());
  s.admit(0, kPublished);
  s.write_prompt(0);
  s.evict(0);
  EXPECT_EQ(s.parked_blocks(), 0);
  EXPECT_EQ(s.admit(1, kPublished), 0);
}

TEST(Publishing, OnlyTheBlocksBehindTheCommittedLengthOfACancelledPrefillAreServed) {
  Sessions s(small_config());
  s.admit(0, kPublished);
  s.prefill(0, 5);
  s.evict(0);
  EXPECT_EQ(s.parked_blocks(), 1);
  EXPECT_EQ(s.admit(1, kPublished), 4);
}

// The next step's past_len is what commits the chunk before it.
TEST(Publishing, AChunkIsPublishedByTheStepThatFollowsIt) {
  Sessions s(small_config());
  s.admit(0, kPublished);
  s.write_prompt(0, 4);
  EXPECT_EQ(s.probe(kPublished), 0);
  s.write_prompt(0, 4);
  EXPECT_EQ(s.probe(kPublished), 4);
  s.write_prompt(0, 1);
  EXPECT_EQ(s.probe(kPublished), 8);
}

// A bare reservation commits what was reserved before it, too.
TEST(Publishing, AChunkIsPublishedByTheBareReservationThatFollowsIt) {
  BlockManager manager(small_config());
  manager.admit(0, kPublished);
  reserve(manager, {0}, {4});
  EXPECT_EQ(manager.admit(1, kPublished), 0);
  manager.evict(1);
  reserve(manager, {0}, {0});
  EXPECT_EQ(manager.committed_len(0), 4);
  EXPECT_EQ(manager.admit(1, kPublished), 4);
}

// One token short of a block's end is not the block.
TEST(Publishing, ABlockIsPublishedByItsLastTokenAndNotBefore) {
  Sessions s(small_config());
  s.admit(0, kPublished);
  s.prefill(0, 3);
  EXPECT_EQ(s.probe(kPublished), 0);
  s.prefill(0, 1);
  EXPECT_EQ(s.probe(kPublished), 4);
}

// vllm-project/vllm PR #29387 (the same fault for recurrent state): two requests with one prompt in
// the same step. The second must compute for itself, not wait for rows that are being written.
TEST(Publishing, TwoSessionsAdmittedTogetherShareNothingThatIsStillUnwritten) {
  Sessions s(small_config());
  EXPECT_EQ(s.admit(0, kPublished), 0);
  EXPECT_EQ(s.admit(1, kPublished), 0);
  s.write({{0, kPublished}, {1, kPublished}});
  const Ids first = s.row(0);
  const Ids second = s.row(1);
  for (const std::int32_t block : first) {
    EXPECT_EQ(std::count(second.begin(), second.end(), block), 0) << "block " << block;
  }
  EXPECT_EQ(s.free_blocks(), 16 - 6);
}

// Publishing must follow the block, not the request: the first writer dies, the second goes on.
TEST(Publishing, ASecondWriterPublishesWhatTheFirstOneDidNotFinish) {
  Sessions s(small_config());
  s.admit(0, kPublished);
  s.admit(1, kPublished);
  s.write({{0, kPublished}, {1, kPublished}});
  s.evict(0);
  EXPECT_EQ(s.probe(kPublished), 0);
  s.commit(1);
  EXPECT_EQ(s.probe(kPublished), 8);
}

// A block of a failed batch: the step raises, nothing was reserved, so there is nothing to publish.
TEST(Publishing, AStepThatRaisedPublishesNothingOfItsOwn) {
  BlockManagerConfig config = small_config();
  config.num_blocks = 4;
  Sessions s(config);
  s.admit(0, story(1, 12));
  s.prefill(0, 4);
  s.admit(1, story(2, 12));
  EXPECT_ERROR(s.manager(), ResourceExhausted, prepare(s.manager(), {0, 8, 20}, {4, 0}, {0, 1}),
               "prepare_step");
  s.evict(0);
  s.evict(1);
  EXPECT_EQ(s.probe(story(1, 12)), 4);
  EXPECT_EQ(s.probe(story(2, 12)), 0);
}

// What is only speculated must not be published with what is accepted: rows of rejected tokens lie
// in a block that later tokens complete.
TEST(Publishing, ARejectedTokenDoesNotCompleteABlock) {
  Sessions s(small_config());
  s.admit(0, story(1, 3));
  s.prefill(0);
  s.write(0, story(2, 1));  // A draft token that fills the block.
  s.rewind(0, 3);           // Rejected.
  s.write(0, story(3, 1));  // The real one.
  s.commit(0);
  s.retire(0);
  EXPECT_EQ(s.probe(join(story(1, 3), story(2, 2))), 0);
  EXPECT_EQ(s.probe(join(story(1, 3), story(3, 2))), 4);
}

// The generated part of a session is published by its end, under its whole history.
TEST(Publishing, GeneratedTokensAreServedOnlyAfterTheSessionEnds) {
  Sessions s(small_config());
  const Tokens answer = story(2, 8);
  s.admit(0, kPublished);
  s.prefill(0);
  s.decode(0, answer);
  s.commit(0);
  const Tokens turn = join(join(kPublished, answer), story(3, 3));
  EXPECT_EQ(s.probe(turn), 8);
  s.retire(0);
  EXPECT_EQ(s.probe(turn), 17);  // Four blocks of four and the trailing key of one.
}

}  // namespace
}  // namespace octavo::testing
