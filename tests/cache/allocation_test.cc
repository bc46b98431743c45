// The host's heap: steps never touch it, and a call that it fails has changed nothing.
#include <new>

#include "tests/cache/support/cache_testing.h"
#include "tests/unit/blocks/allocation_counter.h"

namespace octavo::testing {
namespace {

std::vector<KVLayerSpec> mixed_rows() {
  return {{},
          {.layout = Layout::Continuous, .window = 6},
          {.kind = KVLayerKind::CrossAttentionKV},
          {.kind = KVLayerKind::State, .conv = {{6, 3}}, .recurrent = {2, 3, 4}}};
}

KVCacheConfig long_config(int layers) {
  KVCacheConfig config = paged_config(layers);
  config.max_tokens_per_seq = 512;
  config.max_step_tokens = 64;
  config.paged->num_blocks = 512;
  return config;
}

void expect_no_allocation_in_steps(KVCache& cache) {
  const Ids cu{0, 1, 2, 3};
  const Ids slots{3, 0, 2};
  step(cache, slots, {9, 1, 17});
  const std::int64_t before = heap_allocations();
  for (std::int32_t i = 0; i < 300; ++i) {
    const std::int32_t past[] = {9 + i, 1 + i, 17 + i};
    const Indices indices = cache.prepare_step(cu, past, slots);
    ASSERT_TRUE(indices.kvcache_start.defined());
  }
  cache.update_position(0, 250);
  const Tensor lens = cache.seq_lens();
  EXPECT_EQ(heap_allocations(), before);
}

TEST(Allocation, StepsOfAPagedCacheTouchNoHeap) {
  KVCache cache = make_cache(long_config(1));
  expect_no_allocation_in_steps(cache);
}

TEST(Allocation, StepsOfAContinuousCacheTouchNoHeap) {
  KVCacheConfig config = long_config(1);
  config.mode = KVCacheMode::Continuous;
  KVCache cache = make_cache(config);
  expect_no_allocation_in_steps(cache);
}

TEST(Allocation, StepsOfAMixedCacheTouchNoHeap) {
  KVCache cache = make_cache(long_config(4), mixed_rows());
  expect_no_allocation_in_steps(cache);
}

TEST(Allocation, ReservingTouchesNoHeap) {
  KVCache cache = make_cache(long_config(1));
  const Tensor slots = ids({1, 3});
  const Ids counts{1, 2};
  const std::int64_t before = heap_allocations();
  for (int i = 0; i < 100; ++i) {
    (void)cache.reserve(slots, counts);
  }
  EXPECT_EQ(heap_allocations(), before);
}

TEST(Allocation, AFailedOneInAdmitChangesNothing) {
  for (const KVCacheConfig& config : {paged_config(), continuous_config()}) {
    KVCache cache = make_cache(config);
    const Tensor prompt = ids(story(0, 20));
    const std::uint64_t digest = cache.digest();
    fail_allocations_after(0);
    EXPECT_THROW(cache.admit(1, prompt), std::bad_alloc);
    allow_allocations();
    EXPECT_EQ(cache.digest(), digest);
    EXPECT_NO_THROW(cache.audit());
    EXPECT_EQ(cache.admit(1, prompt), 0);
  }
}

TEST(Allocation, AFailedOneInMakeLeavesNothingBehind) {
  const KVCacheConfig config = paged_config(4);
  ASSERT_NE(host_device(), nullptr);  // The process's own, made once and kept.
  for (int n = 0; n < 200; ++n) {
    const std::int64_t live = live_heap_bytes();
    const std::vector<KVLayerSpec> specs(4);
    const std::int64_t with_specs = live_heap_bytes();
    fail_allocations_after(n);
    bool made = false;
    try {
      const KVCache cache = KVCache::make(config, specs);
      made = true;
    } catch (const std::bad_alloc&) {
      made = false;
    }
    allow_allocations();
    ASSERT_EQ(live_heap_bytes(), with_specs) << n;
    ASSERT_GE(with_specs, live);
    if (made) {
      return;
    }
  }
  FAIL() << "it never succeeded";
}

}  // namespace
}  // namespace octavo::testing
