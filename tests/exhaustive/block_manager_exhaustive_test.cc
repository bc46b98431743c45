// Small scope, all of it: every sequence of calls up to a length on two slots and a few blocks of
// two tokens, compared call by call with the naive model. OCTAVO_CAMPAIGN=1 looks one call further.
#include <cstdlib>
#include <iostream>
#include <set>

#include "explorer.h"
#include "small_calls.h"
#include <gtest/gtest.h>

namespace octavo::testkit {
namespace {

bool campaign() {
  return std::getenv("OCTAVO_CAMPAIGN") != nullptr;
}

BlockManagerConfig small_config(std::int64_t num_blocks) {
  BlockManagerConfig config;
  config.num_blocks = num_blocks;
  config.block_size = 2;
  config.max_seqs = 2;
  return config;
}

Explored look_everywhere(const Scope& scope) {
  try {
    const Explored explored = explore(scope);
    std::cout << explored.summary();
    return explored;
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
    return {};
  }
}

void expect_taken(const Explored& explored, const std::set<Branch>& branches) {
  for (const Branch branch : branches) {
    EXPECT_GT(explored.branches[static_cast<std::size_t>(branch)], 0)
        << to_string(branch) << " was never taken";
  }
}

// All verbs and all kinds of wrong calls.
TEST(BlockManagerSmallScope, EveryPathOfFiveCallsOnThreeBlocksIsAsTheModelSays) {
  const Explored explored =
      look_everywhere({.config = small_config(3), .calls = all_calls, .depth = campaign() ? 6 : 5});
  EXPECT_GE(explored.depth, 5);
  expect_taken(explored, {Branch::TakenOver, Branch::GivenUp, Branch::PromptCut,
                          Branch::Quarantined, Branch::Duplicate, Branch::StaleAdmitted,
                          Branch::StaleRetired, Branch::AddressableCut});
}

TEST(BlockManagerSmallScope, EveryPathOfFourCallsOnThreeBlocksWithAWindowIsAsTheModelSays) {
  BlockManagerConfig config = small_config(3);
  config.window = 2;
  config.max_tokens_per_seq = 12;
  const Explored explored =
      look_everywhere({.config = config, .calls = all_calls, .depth = campaign() ? 5 : 4});
  EXPECT_GE(explored.depth, 4);
  expect_taken(explored, {Branch::WindowReleased, Branch::Quarantined});
}

// A server's calls, so many steps deep that pools fill up: no orphaned key, no overwritten key, the
// right service, no exhaustion while there are blocks.
TEST(BlockManagerSmallScope, ServingOnThreeBlocksStaysSoundFarIntoTheTree) {
  const auto calls = [](const World& world) {
    return serving_calls(world, {{1, 2}, {1, 2, 3}, {1}}, {9, 2});
  };
  const Explored explored = look_everywhere({.config = small_config(3),
                                             .calls = calls,
                                             .depth = 12,
                                             .states_max = campaign() ? 400000U : 25000U});
  EXPECT_GE(explored.states, 25000U);
  expect_taken(explored, {Branch::TakenOver, Branch::CopiedOnAdmit, Branch::CopiedOnWrite,
                          Branch::Duplicate, Branch::Evicted, Branch::KeyRenamed});
}

TEST(BlockManagerSmallScope, ServingOnFourBlocksStaysSoundFarIntoTheTree) {
  const auto calls = [](const World& world) {
    return serving_calls(world, {{1, 2}, {1, 2, 3, 4, 5}, {1, 9}}, {9, 2});
  };
  const Explored explored = look_everywhere({.config = small_config(4),
                                             .calls = calls,
                                             .depth = 12,
                                             .states_max = campaign() ? 400000U : 25000U});
  EXPECT_GE(explored.states, 25000U);
  expect_taken(explored, {Branch::TakenOver, Branch::CopiedOnAdmit, Branch::CopiedOnWrite,
                          Branch::Duplicate, Branch::Evicted, Branch::KeyRenamed});
}

TEST(BlockManagerSmallScope, ServingStaysSoundUnderEveryPolicy) {
  const auto calls = [](const World& world) {
    return serving_calls(world, {{1, 2}, {1, 2, 3, 4, 5}, {1, 9}}, {9, 2});
  };
  for (const EvictionPolicy policy :
       {EvictionPolicy::Fifo, EvictionPolicy::Lfu, EvictionPolicy::Slru, EvictionPolicy::TwoQueue,
        EvictionPolicy::Arc, EvictionPolicy::S3Fifo, EvictionPolicy::Sieve,
        EvictionPolicy::Priority}) {
    SCOPED_TRACE(to_string(policy));
    BlockManagerConfig config = small_config(4);
    config.policy = policy;
    const Explored explored = look_everywhere({.config = config,
                                               .calls = calls,
                                               .depth = 12,
                                               .states_max = campaign() ? 100000U : 3000U});
    EXPECT_GE(explored.states, 3000U);
    expect_taken(explored, {Branch::TakenOver, Branch::Duplicate, Branch::Evicted});
  }
}

}  // namespace
}  // namespace octavo::testkit
