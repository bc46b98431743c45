// The counters, each by hand.
#include <atomic>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

TEST(Stats, StartAtZero) {
  const BlockManager m(small_config());
  const BlockManagerStats stats = m.stats();
  EXPECT_EQ(stats.admits, 0);
  EXPECT_EQ(stats.hit_tokens, 0);
  EXPECT_EQ(stats.evicted_blocks(), 0);
  EXPECT_EQ(stats.bound_blocks_max, 0);
  EXPECT_EQ(stats.parked_blocks_max, 0);
}

TEST(Stats, CountPromptsAndHits) {
  Sessions s(small_config());
  s.cache(story(1, 10));                     // Nothing of 10.
  s.probe(story(1, 12));                     // 8 in blocks, 2 by a key, taken over.
  s.probe(join(story(1, 5), story(2, 5)));   // One block of two.
  s.cache(story(1, 12), {11});               // 10 again, by a take-over.
  s.probe(join(story(1, 11), story(3, 1)));  // 8 and 3 by a copy.
  s.probe(story(4, 3));                      // Nothing; no whole block.
  const BlockManagerStats stats = s.manager().stats();
  EXPECT_EQ(stats.admits, 6);
  EXPECT_EQ(stats.prompt_tokens, 10 + 12 + 10 + 12 + 12 + 3);
  EXPECT_EQ(stats.hit_tokens, 0 + 10 + 4 + 10 + 11 + 0);
  EXPECT_EQ(stats.hit_blocks, 0 + 2 + 1 + 2 + 2 + 0);
  EXPECT_EQ(stats.missed_blocks, 2 + 1 + 1 + 1 + 1 + 0);
  EXPECT_EQ(stats.partial_hits, 3);
  EXPECT_EQ(stats.partial_takeovers, 2);
  EXPECT_EQ(stats.copied_blocks, 1);
  EXPECT_EQ(stats.sealed_blocks, 3);
}

TEST(Stats, CallsThatRaiseCountNothing) {
  Sessions s(small_config());
  s.cache(story(1, 10));
  BlockManager& m = s.manager();
  const BlockManagerStats before = m.stats();
  EXPECT_THROW(m.admit(0, {}), Error);
  EXPECT_THROW(m.admit(4, story(1, 9)), Error);
  EXPECT_THROW(reserve(m, {0}, {65}), Error);
  EXPECT_THROW(m.retire(0, story(1, 9)), Error);
  const BlockManagerStats after = m.stats();
  EXPECT_EQ(after.admits, before.admits);
  EXPECT_EQ(after.prompt_tokens, before.prompt_tokens);
  EXPECT_EQ(after.evicted_blocks(), before.evicted_blocks());
  EXPECT_EQ(after.bound_blocks_max, before.bound_blocks_max);
}

TEST(Stats, CountEvictionsByCause) {
  BlockManagerConfig config = small_config();
  config.num_blocks = 3;
  Sessions s(config);
  s.cache(story(1, 4), {2});
  s.cache(story(2, 8));
  EXPECT_EQ(s.admit(0, join(story(1, 2), story(5, 1))), 2);
  EXPECT_EQ(s.manager().stats().evicted_for_copy, 1);
  EXPECT_EQ(s.manager().stats().evicted_for_step, 0);
  s.write(1, story(6, 8));
  EXPECT_EQ(s.manager().stats().evicted_for_copy, 1);
  EXPECT_EQ(s.manager().stats().evicted_for_step, 2);
  EXPECT_EQ(s.manager().stats().evicted_blocks(), 3);
}

TEST(Stats, CountCopiesOfRewrites) {
  Sessions s(small_config());
  s.admit(0, story(1, 8));
  s.prefill(0);
  s.rewind(0, 6);
  s.write(0, story(2, 1));
  s.rewind(0, 6);
  s.write(0, story(2, 1));
  EXPECT_EQ(s.manager().stats().copied_blocks, 1);
  EXPECT_EQ(s.manager().stats().partial_hits, 0);
}

TEST(Stats, KeepTheHighWaterMarks) {
  Sessions s(small_config());
  s.write(0, story(1, 20));
  s.write(1, story(2, 12));
  EXPECT_EQ(s.manager().stats().bound_blocks_max, 8);
  s.retire(0);
  s.evict(1);
  EXPECT_EQ(s.manager().stats().parked_blocks_max, 5);
  s.write(0, story(3, 8));
  EXPECT_EQ(s.manager().stats().bound_blocks_max, 8);
  s.reset();
  EXPECT_EQ(s.manager().stats().bound_blocks_max, 8);
  EXPECT_EQ(s.manager().stats().parked_blocks_max, 5);
}

// A block that two slots hold is one block.
TEST(Stats, TheHighWaterMarkCountsASharedBlockOnce) {
  Sessions s(small_config());
  s.cache(story(1, 8));
  s.admit(0, story(1, 9));
  s.admit(1, story(1, 9));
  EXPECT_EQ(s.manager().stats().bound_blocks_max, 2);
}

TEST(Stats, CountQuarantineEver) {
  Sessions s(small_config());
  for (int i = 0; i < 3; ++i) {
    s.write(0, story(1, 5));
    s.abandon(0);
    s.release_quarantined();
  }
  EXPECT_EQ(s.manager().stats().quarantined_blocks, 6);
  EXPECT_EQ(s.manager().quarantined_blocks(), 0);
}

// Another thread watches the counters while the manager works. Each value it reads must be one that
// was true at some moment; run it under a thread sanitizer to see the rest.
TEST(Stats, MayBeReadFromAnotherThread) {
  BlockManager m(small_config());
  std::atomic<bool> done{false};
  std::atomic<std::int64_t> reads{0};
  std::thread watcher([&] {
    std::int64_t admits = 0;
    while (!done.load()) {
      const BlockManagerStats stats = m.stats();
      EXPECT_GE(stats.admits, admits);
      admits = stats.admits;
      EXPECT_LE(stats.bound_blocks_max, 16);
      EXPECT_EQ(m.num_blocks(), 16);
      EXPECT_GE(m.free_blocks(), 0);
      EXPECT_LE(m.parked_blocks(), 16);
      EXPECT_GE(m.parked_blocks(), 0);
      EXPECT_LE(m.quarantined_blocks(), 16);
      EXPECT_GE(m.quarantined_blocks(), 0);
      reads.fetch_add(1);
    }
  });
  for (int i = 0; i < 20'000 || reads.load() < 100; ++i) {
    const Tokens prompt = story(i % 5, 14);
    const std::int64_t served = m.admit(0, prompt);
    reserve(m, {0}, {static_cast<std::int32_t>(14 - served)});
    if (i % 3 == 0) {
      m.abandon(0);
      m.release_quarantined();
    } else {
      m.retire(0, prompt);
    }
  }
  done.store(true);
  watcher.join();
  m.audit();
}

}  // namespace
}  // namespace octavo::testing
