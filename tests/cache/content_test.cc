// What tokens see through the cache, in bits: the same as when their history is computed afresh.
#include <string>

#include "tests/cache/support/story_server.h"

namespace octavo::testing {
namespace {

class EveryStack : public ::testing::TestWithParam<int> {
 protected:
  static Stack stack() { return all_stacks()[static_cast<std::size_t>(GetParam())]; }
};

TEST_P(EveryStack, PrefillAndDecodeSeeTheirHistory) {
  StoryServer server(stack());
  if (stack().has_kind(KVLayerKind::CrossAttentionKV)) {
    server.fill(1, 2);
  }
  server.admit(1, story(0, 6));
  server.run_prompt(1);
  for (int i = 0; i < 17; ++i) {
    server.run({{1, {i}}});
  }
  EXPECT_EQ(server.compared(), 23);
}

TEST_P(EveryStack, ChunksDoNotMatter) {
  for (const std::int64_t chunk : {1, 2, 3, 5}) {
    StoryServer server(stack());
    server.admit(2, story(0, 16));
    server.run_prompt(2, chunk);
    EXPECT_EQ(server.compared(), 16);
  }
}

TEST_P(EveryStack, BatchesDoNotMatter) {
  StoryServer server(stack());
  server.run({{2, {1, 2, 3}}, {0, {1, 2}}});
  server.run({{0, {3}}, {2, {4}}});
  server.run({{1, {1}}, {0, {4, 5, 6}}});
  server.run({{2, {5}}, {1, {2}}, {0, {7}}});
  server.run({{0, {8}}, {1, {3}}, {2, {6}}});
}

// Evict and readmit == fresh, with another tenant in between.
TEST_P(EveryStack, AReadmittedSessionIsAsAFreshOne) {
  StoryServer server(stack());
  for (int round = 0; round < 3; ++round) {
    if (stack().has_kind(KVLayerKind::CrossAttentionKV)) {
      server.fill(0, 4 - round);  // Shorter ones follow longer ones.
    }
    server.admit(0, story(0, 9));
    server.run_prompt(0, 4);
    server.run({{0, {1}}, {1, {7, 7, round}}});
    server.evict(0);
    server.admit(0, story(5, 7));
    server.run_prompt(0, 4);
    if (round == 1) {
      server.abandon(0);
    } else {
      server.evict(0);
    }
    server.evict(1);
  }
}

// Rewind and re-append == straight append.
TEST_P(EveryStack, RewindsAreAsIfNothingHadBeen) {
  const bool has_states = stack().has_kind(KVLayerKind::State);
  StoryServer server(stack());
  server.admit(0, story(0, 8));
  server.run_prompt(0, 4);
  for (int i = 0; i < 5; ++i) {
    server.run({{0, {i, 99, 98}}});
    if (!has_states) {  // They hold the latest token only.
      server.rewind(0, std::ssize(server.session(0).tokens) - 2);
    }
  }
  if (stack().config.paged.value_or(PagedParams{}).window == 0) {  // Else its begin is released.
    server.rewind(0, 0);
    server.run({{0, {3, 2}}});
    server.run({{0, {1}}});
  }
}

TEST_P(EveryStack, AStepThatWasNeverComputedIsPreparedAgain) {
  StoryServer server(stack());
  server.run({{0, {1, 2, 3}}});
  server.prepare_only({{0, {4, 4, 4, 4}}});
  server.run({{0, {5}}, {1, {6}}});
  server.prepare_only({{1, {4, 4, 4}}, {2, {1}}});
  server.run({{1, {7, 8}}});
  server.abandon(2);
  server.run({{2, {9}}});
}

INSTANTIATE_TEST_SUITE_P(All,
                         EveryStack,
                         ::testing::Range(0, static_cast<int>(all_stacks().size())),
                         [](const auto& index) {
                           std::string name =
                               all_stacks()[static_cast<std::size_t>(index.param)].name;
                           for (char& c : name) {
                             c = c == ' ' || c == ',' || c == '-' ? '_' : c;
                           }
                           return name;
                         });

// Stacks whose rows can all answer for tokens that were not computed again.
class SharingStack : public ::testing::TestWithParam<const char*> {
 protected:
  SharingStack() : stack_(stack_named(GetParam())), size_(stack_.config.paged->block_size) {}

  Stack stack_;
  std::int64_t size_;
};

// Those with blocks of more than two tokens.
class PartialKeyStack : public SharingStack {};

TEST_P(SharingStack, AFullBlockHitIsAsRecomputed) {
  StoryServer server(stack_);
  server.cache_story(0, story(0, 2 * size_));
  EXPECT_EQ(server.admit(1, join(story(0, 2 * size_), story(1, 3))), 2 * size_);
  server.run_prompt(1);
  server.run({{1, {5}}});
}

TEST_P(PartialKeyStack, APartialHitIsAsRecomputed) {
  StoryServer server(stack_);
  const std::int64_t length = size_ + 3;
  server.cache_story(0, story(0, length));
  for (const int slot : {1, 2}) {  // Taken over, and then copied.
    EXPECT_EQ(server.admit(slot, join(story(0, length), story(slot, 3))), length);
    server.run_prompt(slot, 2);
  }
  EXPECT_EQ(server.cache().counters().copied_blocks, 1);
  server.run({{2, {5}}, {1, {6}}});
}

TEST_P(PartialKeyStack, ABoundaryHitIsAsRecomputed) {
  StoryServer server(stack_);
  server.admit(0, story(0, 2 * size_));
  server.run_prompt(0);
  server.retire(0, -1, {size_ + 1, 2});
  EXPECT_EQ(server.admit(1, join(story(0, size_ + 1), story(1, 3))), size_ + 1);
  EXPECT_EQ(server.admit(2, join(story(0, 2), story(2, 3))), 2);
  server.run({{1, story(1, 3)}, {2, story(2, 3)}});
  server.evict(1);
  EXPECT_EQ(server.admit(1, join(story(0, 2 * size_), story(3, 1))), 2 * size_);
  server.run({{1, story(3, 1)}});
}

// D14: named and shared rows are replaced before a step writes there.
TEST_P(SharingStack, ARewindIntoSharedBlocksLeavesThemAlone) {
  StoryServer server(stack_);
  server.cache_story(0, story(0, 2 * size_));
  for (const int slot : {1, 2}) {
    server.admit(slot, join(story(0, 2 * size_), {9}));
    server.run_prompt(slot);
  }
  server.rewind(1, size_ / 2);
  server.run({{1, {7}}, {2, {8}}});
  server.run({{1, {7}}, {2, {8}}});
  EXPECT_EQ(server.admit(0, join(story(0, 2 * size_), {4})), 2 * size_);
  server.run_prompt(0);
}

INSTANTIATE_TEST_SUITE_P(Stacks,
                         SharingStack,
                         ::testing::Values("paged",
                                           "paged, large blocks",
                                           "paged, two pools",
                                           "paged, quantized",
                                           "paged, static scales",
                                           "paged, windows among full rows"));

INSTANTIATE_TEST_SUITE_P(Stacks,
                         PartialKeyStack,
                         ::testing::Values("paged, large blocks",
                                           "paged, two pools",
                                           "paged, quantized",
                                           "paged, static scales",
                                           "paged, windows among full rows"));

}  // namespace
}  // namespace octavo::testing
