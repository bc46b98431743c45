// Faults of the kind "the counts and the blocks disagree": duplicates counted twice, blocks freed
// twice, hits that leave the free list unnoticed, parents released before children.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

BlockManagerConfig pool_of_long_rows(std::int64_t num_blocks) {
  BlockManagerConfig config = small_config();
  config.num_blocks = num_blocks;
  config.max_tokens_per_seq = 100;  // So that it is the pool and not the row that is too small.
  return config;
}

// sglang #35270 (evictable and available together were more than there is), mllm PR #656 (a
// negative count after a split): two sessions computed the same prompt and both copies were
// counted.
TEST(Accounting, TwoCopiesOfOnePromptBecomeOne) {
  BlockManagerConfig config = small_config();
  config.block_size = 16;
  Sessions s(config);
  const Tokens prompt = story(1, 64);
  EXPECT_EQ(s.admit(0, prompt), 0);
  EXPECT_EQ(s.admit(1, prompt), 0);
  s.write({{0, prompt}, {1, prompt}});
  EXPECT_EQ(s.free_blocks(), 16 - 8);
  s.retire(0);
  EXPECT_EQ(s.free_blocks(), 16 - 4);
  EXPECT_EQ(s.parked_blocks(), 4);
  s.retire(1);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.parked_blocks(), 4);
  EXPECT_EQ(s.manager().stats().duplicate_blocks, 4);
  EXPECT_EQ(s.admit(2, prompt), 48);
  EXPECT_EQ(s.free_blocks(), 16 - 3);
  s.evict(2);
  EXPECT_EQ(s.admit(2, join(prompt, story(2, 1))), 64);
  EXPECT_EQ(s.free_blocks(), 16 - 4);
  s.evict(2);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.parked_blocks(), 4);
}

// The same while both live: the copy is given back at the commit and both read one block.
TEST(Accounting, TwoLiveCopiesBecomeOneAtTheCommit) {
  Sessions s(small_config());
  s.admit(0, story(1, 9));
  s.admit(1, story(1, 9));
  s.write({{0, story(1, 9)}, {1, story(1, 9)}});
  EXPECT_EQ(s.free_blocks(), 16 - 6);
  s.commit(0);
  EXPECT_EQ(s.free_blocks(), 16 - 6);
  s.commit(1);
  EXPECT_EQ(s.free_blocks(), 16 - 4);
  EXPECT_EQ(s.row(0)[0], s.row(1)[0]);
  EXPECT_EQ(s.row(0)[1], s.row(1)[1]);
  EXPECT_NE(s.row(0)[2], s.row(1)[2]);
  s.evict(0);
  EXPECT_EQ(s.parked_blocks(), 0);
  s.evict(1);
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.free_blocks(), 16);
}

// Three copies whose canonical block is parked by the time the others are sealed.
TEST(Accounting, ACopyOfAParkedBlockTakesItBackIntoUse) {
  Sessions s(small_config());
  for (int slot : {0, 1, 2}) {
    s.admit(slot, story(1, 8));
  }
  s.write({{0, story(1, 8)}, {1, story(1, 8)}, {2, story(1, 8)}});
  s.retire(0);
  EXPECT_EQ(s.parked_blocks(), 2);
  s.commit(1);
  EXPECT_EQ(s.parked_blocks(), 0);
  EXPECT_EQ(s.free_blocks(), 16 - 4);
  s.commit(2);
  EXPECT_EQ(s.free_blocks(), 16 - 2);
  s.evict(1);
  EXPECT_EQ(s.parked_blocks(), 0);
  s.evict(2);
  EXPECT_EQ(s.parked_blocks(), 2);
}

// sglang #17797, PR #18694, #28702: a request that had finished was freed a second time when the
// scheduler preempted it; by then its blocks belonged to another.
TEST(Accounting, AFinishedSessionIsNotFreedAgain) {
  Sessions s(pool_of_long_rows(3));
  s.admit(0, story(1, 9));
  s.prefill(0);
  s.retire(0);
  s.admit(1, story(2, 9));
  s.prefill(1);  // All three blocks, the first session's evicted.
  EXPECT_EQ(s.free_blocks(), 0);
  const Ids cells = s.row(1);
  BlockManager& manager = s.manager();
  const std::uint64_t digest = manager.digest();
  manager.evict(0);
  manager.abandon(0);
  EXPECT_EQ(manager.digest(), digest);
  EXPECT_ERROR(manager, FailedPrecondition, manager.retire(0, story(1, 9)), "retire", "0");
  manager.evict(0);
  EXPECT_EQ(manager.digest(), digest);
  EXPECT_EQ(s.row(1), cells);
  EXPECT_EQ(s.free_blocks(), 0);
  s.check();
}

// The same in every order of the three ways out.
TEST(Accounting, EveryPairOfWaysOutFreesOnce) {
  for (int first = 0; first < 3; ++first) {
    for (int second = 0; second < 2; ++second) {
      BlockManager manager(small_config());
      manager.admit(0, story(1, 9));
      reserve(manager, {0}, {9});
      manager.update_position(0, 9);
      switch (first) {
        case 0:
          manager.retire(0, story(1, 9));
          break;
        case 1:
          manager.evict(0);
          break;
        default:
          manager.abandon(0);
      }
      const std::uint64_t digest = manager.digest();
      second == 0 ? manager.evict(0) : manager.abandon(0);
      EXPECT_EQ(manager.digest(), digest) << first << second;
      EXPECT_EQ(manager.free_blocks(), 16);
      EXPECT_EQ(manager.parked_blocks(), first == 0 ? 3 : 2);
      manager.audit();
    }
  }
}

// vllm-project/vllm #11562, PR #11565, PR #10507: the check for room counted the parked blocks that
// the prompt itself was about to bind.
TEST(Accounting, TheBlocksAPromptHitsAreNotRoomForItsTail) {
  Sessions s(pool_of_long_rows(6));
  s.cache(story(1, 20));
  EXPECT_EQ(s.free_blocks(), 6);
  EXPECT_EQ(s.parked_blocks(), 5);
  EXPECT_EQ(s.admit(0, join(story(1, 20), story(2, 4))), 20);
  EXPECT_EQ(s.free_blocks(), 1);
  const Ids hit = s.row(0);
  BlockManager& manager = s.manager();
  EXPECT_ERROR(manager, ResourceExhausted, prepare(manager, {0, 8}, {20}, {0}), "prepare_step", "2",
               "1");
  EXPECT_ERROR(manager, ResourceExhausted, reserve(manager, {0}, {8}), "reserve", "2", "1");
  EXPECT_EQ(s.row(0), hit);
  s.prefill(0);
  EXPECT_EQ(slice(s.row(0), 0, 5), hit);
  EXPECT_EQ(manager.stats().evicted_blocks(), 0);
}

TEST(Accounting, APromptThatNeedsMoreThanThePoolIsRefusedBeforeItBindsAnything) {
  Sessions s(pool_of_long_rows(6));
  s.cache(story(1, 20));
  BlockManager& manager = s.manager();
  EXPECT_ERROR(manager, ResourceExhausted, manager.admit(0, join(story(1, 20), story(2, 8))),
               "admit", "7", "6");
  EXPECT_TRUE(manager.is_fresh(0));
  EXPECT_EQ(s.parked_blocks(), 5);
}

// vllm-project/vllm PR #44409: an allocation evicted the hit of another group before that was
// bound. The only blocks that could be evicted here are the hit's own.
TEST(Accounting, AStepNeverEvictsWhatItsBatchHasBound) {
  Sessions s(pool_of_long_rows(5));
  s.cache(story(1, 8));
  s.cache(story(2, 8));
  EXPECT_EQ(s.admit(0, join(story(1, 8), story(3, 4))), 8);
  EXPECT_EQ(s.admit(1, join(story(2, 8), story(3, 4))), 8);
  EXPECT_EQ(s.free_blocks(), 1);
  BlockManager& manager = s.manager();
  EXPECT_ERROR(manager, ResourceExhausted, prepare(manager, {0, 4, 8}, {8, 8}, {0, 1}),
               "prepare_step");
  s.prefill(0);
  s.evict(1);
  EXPECT_EQ(s.row(0).size(), 3U);
  EXPECT_EQ(s.probe(join(story(2, 8), story(3, 1))), 8);
}

// The private copy of a partial hit must not come from the prompt's own hit either.
TEST(Accounting, ThePrivateCopyOfAPartialHitNeverEvictsTheHit) {
  Sessions s(pool_of_long_rows(3));
  s.cache(story(1, 12), {10});
  EXPECT_EQ(s.parked_blocks(), 3);
  // Two whole blocks are hit, the third holds the key of two rows and is the only one left to take.
  EXPECT_EQ(s.admit(0, join(story(1, 10), story(2, 2))), 8);
  EXPECT_TRUE(s.manager().copies().empty());
  s.prefill(0);
  EXPECT_EQ(s.free_blocks(), 0);
}

// tvm PR #16666 (a fork did not count its parent), PR #17045 (removal orders): three sessions over
// one chain, cancelled in all six orders.
TEST(Accounting, SessionsOverOneChainMayEndInAnyOrder) {
  std::array<int, 3> order = {0, 1, 2};
  do {
    SCOPED_TRACE(::testing::Message() << order[0] << order[1] << order[2]);
    Sessions s(small_config());
    const Tokens chain = story(1, 21);
    s.cache(slice(chain, 0, 20));
    EXPECT_EQ(s.admit(0, slice(chain, 0, 9)), 8);
    EXPECT_EQ(s.admit(1, slice(chain, 0, 13)), 12);
    EXPECT_EQ(s.admit(2, slice(chain, 0, 21)), 20);
    s.write({{0, story(2, 4)}, {1, story(3, 4)}, {2, story(4, 4)}});
    EXPECT_EQ(s.free_blocks(), 16 - 8);
    for (const int slot : order) {
      s.evict(slot);
    }
    EXPECT_EQ(s.free_blocks(), 16);
    EXPECT_EQ(s.parked_blocks(), 5);
    EXPECT_EQ(s.probe(chain), 20);
  } while (std::next_permutation(order.begin(), order.end()));
}

// The same with sessions that retire longer and longer histories of one chain.
TEST(Accounting, SessionsOverOneChainMayRetireInAnyOrder) {
  std::array<int, 3> order = {0, 1, 2};
  do {
    SCOPED_TRACE(::testing::Message() << order[0] << order[1] << order[2]);
    Sessions s(small_config());
    const Tokens chain = story(1, 24);
    for (const int slot : {0, 1, 2}) {
      const Tokens prompt = slice(chain, 0, 8 * (slot + 1));
      s.admit(slot, prompt);
      s.write(slot, prompt);
    }
    EXPECT_EQ(s.free_blocks(), 16 - 12);
    for (const int slot : order) {
      s.retire(slot);
    }
    EXPECT_EQ(s.free_blocks(), 16);
    EXPECT_EQ(s.parked_blocks(), 6);
    EXPECT_EQ(s.probe(join(chain, story(2, 1))), 24);
  } while (std::next_permutation(order.begin(), order.end()));
}

// Under pressure the chain must leave from its end, whoever released it in which order.
TEST(Accounting, AChainReleasedInAnyOrderLeavesFromItsEnd) {
  std::array<int, 3> order = {0, 1, 2};
  do {
    SCOPED_TRACE(::testing::Message() << order[0] << order[1] << order[2]);
    Sessions s(pool_of_long_rows(8));
    const Tokens chain = story(1, 24);
    s.cache(chain);
    s.admit(0, slice(chain, 0, 9));
    s.admit(1, slice(chain, 0, 17));
    s.admit(2, join(chain, story(2, 1)));
    for (const int slot : order) {
      s.evict(slot);
    }
    for (std::int64_t taken = 1; taken <= 7; ++taken) {
      BlockManager& manager = s.manager();
      reserve(manager, {0}, {4});
      const std::int64_t left = std::min<std::int64_t>(6, 8 - taken);
      EXPECT_EQ(manager.parked_blocks(), left);
      EXPECT_EQ(manager.admit(1, join(chain, story(2, 1))), 4 * left);
      manager.evict(1);
      manager.audit();
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace
}  // namespace octavo::testing
