// What travels to the device: runs of changed values, and nothing twice.
#include "tests/cache/support/cache_testing.h"
#include "tests/cache/support/probe_device.h"

namespace octavo::testing {
namespace {

std::int64_t uploaded(const KVCache& cache) {
  return cache.counters().uploaded_bytes;
}

TEST(Uploads, ARepeatedStepUploadsNothing) {
  for (const KVCacheConfig& config : {paged_config(), continuous_config()}) {
    KVCache cache = make_cache(config);
    step(cache, {2, 0}, {5, 3});
    const KVCacheCounters before = cache.counters();
    const Ids table = host(step_at(cache, {2, 0}, {0, 0}, {5, 3}).kvcache_start);
    EXPECT_EQ(cache.counters().uploads, before.uploads);
    EXPECT_EQ(cache.counters().table_gathers, before.table_gathers);
    EXPECT_EQ(cache.counters().cleared_bytes, before.cleared_bytes);
    EXPECT_EQ(host(step_at(cache, {2, 0}, {0, 0}, {5, 3}).kvcache_start), table);
  }
}

// 3 slots that stand beside each other: their lengths in seq_lens and in cu_seqlens_k, and a cell
// where a block begins.
TEST(Uploads, SteadyDecodeUploadsLengthsAndNewCellsOnly) {
  KVCache cache = make_cache(paged_config());
  step(cache, {0, 1, 2}, {4, 5, 6});
  step(cache, {0, 1, 2}, {1, 1, 1});  // From prefill to decode the index buffers change once.
  for (int i = 0; i < 8; ++i) {
    std::int64_t new_cells = 0;
    for (const int slot : {0, 1, 2}) {
      new_cells += cache.reserved_len(slot) % 4 == 0 ? 1 : 0;
    }
    const KVCacheCounters before = cache.counters();
    step(cache, {0, 1, 2}, {1, 1, 1});
    const KVCacheCounters after = cache.counters();
    EXPECT_EQ(after.uploaded_bytes - before.uploaded_bytes, 4 * (3 + 3 + new_cells)) << i;
    EXPECT_EQ(after.uploads - before.uploads, 2 + new_cells) << i;
    EXPECT_EQ(after.table_gathers - before.table_gathers, new_cells > 0 ? 1 : 0) << i;
    EXPECT_EQ(after.cleared_bytes, before.cleared_bytes);
  }
}

TEST(Uploads, AContinuousDecodeUploadsTheLengthsOnly) {
  KVCache cache = make_cache(continuous_config());
  step(cache, {1, 2}, {4, 5});
  step(cache, {1, 2}, {1, 1});
  for (int i = 0; i < 8; ++i) {
    const std::int64_t before = uploaded(cache);
    step(cache, {1, 2}, {1, 1});
    EXPECT_EQ(uploaded(cache) - before, 4 * (2 + 2));
  }
}

TEST(Uploads, DistantSlotsAreSentOneByOneWithoutWhatLiesBetween) {
  KVCache cache = make_cache(continuous_config());
  step(cache, {0, 3}, {4, 5});
  step(cache, {0, 3}, {1, 1});
  const KVCacheCounters before = cache.counters();
  step(cache, {0, 3}, {1, 1});
  EXPECT_EQ(cache.counters().uploaded_bytes - before.uploaded_bytes, 4 * (2 + 2));
  EXPECT_EQ(cache.counters().uploads - before.uploads, 3);
}

TEST(Uploads, ANewBatchGathersRowsOnTheDevice) {
  KVCache cache = make_cache(paged_config());
  step(cache, {0, 1, 2}, {4, 5, 6});
  const KVCacheCounters before = cache.counters();
  const Indices indices = step_at(cache, {2, 0}, {6, 4}, {1, 1});
  EXPECT_EQ(cache.counters().table_gathers - before.table_gathers, 1);
  EXPECT_EQ(host(indices.kvcache_start.select(0, 0)), host(cache.paged_block_table().select(0, 2)));
  EXPECT_EQ(host(indices.kvcache_start.select(0, 1)), host(cache.paged_block_table().select(0, 0)));
}

// A gathered row that was long keeps nothing of that when a short one takes its place.
TEST(Uploads, AGatheredRowShowsNothingOfTheOneBefore) {
  KVCache cache = make_cache(paged_config());
  step(cache, {0, 1}, {20, 2});
  EXPECT_EQ(host(step(cache, {0}, {1}).kvcache_start.select(0, 0)).at(4),
            table_row(cache, 0).at(4));
  const Ids row = host(step(cache, {1}, {1}).kvcache_start.select(0, 0));
  EXPECT_EQ(Ids(row.begin() + 1, row.end()), Ids(7, -1));
}

// B31: what a slot had before it was evicted is nowhere to be seen.
TEST(Uploads, AResumedSessionShowsOnlyItsNewBlocks) {
  KVCacheConfig config = paged_config();
  config.paged->prefix_caching = false;
  KVCache cache = make_cache(config);
  step(cache, {0, 1}, {12, 4});
  const Ids old_row = table_row(cache, 0);
  cache.evict_batch(0);
  EXPECT_EQ(table_row(cache, 0), Ids{});
  step(cache, {2}, {12});
  EXPECT_EQ(host(cache.seq_lens()), (Ids{0, 4, 12, 0}));
  EXPECT_EQ(cache.admit(0, ids(story(0, 12))), 0);
  const Indices indices = step(cache, {0}, {7});
  const Ids row = table_row(cache, 0);
  EXPECT_EQ(row.size(), 2U);
  for (const std::int32_t block : row) {
    EXPECT_EQ(std::count(old_row.begin(), old_row.end(), block), 0) << block;
  }
  Ids gathered = host(indices.kvcache_start.select(0, 0));
  gathered.resize(2);
  EXPECT_EQ(gathered, row);
}

// D11, whatever the order: a handle taken long before shows what is so at the latest flush.
TEST(Uploads, ReleasesShowAtTheNextFlush) {
  KVCache cache = make_cache(paged_config());
  const Tensor lens = cache.seq_lens();
  const Tensor table = cache.paged_block_table();
  step(cache, {0, 1}, {8, 8});
  EXPECT_EQ(host(lens), (Ids{8, 8, 0, 0}));
  cache.retire(0, ids(story(0, 8)));
  cache.abandon_batch(1);
  step(cache, {3}, {1});
  EXPECT_EQ(host(lens), (Ids{0, 0, 0, 1}));
  EXPECT_EQ(host(table.select(0, 0)), Ids(8, -1));
  EXPECT_EQ(host(table.select(0, 1)), Ids(8, -1));
  cache.evict_batch(3);
  EXPECT_EQ(host(cache.seq_lens()), Ids(4, 0));
  cache.reserve(ids({2}), Ids{1});
  EXPECT_EQ(host(table.select(0, 3)), Ids(8, -1));
}

// A duplicate is replaced by the block that was sealed first; the device's row must follow.
TEST(Uploads, ARowFollowsItsDuplicates) {
  KVCache cache = make_cache(paged_config());
  const Ids prompt = story(0, 10);
  cache.admit(0, ids(prompt));
  cache.admit(1, ids(prompt));
  step(cache, {0, 1}, {10, 10});
  const Ids before = table_row(cache, 1);
  step(cache, {0, 1}, {1, 1});
  EXPECT_EQ(cache.stats().duplicate_blocks, 2);
  const Ids after = table_row(cache, 1);
  EXPECT_NE(after[0], before[0]);
  EXPECT_EQ(after[0], table_row(cache, 0)[0]);
  EXPECT_EQ(after[1], table_row(cache, 0)[1]);
  EXPECT_EQ(after[2], before[2]);
  EXPECT_NO_THROW(cache.audit());
}

TEST(Uploads, WindowsShowReleasedCellsAsNone) {
  KVCacheConfig config = paged_config();
  config.max_tokens_per_seq = 64;
  config.paged->window = 8;
  KVCache cache = make_cache(config, {{.window = 8}});
  for (int i = 0; i < 40; ++i) {
    const Indices indices = step(cache, {1}, {1});
    const std::int64_t first = std::max(0, i - 8 + 1) / 4;
    const Ids row = table_row(cache, 1);
    for (std::int64_t cell = 0; cell < std::ssize(row); ++cell) {
      EXPECT_EQ(row[static_cast<std::size_t>(cell)] == -1, cell < first) << i << " " << cell;
    }
    EXPECT_EQ(host(indices.kvcache_start.select(0, 0)),
              host(cache.paged_block_table().select(0, 1)));
    cache.audit();
  }
}

TEST(Uploads, TheSharedBufferOfOffsetsAndSlotIdsIsKeptApart) {
  KVCache cache = make_cache(paged_config());
  step(cache, {0, 3}, {4, 8});
  EXPECT_EQ(host(cache.reserve(ids({3, 0}), Ids{1, 1})), (Ids{8, 4}));
  const Indices indices = step(cache, {0, 3}, {1, 1});
  EXPECT_EQ(host(indices.kvcache_start.select(0, 0)), host(cache.paged_block_table().select(0, 0)));
  EXPECT_EQ(host(indices.kvcache_start.select(0, 1)), host(cache.paged_block_table().select(0, 3)));
}

}  // namespace
}  // namespace octavo::testing
