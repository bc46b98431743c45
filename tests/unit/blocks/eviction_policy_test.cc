// Who leaves a full pool under each policy, on pools of a few blocks, worked out by hand.
//
// Stories of one block stand for blocks: `cache_block(s, k)` puts block k into the pool, `touch`
// has it served, `has` asks for it (and touches it, so ask last).
#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

void cache_block(Sessions& s, int block) {
  s.cache(story(block, 4));
}
bool has(Sessions& s, int block) {
  return s.probe(story(block, 5)) == 4;
}
void touch(Sessions& s, int block) {
  EXPECT_TRUE(has(s, block)) << block;
}
void cache_all(Sessions& s, std::initializer_list<int> blocks) {
  for (const int block : blocks) {
    cache_block(s, block);
  }
}
// Ten blocks that come once.
void scan(Sessions& s) {
  for (int block = 50; block < 60; ++block) {
    cache_block(s, block);
  }
}
const EvictionPolicy kPolicies[] = {
    EvictionPolicy::Lru,    EvictionPolicy::Fifo,     EvictionPolicy::Lfu,
    EvictionPolicy::Slru,   EvictionPolicy::TwoQueue, EvictionPolicy::Arc,
    EvictionPolicy::S3Fifo, EvictionPolicy::Sieve,    EvictionPolicy::Priority};

class EveryPolicy : public ::testing::TestWithParam<EvictionPolicy> {};

// N64: slot 0 writes into a sealed block and gives it up; its rows are still to be copied.
TEST_P(EveryPolicy, GivesNoSlotTheSourceOfACopyOfTheSameStep) {
  BlockManager manager(pool_of(6, GetParam()));
  const auto step = [&](std::vector<std::int32_t> slots, std::vector<std::int32_t> past,
                        std::vector<std::int32_t> cu_seqlens_q) {
    manager.prepare_step(cu_seqlens_q, past, slots);
  };
  manager.admit(0, story(1, 9));
  step({0}, {0}, {0, 9});
  manager.update_position(0, 9);  // two sealed blocks, the oldest of the pool, and a tail
  manager.admit(1, story(2, 8));
  step({1}, {0}, {0, 8});
  manager.update_position(1, 8);
  manager.retire(1, story(2, 8));  // two younger ones are parked, one block is free
  step({0, 1}, {6, 0}, {0, 1, 9});
  ASSERT_EQ(manager.copies().size(), 1U);
  for (const std::int32_t block : manager.block_table(1)) {
    EXPECT_NE(block, manager.copies()[0].src);
  }
  manager.audit();
}

TEST_P(EveryPolicy, FreeBlocksGoFirstAndTailsBeforeHeads) {
  Sessions s(pool_of(5, GetParam()));
  s.cache(story(1, 16));
  take(s, 1);
  EXPECT_EQ(s.manager().stats().evicted_blocks(), 0);
  for (std::int64_t left = 3; left >= 0; --left) {
    take(s, 1);
    EXPECT_EQ(s.probe(story(1, 17)), 4 * left);
  }
}

TEST_P(EveryPolicy, GivesAllParkedBlocksAndNoHeldOne) {
  Sessions s(pool_of(12, GetParam()));
  s.cache(story(1, 12));
  s.cache(join(story(1, 4), story(2, 8)));
  s.cache(story(3, 8));
  EXPECT_EQ(s.admit(1, story(1, 13)), 12);  // Held from here on: three blocks.
  touch(s, 3);
  take(s, 9);
  EXPECT_EQ(s.free_blocks(), 0);
  EXPECT_ERROR(s.manager(), ResourceExhausted, reserve(s.manager(), {0}, {1}), "reserve");
  s.evict(1);
  EXPECT_EQ(s.probe(story(1, 13)), 12);
  take(s, 3);
  EXPECT_EQ(s.free_blocks(), 0);
}

// An admit copies from a block that is the next to leave, and then from the only one that may.
TEST_P(EveryPolicy, NeverEvictsTheSourceOfACopy) {
  Sessions s(pool_of(2, GetParam()));
  s.cache(story(1, 4), {3});
  cache_block(s, 5);
  EXPECT_EQ(s.admit(0, join(story(1, 3), story(2, 1))), 3);
  EXPECT_EQ(s.manager().stats().evicted_for_copy, 1);
  EXPECT_EQ(s.admit(1, join(story(1, 3), story(3, 1))), 0);
  EXPECT_TRUE(has(s, 1));
}

TEST_P(EveryPolicy, IsFreshAfterAReset) {
  const BlockManagerConfig config = pool_of(6, GetParam());
  Sessions s(config);
  const std::uint64_t fresh = s.manager().digest();
  for (int round = 0; round < 3; ++round) {
    scan(s);
    touch(s, 59);
    cache_all(s, {50, 51});
  }
  EXPECT_NE(s.manager().digest(), fresh);
  s.reset();
  EXPECT_EQ(s.manager().digest(), fresh);
  scan(s);
}

TEST_P(EveryPolicy, KeepsTheLatestOfAScan) {
  Sessions s(pool_of(6, GetParam()));
  scan(s);
  EXPECT_TRUE(has(s, 59));
  EXPECT_FALSE(has(s, 50));
}

INSTANTIATE_TEST_SUITE_P(Policies,
                         EveryPolicy,
                         ::testing::ValuesIn(kPolicies),
                         [](const auto& tested) {
                           return "of_" + std::string(to_string(tested.param));
                         });

// Served twice, then ten blocks that nobody asks for again.
TEST(Scan, IsSurvivedByWhatWasServedUnderThePoliciesThatTellThemApart) {
  for (const EvictionPolicy policy : kPolicies) {
    Sessions s(pool_of(8, policy));
    cache_all(s, {1, 2});
    touch(s, 1);
    touch(s, 2);
    scan(s);
    const bool forgets = policy == EvictionPolicy::Lru || policy == EvictionPolicy::Fifo ||
                         policy == EvictionPolicy::TwoQueue || policy == EvictionPolicy::Priority;
    EXPECT_EQ(has(s, 1), !forgets) << to_string(policy);
    EXPECT_EQ(has(s, 2), !forgets) << to_string(policy);
  }
}

// Six blocks in turn through a pool that keeps four: always the next one is missing, unless what
// left is remembered long enough.
TEST(Cycle, IsServedOnlyByTheMemoryOfWhatLeft) {
  for (const EvictionPolicy policy : kPolicies) {
    if (policy == EvictionPolicy::TwoQueue) {
      continue;  // Its memory of two names is just at the edge.
    }
    BlockManagerConfig config = pool_of(5, policy);
    config.partial_keys = false;
    Sessions s(config);
    int hits = 0;
    for (int i = 0; i < 60; ++i) {
      hits += s.admit(0, story(i % 6, 5)) == 4 ? 1 : 0;
      s.prefill(0);
      s.retire(0);
    }
    EXPECT_EQ(hits > 0, policy == EvictionPolicy::S3Fifo) << to_string(policy) << ": " << hits;
  }
}

// --- One by one ---

TEST(Fifo, WhatWasSealedFirstLeavesFirstHoweverOftenItWasServed) {
  Sessions s(pool_of(3, EvictionPolicy::Fifo));
  cache_all(s, {1, 2, 3});
  touch(s, 1);
  cache_block(s, 4);
  EXPECT_FALSE(has(s, 1));
  EXPECT_TRUE(has(s, 2));
}

// The prompt's head is older than what continues it, and has to wait for that to leave.
TEST(Fifo, AHeadLeavesRightAfterWhatContinuesIt) {
  Sessions s(pool_of(6, EvictionPolicy::Fifo));
  s.cache(story(1, 8));                     // 1a 1b
  s.cache(story(2, 8));                     // 2a 2b
  s.cache(join(story(1, 8), story(3, 8)));  // 1a 1b 3a 3b
  take(s, 2);                               // 1b and 1a cannot go: 2b, 2a do.
  EXPECT_EQ(s.probe(story(2, 9)), 0);
  EXPECT_EQ(s.probe(join(story(1, 8), story(3, 9))), 16);
  take(s, 3);  // 3b, 3a, and then the oldest of all.
  EXPECT_EQ(s.probe(story(1, 9)), 4);
}

TEST(Lfu, TheLeastOftenServedLeavesFirst) {
  Sessions s(pool_of(3, EvictionPolicy::Lfu));
  cache_all(s, {1, 2, 3});
  touch(s, 1);
  touch(s, 1);
  touch(s, 3);
  take(s, 1);
  EXPECT_FALSE(has(s, 2));
  take(s, 1);  // 3 was served once, 1 twice.
  EXPECT_FALSE(has(s, 3));
  EXPECT_TRUE(has(s, 1));
}

TEST(Lfu, TiesGoToTheLeastRecentlyParkedAndCountsGoWithTheBlock) {
  Sessions s(pool_of(3, EvictionPolicy::Lfu));
  cache_all(s, {1, 2, 3});
  for (const int block : {3, 1, 2}) {
    touch(s, block);
  }
  cache_block(s, 4);  // All count 2: 3 leaves. 4 counts 1,
  cache_block(s, 3);  // and makes room for 3, which counts from 1 again.
  cache_block(s, 5);
  EXPECT_FALSE(has(s, 3));
  EXPECT_TRUE(has(s, 1));
  EXPECT_TRUE(has(s, 2));
}

TEST(Slru, WhatWasServedOutlivesYoungerBlocks) {
  Sessions s(pool_of(5, EvictionPolicy::Slru));
  cache_block(s, 1);
  touch(s, 1);
  cache_all(s, {2, 3, 4, 5});
  take(s, 4);
  EXPECT_TRUE(has(s, 1));
}

TEST(Slru, ProtectionHoldsFourFifthsAndItsOldestFallBack) {
  Sessions s(pool_of(5, EvictionPolicy::Slru));
  cache_all(s, {1, 2, 3, 4, 5});
  for (const int block : {2, 3, 4, 5, 1}) {
    touch(s, block);
  }
  cache_block(s, 6);  // 2 fell back, and leaves.
  cache_block(s, 7);  // Alone in probation, 6 leaves.
  EXPECT_FALSE(has(s, 2));
  EXPECT_FALSE(has(s, 6));
  for (const int block : {3, 4, 5, 1}) {
    EXPECT_TRUE(has(s, block)) << block;
  }
}

TEST(TwoQueue, OnlyWhatComesBackAfterItLeftStays) {
  Sessions s(pool_of(4, EvictionPolicy::TwoQueue));  // A1in 1, A1out 2.
  cache_all(s, {1, 2, 3, 4});
  touch(s, 2);        // In A1in that is nothing.
  cache_block(s, 5);  // 1 leaves and is remembered,
  cache_block(s, 1);  // and is back, in Am; 2 left for it.
  EXPECT_FALSE(has(s, 2));
  scan(s);
  EXPECT_TRUE(has(s, 1));
  cache_block(s, 50);  // Forgotten long ago: a newcomer,
  cache_all(s, {60, 61, 62});
  EXPECT_FALSE(has(s, 50));
}

TEST(Arc, AReturnFromTheOnceSeenMakesRoomForThem) {
  Sessions s(pool_of(4, EvictionPolicy::Arc));
  cache_all(s, {1, 2, 3, 4});
  touch(s, 1);
  touch(s, 2);        // T1 = 3 4, T2 = 1 2.
  cache_block(s, 5);  // B1 = 3, T1 = 4 5.
  cache_block(s, 3);  // 4 leaves; 3 is known: p = 1, T1 = 5, T2 = 1 2 3.
  cache_block(s, 6);  // T1 has no more than p: T2 gives 1.
  EXPECT_FALSE(has(s, 1));
  EXPECT_FALSE(has(s, 4));
  EXPECT_TRUE(has(s, 5));
  EXPECT_TRUE(has(s, 6));
}

TEST(Arc, AReturnFromTheSeenAgainTakesItBack) {
  Sessions s(pool_of(4, EvictionPolicy::Arc));
  cache_all(s, {1, 2, 3, 4});
  touch(s, 1);
  touch(s, 2);
  cache_all(s, {5, 3, 6});  // As above: T1 = 5 6, T2 = 2 3, B1 = 4, B2 = 1, p = 1.
  cache_block(s, 1);        // 5 leaves; 1 is known: p = 0, T1 = 6, T2 = 2 3 1.
  cache_block(s, 7);        // 6 leaves.
  EXPECT_FALSE(has(s, 5));
  EXPECT_FALSE(has(s, 6));
  for (const int block : {2, 3, 1, 7}) {
    EXPECT_TRUE(has(s, block)) << block;
  }
}

TEST(S3Fifo, TheSmallQueueLetsOnlyServedAndReturningBlocksPass) {
  Sessions s(pool_of(10, EvictionPolicy::S3Fifo));  // Small 1, memory 9.
  cache_all(s, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  touch(s, 1);
  cache_block(s, 11);  // 1 moves to main, 2 leaves.
  cache_block(s, 2);   // Known: to main. 3 leaves.
  EXPECT_FALSE(has(s, 3));
  scan(s);
  EXPECT_TRUE(has(s, 1));
  EXPECT_TRUE(has(s, 2));
  EXPECT_FALSE(has(s, 11));
}

TEST(Sieve, TheHandSparesTheServedOnceAndGoesOn) {
  Sessions s(pool_of(4, EvictionPolicy::Sieve));
  cache_all(s, {1, 2, 3, 4});
  touch(s, 1);
  touch(s, 3);
  cache_block(s, 5);  // Spares 1, takes 2.
  cache_block(s, 6);  // Spares 3, takes 4,
  cache_block(s, 7);  // then 5, which is younger than the spared ones,
  touch(s, 6);
  touch(s, 7);
  cache_block(s, 8);  // spares 6 and 7, begins again and takes 1.
  EXPECT_FALSE(has(s, 1));
  for (const int block : {3, 6, 7, 8}) {
    EXPECT_TRUE(has(s, block)) << block;
  }
}

}  // namespace
}  // namespace octavo::testing
