// prepare_step, reserve and update_position: what they return and what they refuse.
#include "tests/cache/support/cache_testing.h"
#include "tests/cache/support/probe_device.h"

namespace octavo::testing {
namespace {

TEST(PrepareStep, APagedDecodeHasLengthsAndGatheredRows) {
  KVCache cache = make_cache(paged_config());
  step(cache, {2, 0}, {5, 3});
  const Indices indices = step(cache, {0, 2}, {1, 1});
  EXPECT_EQ(host(indices.cu_seqlens_q), (Ids{0, 1, 2}));
  EXPECT_EQ(host(indices.cu_seqlens_k), (Ids{4, 6}));
  EXPECT_FALSE(indices.slot_ids.defined());
  ASSERT_EQ(indices.kvcache_start.shape(), (Dims{2, 8}));
  EXPECT_EQ(host(indices.kvcache_start.select(0, 0)), host(cache.paged_block_table().select(0, 0)));
  EXPECT_EQ(host(indices.kvcache_start.select(0, 1)), host(cache.paged_block_table().select(0, 2)));
  EXPECT_EQ(table_row(cache, 2).size(), 2U);
  EXPECT_EQ(host(cache.seq_lens()), (Ids{4, 0, 6, 0}));
}

TEST(PrepareStep, APagedPrefillHasCumulativeLengths) {
  KVCache cache = make_cache(paged_config());
  step(cache, {1}, {6});
  const Indices indices = step(cache, {1, 3}, {1, 9});
  EXPECT_EQ(host(indices.cu_seqlens_q), (Ids{0, 1, 10}));
  EXPECT_EQ(host(indices.cu_seqlens_k), (Ids{0, 7, 16}));
}

TEST(PrepareStep, AContinuousCacheHasSlotIdsAndPlainLengths) {
  KVCache cache = make_cache(continuous_config());
  const Indices indices = step(cache, {3, 1}, {4, 2});
  EXPECT_EQ(host(indices.cu_seqlens_q), (Ids{0, 4, 6}));
  EXPECT_EQ(host(indices.cu_seqlens_k), (Ids{4, 2}));
  EXPECT_EQ(host(indices.slot_ids), (Ids{3, 1}));
  EXPECT_EQ(indices.kvcache_start.shape(), (Dims{2}));
  EXPECT_EQ(host(indices.kvcache_start), (Ids{3, 1}));
  EXPECT_EQ(host(cache.seq_lens()), (Ids{0, 2, 0, 4}));
}

TEST(PrepareStep, AMixedCacheHasBoth) {
  KVCache cache = make_cache(paged_config(2), {{}, {.layout = Layout::Continuous}});
  const Indices indices = step(cache, {3, 1}, {4, 2});
  EXPECT_EQ(host(indices.cu_seqlens_k), (Ids{0, 4, 6}));
  EXPECT_EQ(host(indices.slot_ids), (Ids{3, 1}));
  EXPECT_EQ(indices.kvcache_start.shape(), (Dims{2, 8}));
}

TEST(PrepareStep, HandlesArePersistentBuffers) {
  KVCache cache = make_cache(paged_config(2), {{}, {.layout = Layout::Continuous}});
  const Indices first = step(cache, {3, 1}, {4, 2});
  const Indices second = step(cache, {1}, {1});
  EXPECT_EQ(first.cu_seqlens_q.address(), second.cu_seqlens_q.address());
  EXPECT_EQ(first.cu_seqlens_k.address(), second.cu_seqlens_k.address());
  EXPECT_EQ(first.kvcache_start.address(), second.kvcache_start.address());
  EXPECT_EQ(first.slot_ids.address(), second.slot_ids.address());
  EXPECT_EQ(host(first.slot_ids)[0], 1) << "they show the latest step";
}

TEST(PrepareStep, AnEmptyBatchIsAStepOfNothing) {
  for (const KVCacheConfig& config : {paged_config(), continuous_config()}) {
    KVCache cache = make_cache(config);
    const Indices indices = step(cache, {}, {});
    EXPECT_EQ(host(indices.cu_seqlens_q), (Ids{0}));
    EXPECT_EQ(indices.cu_seqlens_k.num_elements(), 0);
  }
}

// Both kinds of cache follow one contract, so they refuse the same in the same words.
class PrepareStepRefusals : public ::testing::TestWithParam<KVCacheMode> {
 protected:
  static KVCache make() {
    KVCacheConfig config = GetParam() == KVCacheMode::Paged ? paged_config() : continuous_config();
    config.max_step_tokens = 10;
    return make_cache(config);
  }
};

TEST_P(PrepareStepRefusals, NameWhatIsWrong) {
  KVCache cache = make();
  step(cache, {0, 2}, {6, 2});
  const auto prepare = [&](const Ids& cu, const Ids& past, const Ids& slots) {
    return cache.prepare_step(cu, past, slots);
  };
  EXPECT_REFUSED(cache, InvalidArgument, prepare({0}, {6}, {0}), "prepare_step",
                 "cu_seqlens_q and past_len have 1 and 1", "need 2 and 1");
  EXPECT_REFUSED(cache, InvalidArgument, prepare({0, 1}, {}, {0}), "have 2 and 0");
  EXPECT_REFUSED(cache, InvalidArgument, prepare({}, {}, {}), "have 0 and 0");
  EXPECT_REFUSED(cache, InvalidArgument, prepare({1, 2}, {6}, {0}), "cu_seqlens_q[0]", "1");
  EXPECT_REFUSED(cache, InvalidArgument, prepare({0, 1, 1}, {6, 2}, {0, 2}), "sequence 1", "0");
  EXPECT_REFUSED(cache, InvalidArgument, prepare({0, 1, 2}, {6, 6}, {0, 0}), "slot 0", "twice");
  EXPECT_REFUSED(cache, InvalidArgument, prepare({0, 1}, {0}, {4}), "slot 4", "[0, 4)");
  EXPECT_REFUSED(cache, InvalidArgument, prepare({0, 1}, {0}, {-1}), "slot -1", "[0, 4)");
  EXPECT_REFUSED(cache, InvalidArgument, prepare({0, 1}, {7}, {0}), "past_len[0]", "7", "[0, 6]");
  EXPECT_REFUSED(cache, InvalidArgument, prepare({0, 1}, {-1}, {0}), "past_len[0]", "-1");
  EXPECT_REFUSED(cache, InvalidArgument, prepare({0, 27}, {6}, {0}), "slot 0", "33", "32");
  EXPECT_REFUSED(cache, InvalidArgument, prepare({0, 1, 12}, {6, 2}, {0, 2}), "sequence 1", "11",
                 "10", "max_step_tokens");
}

TEST_P(PrepareStepRefusals, UpdatePositionNamesItsRange) {
  KVCache cache = make();
  step(cache, {1}, {6});
  EXPECT_REFUSED(cache, InvalidArgument, cache.update_position(1, 7), "update_position", "7",
                 "[0, 6]");
  EXPECT_REFUSED(cache, InvalidArgument, cache.update_position(1, -1), "-1", "[0, 6]");
  EXPECT_REFUSED(cache, InvalidArgument, cache.update_position(4, 0), "slot 4");
  cache.update_position(1, 2);
  EXPECT_EQ(cache.reserved_len(1), 2);
  EXPECT_EQ(cache.committed_len(1), 2);
  EXPECT_EQ(host(cache.seq_lens()), (Ids{0, 2, 0, 0}));
}

TEST_P(PrepareStepRefusals, ARewindKeepsLengthsInStep) {
  KVCache cache = make();
  step(cache, {1}, {6});
  const std::int64_t free_blocks = cache.paged_free_blocks();
  cache.update_position(1, 3);
  EXPECT_EQ(cache.paged_free_blocks(), free_blocks) << "blocks stay bound";
  const Indices indices = step(cache, {1}, {1});
  EXPECT_EQ(cache.paged_free_blocks(), free_blocks) << "and are served first";
  EXPECT_EQ(host(indices.cu_seqlens_k), (Ids{4}));
  EXPECT_EQ(cache.committed_len(1), 3);
}

INSTANTIATE_TEST_SUITE_P(Modes,
                         PrepareStepRefusals,
                         ::testing::Values(KVCacheMode::Paged, KVCacheMode::Continuous),
                         [](const auto& mode) { return std::string(to_string(mode.param)); });

// B27: a step that cannot be had whole is not had at all.
TEST(PrepareStep, ExhaustionInTheMiddleOfABatchChangesNothing) {
  KVCacheConfig config = paged_config();
  config.paged->num_blocks = 3;
  KVCache cache = make_cache(config);
  step(cache, {0, 1}, {4, 4});
  const Ids lens = host(cache.seq_lens());
  const Ids table = host(cache.paged_block_table());
  const KVCacheCounters before = cache.counters();
  EXPECT_REFUSED(cache, ResourceExhausted, step(cache, {0, 1}, {1, 1}), "2 blocks", "1 of 3");
  EXPECT_EQ(cache.counters().uploads, before.uploads) << "nothing was sent either";
  EXPECT_EQ(host(cache.seq_lens()), lens);
  EXPECT_EQ(host(cache.paged_block_table()), table);
  cache.evict_batch(1);
  EXPECT_EQ(host(step(cache, {0}, {1}).cu_seqlens_k), (Ids{5}));
}

TEST(Reserve, ReturnsOffsetsAndAdvances) {
  KVCache cache = make_cache(paged_config());
  step(cache, {2}, {5});
  const Tensor offsets = cache.reserve(ids({0, 2}), Ids{3, 4});
  EXPECT_EQ(host(offsets), (Ids{0, 5}));
  EXPECT_EQ(host(cache.seq_lens()), (Ids{3, 0, 9, 0}));
  EXPECT_EQ(cache.committed_len(2), 5) << "a bare reserve commits what was reserved before";
  EXPECT_EQ(table_row(cache, 2).size(), 3U);
  EXPECT_EQ(host(cache.reserve(ids({2}), Ids{0})), (Ids{9}));
}

TEST(Reserve, FetchesIdsThatTheHostCannotRead) {
  const auto device = std::make_shared<ProbeDevice>(nullptr, false);
  KVCache cache = make_cache(paged_config(1, device));
  EXPECT_EQ(host(cache.reserve(ids({3, 1}, device), Ids{2, 2})), (Ids{0, 0}));
  EXPECT_EQ(cache.counters().downloaded_ids, 2);
  EXPECT_EQ(host(cache.seq_lens()), (Ids{0, 2, 0, 2}));
}

TEST(Reserve, RefusesWhatItCannotDo) {
  KVCacheConfig config = paged_config();
  config.paged->num_blocks = 3;
  KVCache cache = make_cache(config);
  step(cache, {0}, {4});
  EXPECT_REFUSED(cache, InvalidArgument, cache.reserve(ids({0, 1}), Ids{1}), "reserve",
                 "slots, n_new and offsets have 2, 1 and 2");
  EXPECT_REFUSED(cache, InvalidArgument, cache.reserve(ids({1, 1}), Ids{1, 1}), "slot 1", "twice");
  EXPECT_REFUSED(cache, InvalidArgument, cache.reserve(ids({9}), Ids{1}), "slot 9");
  EXPECT_REFUSED(cache, InvalidArgument, cache.reserve(ids({0}), Ids{-1}), "n_new[0]", "-1");
  EXPECT_REFUSED(cache, InvalidArgument, cache.reserve(ids({0}), Ids{29}), "33", "32");
  EXPECT_REFUSED(cache, ResourceExhausted, cache.reserve(ids({0, 1}), Ids{1, 8}), "blocks");
  EXPECT_REFUSED(cache, InvalidArgument, cache.reserve({}, Ids{}), "slot_ids", "undefined");
  EXPECT_REFUSED(cache, InvalidArgument, cache.reserve(Tensor::zeros(DType::F32, {1}), Ids{1}),
                 "slot_ids", "f32");
  KVCache continuous = make_cache(continuous_config());
  EXPECT_REFUSED(continuous, FailedPrecondition, continuous.reserve(ids({0}), Ids{1}), "reserve",
                 "no paged rows");
}

}  // namespace
}  // namespace octavo::testing
