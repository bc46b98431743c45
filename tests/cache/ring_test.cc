// Continuous rows with a window: how far a sequence may be rewound, how large a step may be.
#include "tests/cache/support/cache_testing.h"

namespace octavo::testing {
namespace {

// Capacity 8 - 1 + 4 = 11.
KVCacheConfig ring_config(KVCacheMode mode) {
  KVCacheConfig config = mode == KVCacheMode::Paged ? paged_config(2) : continuous_config(1);
  config.max_tokens_per_seq = 64;
  config.max_step_tokens = 4;
  return config;
}

KVCache ring_cache(KVCacheMode mode) {
  const KVLayerSpec ring{.layout = Layout::Continuous, .window = 8};
  return mode == KVCacheMode::Paged ? make_cache(ring_config(mode), {{}, ring})
                                    : make_cache(ring_config(mode), {ring});
}

class Rings : public ::testing::TestWithParam<KVCacheMode> {};

TEST_P(Rings, ATooLargeStepRaisesBeforeAnythingIsWritten) {
  KVCache cache = ring_cache(GetParam());
  EXPECT_EQ(cache.keys(cache.num_layers() - 1).size(2), 11);
  EXPECT_REFUSED(cache, InvalidArgument, step(cache, {0}, {5}), "5", "at most 4",
                 "max_step_tokens");
  step(cache, {0}, {4});
  EXPECT_REFUSED(cache, InvalidArgument, step(cache, {1, 0}, {4, 5}), "sequence 1");
}

// B18: a rejected draft rolls back to where everything the window needs is still held.
TEST_P(Rings, ARewindMayGoBackByTheLargestStep) {
  for (const int length : {11, 12, 15, 16, 20, 33}) {
    KVCache cache = ring_cache(GetParam());
    for (int i = 0; i < length; ++i) {
      step(cache, {0}, {1});
    }
    const std::int64_t held = std::max(0, length - 11);
    for (std::int64_t position = 0; position <= length; ++position) {
      const std::int64_t needed = std::max<std::int64_t>(0, position - 7);
      if (needed < position && needed < held) {
        EXPECT_REFUSED(cache, FailedPrecondition, cache.update_position(0, position), "position",
                       "window of 8", std::to_string(held));
        EXPECT_REFUSED(cache, FailedPrecondition,
                       step_at(cache, {0}, {static_cast<std::int32_t>(position)}, {1}), "window");
      }
    }
    cache.update_position(0, std::max(0, length - 4));
    EXPECT_EQ(cache.reserved_len(0), std::max(0, length - 4));
  }
}

// What was overwritten stays overwritten, however short the sequence has become.
TEST_P(Rings, RewindsDoNotAddUp) {
  KVCache cache = ring_cache(GetParam());
  for (int i = 0; i < 20; ++i) {
    step(cache, {0}, {1});
  }
  cache.update_position(0, 16);
  EXPECT_REFUSED(cache, FailedPrecondition, cache.update_position(0, 15), "position 15");
  step(cache, {0}, {2});
  EXPECT_REFUSED(cache, FailedPrecondition, cache.update_position(0, 15), "position 15");
  for (int i = 0; i < 3; ++i) {
    step(cache, {0}, {1});
  }
  EXPECT_EQ(cache.reserved_len(0), 21);
  EXPECT_REFUSED(cache, FailedPrecondition, cache.update_position(0, 16), "position 16");
  cache.update_position(0, 17);
}

TEST_P(Rings, ASequenceMayBeginAgain) {
  KVCache cache = ring_cache(GetParam());
  const std::uint64_t fresh = cache.digest();
  for (int i = 0; i < 20; ++i) {
    step(cache, {0}, {1});
  }
  cache.update_position(0, 0);
  step(cache, {0}, {4});
  cache.update_position(0, 1);
  cache.evict_batch(0);
  step(cache, {0}, {3});
  cache.update_position(0, 1);
  EXPECT_NO_THROW(cache.audit());
  cache.reset();
  EXPECT_EQ(cache.digest(), fresh);
}

INSTANTIATE_TEST_SUITE_P(Modes,
                         Rings,
                         ::testing::Values(KVCacheMode::Paged, KVCacheMode::Continuous),
                         [](const auto& mode) { return std::string(to_string(mode.param)); });

TEST(RingRows, BesidePagedOnesLimitBareReservations) {
  KVCache cache = ring_cache(KVCacheMode::Paged);
  EXPECT_REFUSED(cache, InvalidArgument, cache.reserve(ids({0}), Ids{5}), "reserve", "5", "4");
  cache.reserve(ids({0}), Ids{4});
}

TEST(RingRows, ThatHoldAWholeSequenceNeverWrap) {
  KVCacheConfig config = ring_config(KVCacheMode::Continuous);
  config.max_tokens_per_seq = 10;
  KVCache cache = make_cache(config, {{.window = 8}});
  EXPECT_EQ(cache.keys(0).size(2), 10);
  for (int i = 0; i < 10; ++i) {
    step(cache, {0}, {1});
  }
  for (std::int64_t position = 10; position-- > 0;) {
    cache.update_position(0, position);
  }
}

TEST(RingRows, NeedNoLimitOfTheSequence) {
  KVCacheConfig config = ring_config(KVCacheMode::Continuous);
  config.max_tokens_per_seq = 0;
  KVCache cache = make_cache(config, {{.window = 8}});
  for (int i = 0; i < 1000; ++i) {
    step(cache, {3}, {4});
  }
  EXPECT_EQ(host(cache.seq_lens())[3], 4000);
}

TEST(RingRows, TheSmallestOfSeveralDecides) {
  KVCacheConfig config = ring_config(KVCacheMode::Continuous);
  config.num_layers = 3;
  KVCache cache = make_cache(config, {{.window = 8}, {.window = 20}, {.window = 1}});
  for (int i = 0; i < 24; ++i) {
    step(cache, {0}, {1});
  }
  // 24 tokens: the rings hold from 13, 1 and 20 on; 19 would need 12, 0 and nothing.
  EXPECT_REFUSED(cache, FailedPrecondition, cache.update_position(0, 19), "window of 8");
  cache.update_position(0, 20);
}

TEST(WindowedPool, RefusesARewindBehindWhatItReleased) {
  KVCacheConfig config = paged_config();
  config.max_tokens_per_seq = 64;
  config.paged->window = 8;
  KVCache cache = make_cache(config, {{.window = 8}});
  step(cache, {0}, {16});
  // B18: 4 drafts, one accepted; the next step reads positions 10 to 17.
  step(cache, {0}, {4});
  cache.update_position(0, 17);
  step(cache, {0}, {1});
  const Ids row = table_row(cache, 0);
  EXPECT_EQ(row[1], -1);
  EXPECT_NE(row[2], -1) << "tokens 8 to 11 are still seen";
  EXPECT_REFUSED(cache, FailedPrecondition, cache.update_position(0, 8), "position 8", "window");
  EXPECT_EQ(cache.admit(1, ids(story(0, 9))), 0) << "D8: no prefix is shared";
}

}  // namespace
}  // namespace octavo::testing
