// A session's life: admit, retire, evict, abandon, reset, namespaces.
#include "tests/cache/support/cache_testing.h"
#include "tests/cache/support/probe_device.h"

namespace octavo::testing {
namespace {

TEST(Admit, ServesACachedPrefixAndNeverAWholePrompt) {
  KVCache cache = make_cache(paged_config());
  EXPECT_EQ(cache_prompt(cache, 0, story(0, 12)), 0);
  EXPECT_EQ(cache.admit(1, ids(story(0, 12))), 8);
  EXPECT_EQ(cache.reserved_len(1), 8);
  EXPECT_EQ(cache.committed_len(1), 8);
  EXPECT_EQ(host(cache.seq_lens()), (Ids{0, 8, 0, 0}));
  EXPECT_EQ(cache.admit(2, ids(join(story(0, 12), story(1, 3)))), 12);
  EXPECT_EQ(table_row(cache, 2).size(), 3U);
  EXPECT_EQ(cache.stats().hit_tokens, 20);
}

TEST(Admit, CopiesThePartialTailThatOthersHold) {
  const auto device = std::make_shared<ProbeDevice>();
  KVCache cache = make_cache(paged_config(1, device));
  const Ids prompt = story(0, 6);
  cache.admit(0, ids(prompt));
  step(cache, {0}, {6});
  const std::int32_t tail = table_row(cache, 0)[1];
  for (const Tensor& rows : {cache.keys(0), cache.values(0)}) {
    const Tensor block = rows.select(0, tail);
    for (std::int64_t i = 0; i < block.num_elements(); ++i) {
      block.data<float>()[i] = static_cast<float>(i + 1);
    }
  }
  cache.retire(0, ids(prompt));
  EXPECT_EQ(cache.admit(1, ids(join(prompt, story(1, 3)))), 6) << "taken over";
  EXPECT_EQ(cache.counters().copied_blocks, 0);
  EXPECT_EQ(cache.admit(2, ids(join(prompt, story(2, 3)))), 6) << "copied, slot 1 holds the block";
  EXPECT_EQ(cache.counters().copied_blocks, 1);
  const std::int32_t copy = table_row(cache, 2)[1];
  EXPECT_EQ(table_row(cache, 1)[1], tail);
  EXPECT_NE(copy, tail);
  for (const Tensor& rows : {cache.keys(0), cache.values(0)}) {
    for (int head = 0; head < 2; ++head) {
      for (int row = 0; row < 2; ++row) {
        EXPECT_EQ(rows.select(0, copy).select(0, head).select(0, row).to_vector<float>(),
                  rows.select(0, tail).select(0, head).select(0, row).to_vector<float>());
      }
    }
  }
}

TEST(Admit, RefusesWhatIsNoFreshSlotOrNoPrompt) {
  KVCache cache = make_cache(paged_config());
  cache.admit(0, ids(story(0, 3)));
  EXPECT_REFUSED(cache, FailedPrecondition, cache.admit(0, ids(story(0, 3))), "admit", "slot 0");
  EXPECT_REFUSED(cache, InvalidArgument, cache.admit(4, ids({1})), "admit", "slot 4", "[0, 4)");
  EXPECT_REFUSED(cache, InvalidArgument, cache.admit(1, ids({})), "prompt length", "0");
  EXPECT_REFUSED(cache, InvalidArgument, cache.admit(1, ids(story(0, 33))), "33", "[1, 32]");
  EXPECT_REFUSED(cache, InvalidArgument, cache.admit(1, ids({1}), -2), "addressable_len", "-2");
  EXPECT_REFUSED(cache, InvalidArgument, cache.admit(1, {}), "prompt_ids", "undefined");
  EXPECT_REFUSED(cache, InvalidArgument, cache.admit(1, Tensor::zeros(DType::Int32, {1, 4})),
                 "prompt_ids", "[1, 4]");
  EXPECT_REFUSED(cache, InvalidArgument, cache.admit(1, Tensor::zeros(DType::F32, {4})), "f32");
  const Tensor strided = Tensor::zeros(DType::Int32, {4, 2}).select(1, 0);
  EXPECT_REFUSED(cache, InvalidArgument, cache.admit(1, strided), "contiguous");
}

TEST(Admit, APromptThatThePoolCannotHoldRaisesAtOnce) {
  KVCacheConfig config = paged_config();
  config.paged->num_blocks = 3;
  KVCache cache = make_cache(config);
  EXPECT_REFUSED(cache, ResourceExhausted, cache.admit(0, ids(story(0, 13))), "13", "4 blocks");
}

TEST(Admit, FetchesAPromptThatTheHostCannotRead) {
  const auto device = std::make_shared<ProbeDevice>(nullptr, false);
  KVCache cache = make_cache(paged_config(1, device));
  cache_prompt(cache, 0, story(0, 12));
  EXPECT_EQ(cache.admit(1, ids(story(0, 12), device)), 8);
  EXPECT_EQ(cache.counters().downloaded_ids, 12);
}

// FIFO keeps what LRU gives up first: a prompt that is older, but was served since.
TEST(Admit, TheCacheEvictsByThePolicyOfItsPool) {
  for (const EvictionPolicy policy : {EvictionPolicy::Lru, EvictionPolicy::Fifo}) {
    KVCacheConfig config = paged_config();
    config.paged->num_blocks = 5;
    config.paged->policy = policy;
    KVCache cache = make_cache(config);
    const std::int64_t block = config.paged->block_size;
    cache_prompt(cache, 0, story(0, 2 * block));
    cache_prompt(cache, 0, story(1, 2 * block));
    EXPECT_EQ(cache.admit(0, ids(story(0, 2 * block + 1))), 2 * block);
    cache.evict_batch(0);
    cache_prompt(cache, 0, story(2, 2 * block));
    const bool kept = policy == EvictionPolicy::Lru;
    EXPECT_EQ(cache.admit(1, ids(story(0, 2 * block + 1))), kept ? 2 * block : block);
  }
}

// D6: whoever skips tokens must be able to answer for them in every row.
TEST(Admit, ServesNothingWhereARowCouldNotAnswer) {
  const std::vector<std::vector<KVLayerSpec>> compositions = {
      {{}, {.layout = Layout::Continuous}},
      {{}, {.kind = KVLayerKind::CrossAttentionKV}},
      {{}, {.kind = KVLayerKind::State, .conv = {{4, 3}}}},
  };
  for (const auto& specs : compositions) {
    KVCache cache = make_cache(paged_config(2), specs);
    cache_prompt(cache, 0, story(0, 12));
    EXPECT_EQ(cache.admit(1, ids(story(0, 12))), 0);
    EXPECT_EQ(cache.paged_parked_blocks(), 0);
  }
  KVCacheConfig off = paged_config();
  off.paged->prefix_caching = false;
  KVCache cache = make_cache(off);
  cache_prompt(cache, 0, story(0, 12));
  EXPECT_EQ(cache.admit(1, ids(story(0, 12))), 0);
}

// B1, B23: what was not written is not served, whatever happens to who wanted to write it.
TEST(Admit, ServesNothingThatWasNotWritten) {
  KVCache cache = make_cache(paged_config());
  const Ids prompt = story(0, 9);
  EXPECT_EQ(cache.admit(0, ids(prompt)), 0);
  EXPECT_EQ(cache.admit(1, ids(prompt)), 0);
  cache.evict_batch(0);
  cache.evict_batch(1);
  EXPECT_EQ(cache.admit(1, ids(prompt)), 0);
  step(cache, {1}, {5});
  cache.update_position(1, 5);
  cache.evict_batch(1);
  EXPECT_EQ(cache.admit(0, ids(prompt)), 4);
}

TEST(Retire, NamesBoundaries) {
  KVCache cache = make_cache(paged_config());
  const Ids history = story(0, 15);
  cache.admit(0, ids(history));
  step(cache, {0}, {15});
  cache.retire(0, ids(history), KVCache::kAddressableAll, std::vector<std::int64_t>{6, 10});
  EXPECT_EQ(host(cache.seq_lens()), Ids(4, 0));
  EXPECT_EQ(cache.paged_free_blocks(), 16);
  EXPECT_EQ(cache.paged_parked_blocks(), 4);
  EXPECT_EQ(cache.admit(1, ids(join(story(0, 6), story(1, 9)))), 6);
  EXPECT_EQ(cache.admit(2, ids(join(story(0, 11), story(1, 9)))), 10);
  EXPECT_EQ(cache.admit(3, ids(join(story(0, 15), story(1, 9)))), 15);
}

TEST(Retire, RefusesAHistoryThatIsNot) {
  for (const KVCacheConfig& config : {paged_config(), continuous_config()}) {
    KVCache cache = make_cache(config);
    EXPECT_REFUSED(cache, FailedPrecondition, cache.retire(0, ids({})), "retire", "slot 0", "free");
    cache.admit(0, ids(story(0, 6)), 5);
    step(cache, {0}, {6});
    cache.update_position(0, 6);
    step(cache, {0}, {2});
    const Ids history = story(0, 8);
    EXPECT_REFUSED(cache, InvalidArgument, cache.retire(0, ids(story(0, 5)), 5), "length",
                   "[6, 8]");
    EXPECT_REFUSED(cache, InvalidArgument, cache.retire(0, ids(story(0, 9)), 5), "9", "[6, 8]");
    EXPECT_REFUSED(cache, InvalidArgument, cache.retire(0, ids(story(1, 8)), 5), "history[0]",
                   "slot 0 was admitted with");
    EXPECT_REFUSED(cache, InvalidArgument, cache.retire(0, ids(history)), "addressable_len", "5");
    EXPECT_REFUSED(cache, InvalidArgument, cache.retire(0, ids(history), -3), "-3");
    EXPECT_REFUSED(cache, InvalidArgument,
                   cache.retire(0, ids(history), 5, std::vector<std::int64_t>{-1}), "boundaries[0]",
                   "-1");
    EXPECT_REFUSED(cache, InvalidArgument, cache.retire(0, {}, 5), "full_token_ids", "undefined");
    EXPECT_REFUSED(cache, InvalidArgument, cache.retire(5, ids(history), 5), "slot 5");
    cache.retire(0, ids(history), 5);
    EXPECT_REFUSED(cache, FailedPrecondition, cache.retire(0, ids(history), 5), "free");
  }
}

// B9: a session ends once; what others got meanwhile is theirs.
TEST(Ends, AFreeSlotIsEvictedAndAbandonedIntoNothing) {
  for (const KVCacheConfig& config : {paged_config(), continuous_config()}) {
    KVCache cache = make_cache(config);
    cache_prompt(cache, 0, story(0, 8));
    step(cache, {1}, {8});
    const std::uint64_t digest = cache.digest();
    cache.evict_batch(0);
    cache.abandon_batch(0);
    EXPECT_EQ(cache.digest(), digest);
    EXPECT_EQ(host(cache.seq_lens()), (Ids{0, 8, 0, 0}));
    EXPECT_REFUSED(cache, InvalidArgument, cache.evict_batch(4), "evict_batch", "slot 4", "[0, 4)");
    EXPECT_REFUSED(cache, InvalidArgument, cache.evict_batch(-1), "slot -1");
    EXPECT_REFUSED(cache, InvalidArgument, cache.abandon_batch(4), "abandon_batch", "slot 4");
  }
}

TEST(Ends, EvictingParksWhatAKeyNamesAndFreesTheRest) {
  KVCache cache = make_cache(paged_config());
  cache.admit(0, ids(story(0, 8)));
  step(cache, {0}, {8});
  step(cache, {0}, {5});
  EXPECT_EQ(cache.paged_free_blocks(), 12);
  cache.evict_batch(0);
  EXPECT_EQ(cache.paged_free_blocks(), 16);
  EXPECT_EQ(cache.paged_parked_blocks(), 2) << "the prompt's two blocks";
}

// B14, D9.
TEST(Ends, AbandoningCallsNoDeviceAndQuarantinesWhatIsInFlight) {
  const auto device = std::make_shared<ProbeDevice>();
  const KVCacheConfig config = paged_config(3, device);
  KVCache cache = make_cache(config, {{},
                                      {.kind = KVLayerKind::State, .conv = {{4, 3}}},
                                      {.kind = KVLayerKind::CrossAttentionKV}});
  cache.admit(0, ids(story(0, 12)));
  step(cache, {0}, {5});
  step(cache, {0}, {7});  // Commits 5; 5 to 12 are in flight.
  const std::int64_t calls = device->calls();
  device->fail_after(0);
  cache.abandon_batch(0);
  EXPECT_EQ(device->calls(), calls);
  device->heal();
  EXPECT_EQ(cache.paged_quarantined_blocks(), 2);
  EXPECT_EQ(cache.paged_free_blocks(), 14);
  EXPECT_EQ(cache.admit(0, ids(story(0, 12))), 0);
  EXPECT_EQ(cache.release_quarantined(), 2);
  EXPECT_EQ(cache.paged_free_blocks(), 16);
  EXPECT_EQ(make_cache(continuous_config()).release_quarantined(), 0);
}

TEST(Ends, NoEndOfASessionCallsTheDevice) {
  const auto device = std::make_shared<ProbeDevice>();
  KVCache cache = make_cache(paged_config(1, device));
  step(cache, {0, 1}, {8, 8});
  const std::int64_t calls = device->calls();
  cache.retire(0, ids(story(0, 8)));
  cache.evict_batch(1);
  cache.update_position(2, 0);
  cache.reset();
  EXPECT_EQ(device->calls(), calls);
}

TEST(Ends, AResetCacheIsAsANewOne) {
  for (const KVCacheConfig& config : {paged_config(), continuous_config()}) {
    KVCache cache = make_cache(config);
    const std::uint64_t fresh = cache.digest();
    cache_prompt(cache, 0, story(0, 12));
    cache.admit(0, ids(story(0, 12)));
    step(cache, {1, 2}, {8, 8});
    step(cache, {1}, {3});
    cache.abandon_batch(1);
    EXPECT_NE(cache.digest(), fresh);
    cache.reset();
    EXPECT_EQ(cache.digest(), fresh);
    EXPECT_EQ(host(cache.seq_lens()), Ids(4, 0));
    if (cache.paged_num_blocks() > 0) {
      EXPECT_EQ(cache.paged_free_blocks(), 16);
      EXPECT_EQ(cache.paged_parked_blocks(), 0);
      EXPECT_EQ(cache.paged_quarantined_blocks(), 0);
      EXPECT_EQ(host(cache.paged_block_table()), Ids(32, -1));
    }
    EXPECT_NO_THROW(cache.audit());
  }
}

// B42.
TEST(Namespaces, ShareNothing) {
  KVCache cache = make_cache(paged_config());
  const Ids prompt = story(0, 12);
  cache.set_namespace(0, 7);
  cache_prompt(cache, 0, prompt);
  EXPECT_EQ(cache.admit(0, ids(prompt)), 0) << "the tenant has left with its session";
  cache.set_namespace(1, 7);
  EXPECT_EQ(cache.admit(1, ids(prompt)), 8);
  EXPECT_REFUSED(cache, FailedPrecondition, cache.set_namespace(1, 8), "set_namespace", "slot 1");
  EXPECT_REFUSED(cache, InvalidArgument, cache.set_namespace(4, 8), "slot 4");
  cache.evict_batch(1);
  cache.invalidate_namespace(7);
  cache.set_namespace(1, 7);
  EXPECT_EQ(cache.admit(1, ids(prompt)), 0);
}

TEST(Namespaces, OfAContinuousCacheAreAcceptedAndShareNothing) {
  KVCache cache = make_cache(continuous_config());
  cache.set_namespace(0, 7);
  EXPECT_EQ(cache.admit(0, ids(story(0, 4))), 0);
  EXPECT_REFUSED(cache, FailedPrecondition, cache.set_namespace(0, 8), "set_namespace", "slot 0");
  cache.invalidate_namespace(7);
}

// B30: only what was accepted is keyed.
TEST(Speculation, OnlyAcceptedTokensAreCached) {
  KVCache cache = make_cache(paged_config());
  const Ids prompt = story(0, 4);
  prefill(cache, 0, prompt);
  step(cache, {0}, {8});
  cache.update_position(0, 7);
  cache.retire(0, ids(story(0, 7)));
  EXPECT_EQ(cache.paged_free_blocks(), 16);
  EXPECT_EQ(cache.paged_parked_blocks(), 2);
  EXPECT_EQ(cache.admit(1, ids(story(0, 12))), 7);
}

}  // namespace
}  // namespace octavo::testing
