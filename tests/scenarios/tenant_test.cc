// Faults of the kind "the tenant is part of the key in one place and forgotten in another".
// kvcache-ai/sglang 04653fa, radix_cache_cpp.py: the adapter and the salt of a request never
// reached the C++ tree, so two tenants shared. Here every path that looks up, publishes, renames or
// removes runs with two tenants over the same tokens. The rows differ by tenant, so a leak is a
// wrong value.
#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

constexpr std::uint64_t kAcme = 0xACE;
constexpr std::uint64_t kBest = 0xBE57;
const Tokens kTenantPrompt = story(1, 10);
const Tokens kTenantTurn = join(kTenantPrompt, story(2, 3));

std::int64_t cache_in(Sessions& s,
                      std::uint64_t id,
                      const Tokens& tokens,
                      const Lengths& keys = {}) {
  s.set_namespace(3, id);
  return s.cache(tokens, keys);
}

TEST(Tenants, WhatOneRetiresTheOtherIsNotServed) {
  Sessions s(small_config());
  EXPECT_EQ(cache_in(s, kAcme, kTenantPrompt), 0);
  EXPECT_EQ(s.probe_in(kBest, kTenantTurn), 0);
  EXPECT_EQ(s.probe(kTenantTurn), 0);  // Nor a session without a tenant.
  EXPECT_EQ(s.probe_in(kAcme, kTenantTurn), 10);
}

TEST(Tenants, WhatARunningSessionPublishesStaysWithItsTenant) {
  Sessions s(small_config());
  s.set_namespace(0, kAcme);
  s.admit(0, kTenantPrompt);
  s.prefill(0);
  EXPECT_EQ(s.probe_in(kBest, kTenantTurn), 0);
  EXPECT_EQ(s.probe_in(kAcme, kTenantTurn), 8);
}

// Duplicates are found per tenant: two tenants that compute the same tokens hold two copies.
TEST(Tenants, EqualTokensOfTwoTenantsAreNotMerged) {
  Sessions s(small_config());
  s.set_namespace(0, kAcme);
  s.set_namespace(1, kBest);
  s.admit(0, kTenantPrompt);
  s.admit(1, kTenantPrompt);
  s.write({{0, kTenantPrompt}, {1, kTenantPrompt}});
  s.retire(0);
  s.retire(1);
  EXPECT_EQ(s.parked_blocks(), 6);
  EXPECT_EQ(s.manager().stats().duplicate_blocks, 0);
  EXPECT_EQ(s.probe_in(kAcme, kTenantTurn), 10);
  EXPECT_EQ(s.probe_in(kBest, kTenantTurn), 10);
}

// Keys at the root: no parent block there could tell the tenants apart.
TEST(Tenants, PartialKeysAtTheRootStayWithTheirTenant) {
  Sessions s(small_config());
  cache_in(s, kAcme, story(1, 3), {1, 2});
  EXPECT_EQ(s.probe_in(kBest, story(1, 4)), 0);
  EXPECT_EQ(s.probe(story(1, 4)), 0);
  EXPECT_EQ(s.probe_in(kAcme, story(1, 4)), 3);
  EXPECT_EQ(s.probe_in(kAcme, join(story(1, 2), story(5, 2))), 2);
}

// Four keys are allowed under each tenant's root, not under one root for all.
TEST(Tenants, TheLimitOfKeysCountsEachTenantByItself) {
  Sessions s(small_config());
  for (int i = 0; i < 4; ++i) {
    cache_in(s, kAcme, story(10 + i, 3));
    cache_in(s, kBest, story(10 + i, 3));
  }
  EXPECT_EQ(s.manager().stats().dropped_keys, 0);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(s.probe_in(kAcme, story(10 + i, 4)), 3) << i;
    EXPECT_EQ(s.probe_in(kBest, story(10 + i, 4)), 3) << i;
  }
}

TEST(Tenants, InsideBoundariesStayWithTheirTenant) {
  Sessions s(small_config());
  cache_in(s, kAcme, kTenantPrompt, {5, 6});
  cache_in(s, kBest, kTenantPrompt, {7});
  const Tokens at6 = join(slice(kTenantPrompt, 0, 6), story(5, 4));
  EXPECT_EQ(s.probe_in(kAcme, at6), 6);
  EXPECT_EQ(s.probe_in(kBest, at6), 4);
  const Tokens at7 = join(slice(kTenantPrompt, 0, 7), story(5, 4));
  EXPECT_EQ(s.probe_in(kBest, at7), 7);
  EXPECT_EQ(s.probe_in(kAcme, at7), 6);
}

// A slot's tenant must not outlive its session, however that ended.
TEST(Tenants, ASlotForgetsItsTenantWithItsSession) {
  for (int end = 0; end < 5; ++end) {
    SCOPED_TRACE(end);
    Sessions s(small_config());
    cache_in(s, kAcme, kTenantPrompt);
    s.set_namespace(0, kAcme);
    if (end < 3) {
      s.admit(0, kTenantTurn);
      s.prefill(0);
    }
    switch (end) {
      case 0:
        s.retire(0);
        break;
      case 1:
      case 3:
        s.evict(0);
        break;
      default:
        s.abandon(0);
    }
    EXPECT_EQ(s.admit(0, kTenantTurn), 0);
  }
}

// New weights: nothing computed with the old ones may be served, wherever it stands at that moment.
TEST(Tenants, InvalidatedWeightsReachNobodyFromParkedRunningOrFreshSlots) {
  Sessions s(small_config());
  cache_in(s, kAcme, kTenantPrompt);  // Parked.
  s.set_namespace(0, kAcme);          // Running.
  s.admit(0, join(kTenantPrompt, story(3, 8)));
  s.prefill(0, 2);
  s.set_namespace(1, kAcme);  // Named, not yet admitted: it was given the old weights.
  s.invalidate_namespace(kAcme);
  EXPECT_EQ(s.probe_in(kAcme, kTenantTurn), 0);
  s.prefill(0);  // What the running one goes on to write is stale as well.
  EXPECT_EQ(s.probe_in(kAcme, join(kTenantPrompt, story(3, 9))), 0);
  s.retire(0);
  EXPECT_EQ(s.probe_in(kAcme, join(kTenantPrompt, story(3, 9))), 0);
  EXPECT_EQ(s.admit(1, kTenantTurn), 0);
  s.prefill(1);
  s.retire(1, {1, 5});
  EXPECT_EQ(s.probe_in(kAcme, kTenantTurn), 0);
  // The new generation caches for itself.
  EXPECT_EQ(cache_in(s, kAcme, kTenantPrompt), 0);
  EXPECT_EQ(s.probe_in(kAcme, kTenantTurn), 10);
  EXPECT_EQ(s.probe_in(kBest, kTenantTurn), 0);
}

TEST(Tenants, InvalidatingOneTenantLeavesTheOthersAlone) {
  Sessions s(small_config());
  cache_in(s, kAcme, kTenantPrompt);
  cache_in(s, kBest, kTenantPrompt);
  s.cache(kTenantPrompt);
  s.invalidate_namespace(kAcme);
  EXPECT_EQ(s.probe_in(kAcme, kTenantTurn), 0);
  EXPECT_EQ(s.probe_in(kBest, kTenantTurn), 10);
  EXPECT_EQ(s.probe(kTenantTurn), 10);
  s.invalidate_namespace(0);
  EXPECT_EQ(s.probe(kTenantTurn), 0);
  EXPECT_EQ(s.probe_in(kBest, kTenantTurn), 10);
}

// Eviction finds the right tenant's entry among equal tokens.
TEST(Tenants, EvictionTakesTheOlderTenantsCopyOnly) {
  BlockManagerConfig config = small_config();
  config.num_blocks = 6;
  Sessions s(config);
  cache_in(s, kAcme, story(1, 12));
  cache_in(s, kBest, story(1, 12));
  EXPECT_EQ(s.parked_blocks(), 6);
  s.write(0, story(9, 8));  // Two of the older tenant's blocks go, the tail first.
  const Tokens turn = story(1, 13);
  EXPECT_EQ(s.probe_in(kAcme, turn), 4);
  EXPECT_EQ(s.probe_in(kBest, turn), 12);
}

TEST(Tenants, AResetForgetsEveryTenant) {
  Sessions s(small_config());
  cache_in(s, kAcme, kTenantPrompt);
  s.invalidate_namespace(kBest);
  s.reset();
  EXPECT_EQ(s.probe_in(kAcme, kTenantTurn), 0);
  EXPECT_EQ(s.probe_in(kBest, kTenantTurn), 0);
}

}  // namespace
}  // namespace octavo::testing
