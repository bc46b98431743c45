// Who leaves a full pool under each policy, on pools of a few blocks, worked out by hand.
#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

BlockManagerConfig pool_of(std::int64_t num_blocks, EvictionPolicy policy) {
  BlockManagerConfig config = small_config();
  config.num_blocks = num_blocks;
  config.policy = policy;
  return config;
}

// Takes `count` blocks for good, in slot 0.
void take(Sessions& s, std::int64_t count) {
  s.write(0, story(99, 4 * count));
}

TEST(Fifo, WhatWasSealedFirstLeavesFirstHoweverOftenItWasServed) {
  Sessions s(pool_of(6, EvictionPolicy::Fifo));
  s.cache(story(1, 8));
  s.cache(story(2, 8));
  s.cache(story(3, 8));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(s.probe(story(1, 9)), 8);
  }
  take(s, 2);
  EXPECT_EQ(s.probe(story(1, 9)), 0);
  EXPECT_EQ(s.probe(story(2, 9)), 8);
  EXPECT_EQ(s.probe(story(3, 9)), 8);
}

// The prompt's head is older than what continues it, and has to wait for that to leave.
TEST(Fifo, AHeadLeavesRightAfterWhatContinuesIt) {
  Sessions s(pool_of(6, EvictionPolicy::Fifo));
  s.cache(story(1, 8));                     // 1a 1b
  s.cache(story(2, 8));                     // 2a 2b
  s.cache(join(story(1, 8), story(3, 8)));  // 1a 1b 3a 3b
  take(s, 2);                               // 1a and 1b cannot go: 2b, 2a do.
  EXPECT_EQ(s.probe(story(2, 9)), 0);
  EXPECT_EQ(s.probe(join(story(1, 8), story(3, 9))), 16);
  s.write(0, story(98, 4));  // 3b
  EXPECT_EQ(s.probe(join(story(1, 8), story(3, 9))), 12);
}

}  // namespace
}  // namespace octavo::testing
