// What the eviction policy is told through the cache, and what a router asks of it.
#include "tests/cache/support/cache_testing.h"
#include "tests/cache/support/probe_device.h"

namespace octavo::testing {
namespace {

KVCacheConfig config_of(EvictionPolicy policy, std::shared_ptr<Device> device = nullptr) {
  KVCacheConfig config = paged_config(1, std::move(device));
  config.paged->policy = policy;
  return config;
}

// Twelve tokens, three blocks of which two can be served again.
void cache_worth(KVCache& cache, int which, int priority, std::int64_t ttl_ticks) {
  cache.set_retention(0, priority, ttl_ticks);
  cache_prompt(cache, 0, story(which, 12));
}

std::int64_t cached(const KVCache& cache, int which) {
  return cache.cached_prefix(story(which, 12)).tokens;
}

TEST(Retention, DecidesWhoLeavesAFullPool) {
  KVCache cache = make_cache(config_of(EvictionPolicy::Priority));
  cache_worth(cache, 0, 80, kNeverExpires);
  cache_worth(cache, 1, 10, kNeverExpires);
  cache_prompt(cache, 0, story(2, 12));  // The slot has forgotten: the default priority.
  ASSERT_EQ(cache.paged_parked_blocks(), 9);
  step(cache, {3}, {32});  // 8 of the 7 that were never used and 9 that are parked.
  step(cache, {2}, {8});
  EXPECT_EQ(cached(cache, 0), 8);
  EXPECT_EQ(cached(cache, 1), 0) << "the least worth, though parked after story 0";
  EXPECT_EQ(cached(cache, 2), 8);
  cache.audit();
}

TEST(Retention, ExpiresByTheCallersClock) {
  KVCache cache = make_cache(config_of(EvictionPolicy::Priority));
  cache_worth(cache, 0, 80, 5);
  cache_worth(cache, 1, 10, kNeverExpires);
  cache.advance_clock(5);
  step(cache, {2, 3}, {20, 32});  // 13 of the 10 that were never used and 6 that are parked.
  EXPECT_EQ(cached(cache, 0), 0) << "it had expired";
  EXPECT_EQ(cached(cache, 1), 8);
  EXPECT_REFUSED(cache, InvalidArgument, cache.advance_clock(4), "advance_clock", "4", "[5, ");
}

TEST(Retention, IsRefusedWhereNobodyWouldHeedIt) {
  KVCache cache = make_cache(config_of(EvictionPolicy::Priority));
  EXPECT_REFUSED(cache, InvalidArgument, cache.set_retention(4, 1), "set_retention", "slot 4");
  EXPECT_REFUSED(cache, InvalidArgument, cache.set_retention(0, 101), "priority 101", "[0, 100]");
  EXPECT_REFUSED(cache, InvalidArgument, cache.set_retention(0, 1, -1), "ttl_ticks -1");
  KVCache lru = make_cache(paged_config());
  EXPECT_REFUSED(lru, FailedPrecondition, lru.set_retention(0, 1), "set_retention", "lru");
  EXPECT_REFUSED(lru, FailedPrecondition, lru.advance_clock(1), "advance_clock", "lru");
  KVCache continuous = make_cache(continuous_config());
  EXPECT_REFUSED(continuous, FailedPrecondition, continuous.set_retention(0, 1), "set_retention",
                 "no paged rows");
  EXPECT_REFUSED(continuous, FailedPrecondition, continuous.advance_clock(1), "advance_clock",
                 "no paged rows");
}

TEST(NotedOutput, IsCheckedInEveryCache) {
  for (const KVCacheConfig& config : {config_of(EvictionPolicy::Hdq), continuous_config()}) {
    KVCache cache = make_cache(config);
    EXPECT_REFUSED(cache, InvalidArgument, cache.note_output(4, 1), "note_output", "slot 4");
    EXPECT_REFUSED(cache, FailedPrecondition, cache.note_output(0, 1), "note_output", "slot 0",
                   "free");
    cache.admit(0, ids(story(0, 4)));
    EXPECT_REFUSED(cache, InvalidArgument, cache.note_output(0, -1), "output_tokens -1");
    EXPECT_NO_THROW(cache.note_output(0, 300));
    cache.audit();
  }
}

// Two caches that differ in what they were told of the outputs, and in nothing else.
TEST(NotedOutput, ReachesThePolicy) {
  KVCache told = make_cache(config_of(EvictionPolicy::Hdq));
  KVCache untold = make_cache(config_of(EvictionPolicy::Hdq));
  for (KVCache* cache : {&told, &untold}) {
    cache->admit(0, ids(story(0, 12)));
    step(*cache, {0}, {12});
  }
  EXPECT_EQ(told.digest(), untold.digest());
  told.note_output(0, 300);
  told.retire(0, ids(story(0, 12)));
  untold.retire(0, ids(story(0, 12)));
  EXPECT_NE(told.digest(), untold.digest());
}

TEST(CachedPrefix, IsWhatAdmitWouldServeAndChangesNothing) {
  KVCache cache = make_cache(paged_config());
  cache.set_namespace(0, 7);
  cache_prompt(cache, 0, story(0, 12));
  cache_prompt(cache, 0, story(1, 6));
  const std::uint64_t before = cache.digest();
  EXPECT_EQ(cache.cached_prefix(story(0, 12), kAddressableAll, 7), (CachedPrefix{8, 2}));
  EXPECT_EQ(cache.cached_prefix(story(0, 12), 5, 7).tokens, 4);
  EXPECT_EQ(cache.cached_prefix(story(0, 12)).tokens, 0) << "another's";
  const Ids longer = join(story(1, 6), story(2, 3));
  EXPECT_EQ(cache.cached_prefix(longer).tokens, 6) << "a partial key";
  EXPECT_EQ(cache.digest(), before);
  EXPECT_EQ(cache.admit(1, ids(longer)), 6);
  EXPECT_EQ(cache.cached_prefix({}).tokens, 0);
  EXPECT_REFUSED(cache, InvalidArgument, cache.cached_prefix(story(0, 4), -2), "cached_prefix",
                 "addressable_len -2");
}

TEST(CachedPrefix, IsNothingWhereSomeRowCannotAnswerForSkippedTokens) {
  KVCache continuous = make_cache(continuous_config());
  cache_prompt(continuous, 0, story(0, 12));
  EXPECT_EQ(continuous.cached_prefix(story(0, 12)), CachedPrefix{});
  EXPECT_REFUSED(continuous, InvalidArgument, continuous.cached_prefix(story(0, 4), -2),
                 "addressable_len -2");
  KVCache mixed =
      make_cache(paged_config(2),
                 {{}, {.kind = KVLayerKind::State, .conv = {{4, 3}}, .recurrent = {1, 2, 2}}});
  cache_prompt(mixed, 0, story(0, 12));
  EXPECT_EQ(mixed.cached_prefix(story(0, 12)), CachedPrefix{});
}

TEST(Hints, OfASlotWhoseDeviceFailedAreRefused) {
  const auto device = std::make_shared<ProbeDevice>();
  KVCache cache = make_cache(config_of(EvictionPolicy::Priority, device));
  cache_prompt(cache, 0, story(0, 6));
  cache.admit(1, ids(join(story(0, 6), story(1, 3))));
  device->fail_after(0);
  EXPECT_THROW(cache.admit(2, ids(join(story(0, 6), story(2, 3)))), Error);
  device->heal();
  EXPECT_REFUSED(cache, FailedPrecondition, cache.set_retention(2, 1), "set_retention", "slot 2",
                 "abandon_batch");
  EXPECT_REFUSED(cache, FailedPrecondition, cache.note_output(2, 1), "note_output", "slot 2");
  cache.set_retention(1, 1);
  cache.note_output(1, 1);
}

TEST(Hints, OfACacheThatWasMovedFromAreRefused) {
  KVCache cache = make_cache(config_of(EvictionPolicy::Priority));
  const KVCache moved = std::move(cache);
  // NOLINTBEGIN(bugprone-use-after-move)
  EXPECT_THROW(cache.set_retention(0, 1), Error);
  EXPECT_THROW(cache.advance_clock(1), Error);
  EXPECT_THROW(cache.note_output(0, 1), Error);
  EXPECT_THROW((void)cache.cached_prefix({}), Error);
  // NOLINTEND(bugprone-use-after-move)
}

}  // namespace
}  // namespace octavo::testing
