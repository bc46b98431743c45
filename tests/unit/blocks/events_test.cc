// What the outside is told: stored when servable, removed when evicted, and nothing else.
#include "tests/unit/blocks/event_recorder.h"

namespace octavo::testing {
namespace {

BlockManagerConfig config_with(KVEventSink& sink, std::int64_t num_blocks = 16) {
  BlockManagerConfig config = small_config();
  config.num_blocks = num_blocks;
  config.events = &sink;
  return config;
}

// --- BlockStored ---

TEST(Events, ABlockIsStoredWhenItIsSealed) {
  EventRecorder events;
  Sessions s(config_with(events));
  s.admit(0, story(1, 9));
  EXPECT_TRUE(events.stored.empty());
  s.write_prompt(0);
  EXPECT_TRUE(events.stored.empty());
  s.commit(0);
  EXPECT_EQ(events.stored_hashes.size(), 2U);
  const EventRecorder::Stored& first = events.stored.front();
  EXPECT_FALSE(first.parent.has_value());
  EXPECT_EQ(first.block_size, 4);
  EXPECT_EQ(first.namespace_id, 0U);
  EXPECT_EQ(first.tokens,
            slice(story(1, 8), 0, 4 * static_cast<std::int64_t>(first.hashes.size())));
}

TEST(Events, ConsecutiveBlocksSealedTogetherAreOneEvent) {
  EventRecorder events;
  Sessions s(config_with(events));
  s.cache(story(1, 14));
  ASSERT_EQ(events.stored.size(), 1U);
  EXPECT_EQ(events.stored[0].hashes.size(), 3U);
  EXPECT_EQ(events.stored[0].tokens, story(1, 12));
}

TEST(Events, ALaterBlockNamesTheHashOfTheOneBeforeIt) {
  EventRecorder events;
  Sessions s(config_with(events));
  s.admit(0, story(1, 9));
  s.prefill(0, 4);
  s.prefill(0);
  s.decode(0, story(1, 3, 9));
  s.retire(0);
  ASSERT_EQ(events.stored.size(), 3U);
  EXPECT_EQ(events.stored[1].parent, events.stored[0].hashes.back());
  EXPECT_EQ(events.stored[1].tokens, story(1, 4, 4));
  EXPECT_EQ(events.stored[2].parent, events.stored[1].hashes.back());
  EXPECT_EQ(events.stored[2].tokens, story(1, 4, 8));
}

TEST(Events, ABranchNamesTheBlockItLeaves) {
  EventRecorder events;
  Sessions s(config_with(events));
  s.cache(story(1, 12));
  const Hashes trunk = events.stored_hashes;
  s.cache(join(story(1, 4), story(2, 4)));
  ASSERT_EQ(events.stored.size(), 2U);
  EXPECT_EQ(events.stored[1].parent, trunk[0]);
  EXPECT_EQ(events.stored[1].tokens, story(2, 4));
}

TEST(Events, HashesAreChainedByTheFunctionThatWasGiven) {
  EventRecorder events;
  BlockManagerConfig config = config_with(events);
  config.block_hash = [](std::uint64_t parent, std::span<const std::int32_t> tokens) {
    return parent * 1000003 + static_cast<std::uint64_t>(tokens[0] + tokens[3]);
  };
  Sessions s(config);
  s.cache(story(1, 16));
  s.cache(join(story(1, 8), story(2, 8)));
  for (const EventRecorder::Stored& event : events.stored) {
    std::optional<std::uint64_t> parent = event.parent;
    for (std::size_t i = 0; i < event.hashes.size(); ++i) {
      if (parent.has_value()) {
        const std::span<const std::int32_t> tokens(event.tokens.data() + 4 * i, 4);
        EXPECT_EQ(event.hashes[i], config.block_hash(*parent, tokens));
      }
      parent = event.hashes[i];
    }
  }
}

TEST(Events, TheSamePrefixHasTheSameHashInEveryManager) {
  EventRecorder here;
  EventRecorder there;
  Sessions a(config_with(here));
  Sessions b(config_with(there, 64));
  a.cache(story(9, 5));
  a.cache(story(1, 12));
  b.admit(0, story(1, 12));
  b.prefill(0, 4);
  b.prefill(0, 1);
  b.prefill(0);
  const Hashes in_b = there.stored_hashes;
  EXPECT_EQ(Hashes(here.stored_hashes.end() - 3, here.stored_hashes.end()), in_b);
}

// What happens to other tenants must not show in a tenant's hashes: routers compare them across
// managers.
TEST(Events, AnotherTenantsHistoryDoesNotShowInTheHash) {
  EventRecorder here;
  EventRecorder there;
  Sessions a(config_with(here));
  Sessions b(config_with(there));
  a.set_namespace(3, 8);
  a.cache(story(9, 5));
  a.invalidate_namespace(8);
  here.stored_hashes.clear();
  for (Sessions* s : {&a, &b}) {
    s->set_namespace(3, 7);
    s->cache(story(1, 12));
  }
  EXPECT_EQ(here.stored_hashes, there.stored_hashes);
}

TEST(Events, ANamespaceSeedsTheHash) {
  EventRecorder events;
  Sessions s(config_with(events));
  s.cache(story(1, 8));
  s.set_namespace(3, 7);
  s.cache(story(1, 8));
  ASSERT_EQ(events.stored.size(), 2U);
  EXPECT_EQ(events.stored[1].namespace_id, 7U);
  EXPECT_EQ(events.stored[1].tokens, events.stored[0].tokens);
  EXPECT_NE(events.stored[1].hashes[0], events.stored[0].hashes[0]);
  EXPECT_NE(events.stored[1].hashes[1], events.stored[0].hashes[1]);
}

// --- What is no event ---

TEST(Events, PartialBlocksHitsDuplicatesAndCancelledSessionsAreNoEvents) {
  EventRecorder events;
  Sessions s(config_with(events));
  s.cache(story(1, 11), {5, 6});
  EXPECT_EQ(events.stored_hashes.size(), 2U);
  s.probe(story(1, 12));
  s.probe(join(story(1, 5), story(2, 1)));
  s.admit(0, story(3, 9));
  s.admit(1, story(3, 9));
  s.write({{0, story(3, 9)}, {1, story(3, 9)}});
  s.evict(0);
  s.abandon(1);
  s.release_quarantined();
  EXPECT_EQ(events.stored_hashes.size(), 2U);
  s.admit(0, story(3, 9));
  s.admit(1, story(3, 9));
  s.write({{0, story(3, 9)}, {1, story(3, 9)}});
  s.commit(0);
  s.commit(1);
  EXPECT_EQ(events.stored_hashes.size(), 4U);
  for (int i = 0; i < 6; ++i) {
    s.cache(story(20 + i, 3));  // Displaces a partial key or two.
  }
  EXPECT_GT(s.manager().stats().dropped_keys, 0);
  EXPECT_EQ(events.stored_hashes.size(), 4U);
  EXPECT_TRUE(events.removed.empty());
  EXPECT_EQ(events.cleared, 0);
}

TEST(Events, ACallThatRaisesIsNoEvent) {
  EventRecorder events;
  Sessions s(config_with(events, 4));
  s.admit(0, story(1, 8));
  s.write_prompt(0);
  s.cache(story(2, 8));
  const Hashes before = events.stored_hashes;
  BlockManager& m = s.manager();
  EXPECT_ERROR(m, ResourceExhausted, prepare(m, {0, 8, 16}, {8, 0}, {0, 1}), "prepare_step");
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, story(2, 8)), "retire");
  EXPECT_EQ(events.stored_hashes, before);
  EXPECT_TRUE(events.removed.empty());
}

// --- BlockRemoved ---

TEST(Events, RemovalsComeInTheOrderOfEviction) {
  EventRecorder events;
  Sessions s(config_with(events, 6));
  s.cache(story(1, 12));
  s.cache(story(2, 12));
  const Hashes h = events.stored_hashes;
  s.write(0, story(9, 20));
  EXPECT_EQ(events.removed, (Hashes{h[2], h[1], h[0], h[5], h[4]}));
}

TEST(Events, APartialBlocksEvictionIsNotReported) {
  EventRecorder events;
  Sessions s(config_with(events, 4));
  s.cache(story(1, 14));
  s.write(0, story(9, 8));
  EXPECT_EQ(s.manager().stats().evicted_blocks(), 2);
  EXPECT_EQ(events.removed, Hashes{events.stored_hashes[2]});
}

TEST(Events, AnEvictionForACopyIsReported) {
  EventRecorder events;
  Sessions s(config_with(events, 3));
  s.cache(story(1, 4), {2});
  s.cache(story(2, 8));
  const Hashes h = events.stored_hashes;
  EXPECT_EQ(s.probe(join(story(1, 2), story(5, 1))), 2);
  EXPECT_EQ(events.removed, Hashes{h[2]});
}

TEST(Events, ARemovedBlockThatIsComputedAgainIsStoredAgainUnderTheSameHash) {
  EventRecorder events;
  Sessions s(config_with(events, 3));
  s.cache(story(1, 12));
  s.cache(story(2, 12));
  s.cache(story(1, 12));
  const Hashes& h = events.stored_hashes;
  ASSERT_EQ(h.size(), 9U);
  EXPECT_EQ(Hashes(h.begin(), h.begin() + 3), Hashes(h.begin() + 6, h.end()));
  EXPECT_EQ(events.removed.size(), 6U);
}

TEST(Events, BlocksOfAnInvalidatedNamespaceAreReportedWhenTheyAreEvicted) {
  EventRecorder events;
  Sessions s(config_with(events, 4));
  s.cache(story(1, 8));
  s.invalidate_namespace(0);
  EXPECT_TRUE(events.removed.empty());
  s.cache(story(1, 8));  // The new generation's, under hashes of its own.
  const Hashes h = events.stored_hashes;
  ASSERT_EQ(h.size(), 4U);
  EXPECT_NE(h[2], h[0]);
  EXPECT_NE(h[3], h[1]);
  s.write(0, story(9, 8));
  EXPECT_EQ(events.removed, (Hashes{h[1], h[0]}));
}

// --- AllBlocksCleared ---

TEST(Events, ResetClearsOnceAndRemovesNothingOneByOne) {
  EventRecorder events;
  Sessions s(config_with(events));
  s.cache(story(1, 8));
  s.reset();
  EXPECT_EQ(events.cleared, 1);
  EXPECT_TRUE(events.removed.empty());
  const Hashes before = events.stored_hashes;
  s.cache(story(1, 8));
  EXPECT_EQ(Hashes(events.stored_hashes.begin() + 2, events.stored_hashes.end()), before);
}

// --- The sum of all events ---

// The hash of a namespace is made of its number, that of a block of one token of the token: small
// numbers, both of them.
TEST(Events, ATokenIsNoNamespace) {
  EventMirror mirror;
  BlockManagerConfig config = config_with(mirror, 64);
  config.block_size = 1;
  BlockManager manager(config);
  for (std::uint64_t tenant = 0; tenant < 4; ++tenant) {
    for (std::int32_t first = 0; first < 4; ++first) {
      for (std::int32_t second = 0; second < 4; ++second) {
        manager.set_namespace(0, tenant);
        manager.replay(0, Tokens{first, second, 9}, 2);
      }
    }
    manager.invalidate_namespace(3 - tenant);  // Generations are small numbers too.
    mirror.invalidate(3 - tenant);
  }
  EXPECT_GT(mirror.size(), 40U);
}

// Random sessions under pressure: what the events add up to is what admit serves, at every moment.
TEST(Events, TheirMirrorIsTheServableSet) {
  EventMirror mirror;
  BlockManagerConfig config = config_with(mirror, 12);
  config.partial_keys = false;
  Sessions s(config);
  std::uint64_t state = 7;
  const auto draw = [&state](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  const auto random_prompt = [&] {
    Tokens prompt(1 + draw(22));
    for (std::int32_t& token : prompt) {
      token = static_cast<std::int32_t>(draw(8) == 0);
    }
    return prompt;
  };
  std::int64_t hits = 0;
  for (int i = 0; i < 1500; ++i) {
    const std::uint64_t tenant = draw(2);
    const Tokens prompt = random_prompt();
    s.set_namespace(0, tenant);
    const std::int64_t expected = mirror.served(tenant, prompt, 4);
    ASSERT_EQ(s.admit(0, prompt), expected) << i;
    hits += expected;
    const auto left = static_cast<std::int64_t>(prompt.size()) - expected;
    s.prefill(0, 1 + static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(left))));
    if (draw(4) == 0) {
      s.rewind(0, static_cast<std::int64_t>(draw(s.written(0).size())));
      s.write(0, random_prompt());
    }
    switch (draw(4)) {
      case 0:
        s.evict(0);
        break;
      case 1:
        s.abandon(0);
        s.release_quarantined();
        break;
      default:
        s.retire(0);
    }
    if (draw(100) == 0) {
      s.invalidate_namespace(tenant);
      mirror.invalidate(tenant);
    } else if (draw(200) == 0) {
      s.reset();
      ASSERT_EQ(mirror.size(), 0U);
    }
    if (::testing::Test::HasFailure()) {
      FAIL() << "after session " << i;
    }
  }
  EXPECT_GT(hits, 1500);
  EXPECT_GT(s.manager().stats().evicted_blocks(), 500);
}

}  // namespace
}  // namespace octavo::testing
