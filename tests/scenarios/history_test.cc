// Faults of the kind "the key and the rows under it are of different lengths": wrong index into the
// list of block hashes, alignment, speculated tokens.
#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

// openvinotoolkit/model_server #4376: a prompt that ended inside a block, then an answer; the
// hashes of the answer's blocks were appended to a list of another length, so later states stood
// under wrong keys and greedy answers varied from call to call.
TEST(Histories, AnswerBlocksBehindAPartialPromptBlockStandUnderTheirOwnHistory) {
  BlockManagerConfig config = small_config();
  config.block_size = 128;
  config.num_blocks = 64;
  Sessions s(config);
  const Tokens prompt = story(1, 40);
  const Tokens history = join(prompt, story(2, 150));
  s.admit(0, prompt);
  s.prefill(0);
  s.write(0, slice(history, 40, 190));
  s.commit(0);
  s.retire(0);
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(s.probe(history), 128) << round;
    EXPECT_EQ(s.probe(join(history, story(3, 1))), 190) << round;
    EXPECT_EQ(s.probe(changed_at(history, 60)), 0) << round;
    EXPECT_EQ(s.probe(changed_at(join(history, story(3, 1)), 189)), 128) << round;
    EXPECT_EQ(s.probe(changed_at(join(history, story(3, 1)), 128)), 128) << round;
    EXPECT_EQ(s.probe(changed_at(join(history, story(3, 1)), 127)), 0) << round;
    // Between them, other prompts of the same shape.
    const Tokens other = story(10 + round, 200);
    EXPECT_EQ(s.cache(other), 0) << round;
    EXPECT_EQ(s.probe(join(other, story(3, 1))), 200) << round;
  }
}

TEST(Histories, ABoundaryAtTheEndOfThePromptServesAChangedAnswer) {
  BlockManagerConfig config = small_config();
  config.block_size = 128;
  Sessions s(config);
  const Tokens history = join(story(1, 40), story(2, 150));
  s.admit(0, story(1, 40));
  s.prefill(0);
  s.write(0, story(2, 150));
  s.commit(0);
  s.retire(0, {40});
  EXPECT_EQ(s.probe(changed_at(history, 60)), 40);
  EXPECT_EQ(s.probe(changed_at(history, 39)), 0);
  EXPECT_EQ(s.probe(history), 128);
}

// vllm-project/vllm #57610: a prompt that left the cached one inside the last block hit nothing,
// since only the deepest alignment was looked at.
TEST(Histories, ADivergenceInsideTheLastBlockStillHitsEveryBlockBeforeIt) {
  BlockManagerConfig config = small_config();
  config.block_size = 16;
  Sessions s(config);
  s.cache(story(1, 100));
  EXPECT_EQ(s.probe(join(story(1, 97), story(2, 30))), 96);
  EXPECT_EQ(s.probe(join(story(1, 99), story(2, 30))), 96);
  EXPECT_EQ(s.probe(join(story(1, 100), story(2, 30))), 100);
  EXPECT_EQ(s.probe(join(story(1, 96), story(2, 30))), 96);
  EXPECT_EQ(s.probe(join(story(1, 95), story(2, 30))), 80);
  EXPECT_EQ(s.probe(story(1, 97)), 96);
  EXPECT_EQ(s.probe(story(1, 96)), 80);
}

// vllm-project/vllm PR #18668; sglang #7130, #27789: draft tokens that were refused were cached
// with the accepted ones, or the page reserved for them leaked.
TEST(Histories, RefusedDraftTokensAreNeitherKeyedNorLeaked) {
  Sessions s(small_config());
  s.admit(0, story(1, 9));
  s.prefill(0);
  s.write(0, join(story(1, 3, 9), story(7, 5)));  // Eight drafts, three of them right.
  EXPECT_EQ(s.free_blocks(), 16 - 5);
  s.retire_accepted(0, 12);
  EXPECT_EQ(s.parked_blocks(), 3);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.probe(join(join(story(1, 12), story(7, 5)), story(8, 1))), 12);
  EXPECT_EQ(s.probe(join(story(1, 12), story(8, 1))), 12);
}

TEST(Histories, AnAcceptedPartOfABlockIsKeyedUpToItsEndAndNoFurther) {
  Sessions s(small_config());
  s.admit(0, story(1, 9));
  s.prefill(0);
  s.write(0, join(story(1, 1, 9), story(7, 7)));  // One of eight drafts was right.
  s.retire_accepted(0, 10);
  EXPECT_EQ(s.parked_blocks(), 3);
  EXPECT_EQ(s.probe(join(join(story(1, 10), story(7, 7)), story(8, 1))), 10);
  EXPECT_EQ(s.probe(join(story(1, 9), story(8, 9))), 8);
}

TEST(Histories, NothingAcceptedKeepsWhatWasCommitted) {
  Sessions s(small_config());
  s.admit(0, story(1, 9));
  s.prefill(0);
  s.write(0, story(7, 8));
  BlockManager& manager = s.manager();
  EXPECT_ERROR(manager, InvalidArgument, manager.retire(0, story(1, 8)), "retire", "8", "9");
  s.retire_accepted(0, 9);
  EXPECT_EQ(s.parked_blocks(), 3);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.probe(join(story(1, 9), story(7, 8))), 9);
}

// Speculation that goes on: every round reserves five, accepts two, and rewinds the rest.
TEST(Histories, ManyRoundsOfSpeculationLeaveExactlyTheAcceptedTokens) {
  Sessions s(small_config());
  const Tokens truth = story(1, 35);
  s.admit(0, story(1, 9));
  s.prefill(0);
  std::int64_t length = 9;
  while (length < 35) {
    s.write(0, join(slice(truth, length, length + 2), story(7, 3, length)));
    length += 2;
    s.rewind(0, length);
    ASSERT_EQ(s.free_blocks(), 16 - (length + 3 + 3) / 4) << "length " << length;
  }
  s.retire(0);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.parked_blocks(), 9);
  EXPECT_EQ(s.probe(join(truth, story(8, 1))), 35);
}

// The same with a rewind through past_len, as an engine does that rewinds by its next step.
TEST(Histories, ARewindByTheNextStepsPastLengthKeepsOnlyWhatItNames) {
  Sessions s(small_config());
  s.admit(0, story(1, 9));
  s.prefill(0);
  BlockManager& manager = s.manager();
  prepare(manager, {0, 4}, {9}, {0});
  EXPECT_EQ(manager.committed_len(0), 9);
  EXPECT_EQ(manager.reserved_len(0), 13);
  prepare(manager, {0, 4}, {10}, {0});
  EXPECT_EQ(manager.committed_len(0), 10);
  EXPECT_EQ(manager.reserved_len(0), 14);
  manager.retire(0, join(story(1, 9), story(2, 2)));
  EXPECT_EQ(manager.admit(1, join(join(story(1, 9), story(2, 2)), story(3, 1))), 11);
}

}  // namespace
}  // namespace octavo::testing
