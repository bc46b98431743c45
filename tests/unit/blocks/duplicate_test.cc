// One block a node: two live sessions that computed the same tokens end up on one block (D4, N13).
#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

TEST(Duplicate, TheLaterOneIsReboundToTheFirstOnesBlock) {
  Sessions s(small_config());
  s.admit(0, story(1, 8));
  s.admit(1, story(1, 8));
  s.write({{0, story(1, 8)}, {1, story(1, 8)}});
  const Ids first = s.row(0);
  s.commit(1);
  const Ids canonical = s.row(1);
  s.commit(0);
  EXPECT_EQ(s.row(0), canonical);
  EXPECT_NE(first, canonical);
  EXPECT_EQ(s.free_blocks(), 14);
  EXPECT_EQ(s.manager().stats().duplicate_blocks, 2);
  EXPECT_EQ(s.manager().stats().sealed_blocks, 2);
}

// The second goes further: its later blocks hang under the first one's.
TEST(Duplicate, WhatFollowsADuplicateHangsUnderTheCanonicalBlock) {
  Sessions s(small_config());
  s.admit(0, story(1, 8));
  s.admit(1, story(1, 16));
  s.write({{0, story(1, 8)}, {1, story(1, 16)}});
  s.commit(0);
  s.commit(1);
  EXPECT_EQ(slice(s.row(1), 0, 2), s.row(0));
  EXPECT_EQ(s.manager().stats().duplicate_blocks, 2);
  EXPECT_EQ(s.manager().stats().sealed_blocks, 4);
  s.evict(0);
  EXPECT_EQ(s.parked_blocks(), 0);
  s.evict(1);
  EXPECT_EQ(s.parked_blocks(), 4);
  EXPECT_EQ(s.probe(story(1, 17)), 16);
}

TEST(Duplicate, AreFoundAtRetirementToo) {
  Sessions s(small_config());
  s.write(0, story(1, 14));
  s.write(1, story(1, 14));
  s.retire(0);
  s.retire(1);
  EXPECT_EQ(s.manager().stats().duplicate_blocks, 3);
  EXPECT_EQ(s.parked_blocks(), 4);  // The trailing key keeps its first block.
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.probe(story(1, 15)), 14);
}

// Interleaved chunk by chunk, in both orders: never more than one block a node.
TEST(Duplicate, OfInterleavedPrefillsAreMergedBlockByBlock) {
  Sessions s(small_config());
  const Tokens prompt = story(1, 16);
  s.admit(0, prompt);
  s.admit(1, prompt);
  for (int block = 0; block < 4; ++block) {
    const int leader = block % 2;
    s.write({{leader, slice(prompt, 4 * block, 4 * block + 4)}});
    s.commit(leader);
    s.write({{1 - leader, slice(prompt, 4 * block, 4 * block + 4)}});
    s.commit(1 - leader);
    EXPECT_EQ(s.row(0), s.row(1)) << block;
    EXPECT_EQ(s.free_blocks(), 16 - (block + 1)) << block;
  }
  EXPECT_EQ(s.manager().stats().duplicate_blocks, 4);
}

TEST(Duplicate, FreedCopiesAreTheNextBlocksHandedOutWithoutEviction) {
  BlockManagerConfig config = small_config();
  config.num_blocks = 4;
  Sessions s(config);
  s.admit(0, story(1, 8));
  s.admit(1, story(1, 8));
  s.write({{0, story(1, 8)}, {1, story(1, 8)}});
  EXPECT_EQ(s.free_blocks(), 0);
  s.commit(0);
  s.commit(1);
  EXPECT_EQ(s.free_blocks(), 2);
  s.write(2, story(2, 8));
  EXPECT_EQ(s.manager().stats().evicted_blocks(), 0);
}

// The canonical block is given up by one session's rewind and stays the other's.
TEST(Duplicate, AMergedBlockIsWrittenByNeitherAfterARewind) {
  Sessions s(small_config());
  s.admit(0, story(1, 8));
  s.admit(1, story(1, 8));
  s.write({{0, story(1, 8)}, {1, story(1, 8)}});
  s.commit(0);
  s.commit(1);
  s.rewind(0, 7);
  s.rewind(1, 7);
  s.write({{0, story(2, 1)}, {1, story(3, 1)}});
  EXPECT_EQ(s.manager().copies().size(), 2U);
  EXPECT_EQ(s.row(0)[0], s.row(1)[0]);
  EXPECT_NE(s.row(0)[1], s.row(1)[1]);
  EXPECT_EQ(s.probe(story(1, 9)), 8);
}

// That an admit found nothing says nothing of what its slot is used for later.
TEST(Duplicate, WhatAnAdmitMissedIsForgottenWithItsSlot) {
  Sessions s(small_config());
  s.cache(story(1, 8));
  s.admit(0, story(2, 8));
  s.evict(0);
  s.write(0, story(1, 8));
  s.retire(0);
  EXPECT_EQ(s.manager().stats().duplicate_blocks, 2);
  EXPECT_EQ(s.parked_blocks(), 2);
}

TEST(Duplicate, WhatAnAdmitMissedIsForgottenByARewindIntoIt) {
  Sessions s(small_config());
  s.cache(story(1, 8));
  s.admit(0, story(2, 8));
  s.write(0, story(2, 3));
  s.rewind(0, 0);
  s.write(0, story(1, 8));
  s.retire(0);
  EXPECT_EQ(s.manager().stats().duplicate_blocks, 2);
  EXPECT_EQ(s.parked_blocks(), 2);
}

// Between its admit and its commit another session seals what this one did not find.
TEST(Duplicate, WhatAnAdmitMissedMayBeThereWhenItCommits) {
  Sessions s(small_config());
  s.admit(0, story(1, 8));
  s.write(1, story(1, 8));
  s.write(0, story(1, 8));
  s.retire(1);
  s.commit(0);
  EXPECT_EQ(s.manager().stats().duplicate_blocks, 2);
  EXPECT_EQ(s.probe(story(1, 9)), 8);
}

}  // namespace
}  // namespace octavo::testing
