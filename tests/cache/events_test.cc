// A cache tells an event sink what its block manager keeps and evicts.
#include "octavo/kv_events.h"

#include "tests/cache/support/cache_testing.h"

namespace octavo::testing {
namespace {

class Counter final : public KVEventSink {
 public:
  void on_block_stored(const BlockStored& event) noexcept override {
    stored += event.block_hashes.size();
  }
  void on_block_removed(const BlockRemoved& event) noexcept override {
    removed += event.block_hashes.size();
  }
  void on_all_blocks_cleared() noexcept override { ++cleared; }

  std::size_t stored = 0;
  std::size_t removed = 0;
  int cleared = 0;
};

TEST(CacheEvents, ReachTheSinkOfThePagedParams) {
  Counter sink;
  KVCacheConfig config = paged_config();
  config.paged->events = &sink;
  KVCache cache = make_cache(config);
  cache_prompt(cache, 0, story(1, 17));
  EXPECT_EQ(sink.stored, 4U);
  for (int which = 2; which < 6; ++which) {  // More than the 16 blocks hold.
    cache_prompt(cache, 0, story(which, 17));
  }
  EXPECT_EQ(sink.stored, 20U);
  EXPECT_GT(sink.removed, 3U);
  cache.reset();
  EXPECT_EQ(sink.cleared, 1);
}

}  // namespace
}  // namespace octavo::testing
