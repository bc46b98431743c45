// make, footprint, accessors, moving.
#include <array>
#include <string>
#include <utility>

#include "plan/kv_plan.h"

#include "tests/cache/support/cache_testing.h"
#include "tests/cache/support/probe_device.h"
#include "tests/unit/plan/random_composition.h"

namespace octavo::testing {
namespace {

KVCache mixed_cache() {
  KVCacheConfig config = paged_config(4);
  config.max_step_tokens = 4;
  return make_cache(
      config, {{},
               {.layout = Layout::Continuous, .v_head_dim = 4, .window = 6},
               {.kind = KVLayerKind::CrossAttentionKV},
               {.kind = KVLayerKind::State, .conv = {{6, 3}, {2, 5}}, .recurrent = {2, 3, 4}}});
}

template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was raised";
}

// A device without memory that writes down what it was asked for.
class LoggingDevice final : public Device {
 public:
  DeviceKind kind() const noexcept override { return DeviceKind::Null; }
  std::string_view name() const noexcept override { return "log"; }
  bool host_accessible() const noexcept override { return false; }
  void* allocate(std::int64_t size_bytes) override {
    sizes.push_back(size_bytes);
    return nullptr;
  }
  void deallocate(void*, std::int64_t) noexcept override {}
  void copy_from_host(void*, const void*, std::int64_t) override {}
  void copy_to_host(void*, const void*, std::int64_t) const override {}
  void copy(void*, const void*, std::int64_t) override {}
  void fill(void*, std::uint8_t, std::int64_t) override { ++fills; }

  std::vector<std::int64_t> sizes;
  int fills = 0;
};

TEST(KVCacheMake, AllocatesExactlyItsFootprintClassByClass) {
  Random random(7);
  for (int i = 0; i < 10'000; ++i) {
    Composition composition = random_composition(random, random.between(1, 8));
    const auto device = std::make_shared<LoggingDevice>();
    composition.config.device = device;
    const KVCacheFootprint footprint = KVCache::footprint(composition.config, composition.specs);
    const KVCache cache = KVCache::make(composition.config, composition.specs);
    // The plan says which allocation is of which class.
    const KVPlan plan = make_kv_plan(composition.config, composition.specs);
    ASSERT_EQ(device->sizes.size(), plan.allocations.size()) << "composition " << i;
    std::array<std::int64_t, kNumStorageClasses> sums = {};
    for (std::size_t k = 0; k < plan.allocations.size(); ++k) {
      sums[static_cast<std::size_t>(plan.allocations[k].storage_class)] += device->sizes[k];
    }
    const std::array<std::int64_t, kNumStorageClasses> expected = {
        footprint.continuous_kv, footprint.paged_pools, footprint.quant_scales, footprint.cross_kv,
        footprint.conv,          footprint.recurrent,   footprint.tables};
    ASSERT_EQ(sums, expected) << "composition " << i;
    ASSERT_EQ(device->fills, 0) << "make touches no memory";
  }
}

TEST(KVCacheMake, RefusesWhatFootprintRefusesWithTheSameSentence) {
  KVCacheConfig config = paged_config(1);
  config.paged.reset();
  const std::vector<KVLayerSpec> specs{{}};
  const std::string of_make = message_of([&] { KVCache::make(config, specs); });
  const std::string of_footprint = message_of([&] { KVCache::footprint(config, specs); });
  EXPECT_EQ(of_make, of_footprint);
  EXPECT_NE(of_make.find("needs pool geometry"), std::string::npos) << of_make;
}

TEST(KVCacheMake, ReturnsItsMemoryWithTheLastHandle) {
  const auto device = std::make_shared<ProbeDevice>();
  Tensor kept;
  {
    const KVCache cache = make_cache(paged_config(1, device));
    kept = cache.keys(0);
  }
  EXPECT_EQ(device->live_bytes(), 2 * 16 * 2 * 4 * 8 * 4) << "the pool, and no table";
  kept = {};
  EXPECT_EQ(device->live_bytes(), 0);
}

TEST(KVCacheAccessors, HaveTheContractsShapes) {
  const KVCache cache = mixed_cache();
  EXPECT_EQ(cache.num_layers(), 4);
  EXPECT_EQ(cache.mode(), KVCacheMode::Paged);
  EXPECT_EQ(cache.keys(0).shape(), (Dims{16, 2, 4, 8}));
  EXPECT_EQ(cache.keys(1).shape(), (Dims{4, 2, 9, 8}));
  EXPECT_EQ(cache.values(1).shape(), (Dims{4, 2, 9, 4}));
  EXPECT_EQ(cache.keys(2).shape(), (Dims{4, 2, 32, 8}));
  EXPECT_EQ(cache.conv_state(3, 1).shape(), (Dims{4, 2, 5}));
  EXPECT_EQ(cache.recurrent_state(3).shape(), (Dims{4, 2, 3, 4}));
  EXPECT_EQ(cache.seq_lens().shape(), (Dims{4}));
  EXPECT_EQ(cache.seq_lens().dtype(), DType::Int32);
  EXPECT_EQ(cache.cross_seq_lens(2).shape(), (Dims{4}));
  EXPECT_EQ(cache.paged_block_table().shape(), (Dims{4, 8}));
  EXPECT_EQ(cache.paged_num_blocks(), 16);
  EXPECT_EQ(cache.paged_free_blocks(), 16);
  EXPECT_EQ(host(cache.paged_block_table()), Ids(32, -1)) << "no block is bound";
}

TEST(KVCacheAccessors, WithoutPagedRowsThereIsNoTable) {
  const KVCache cache = make_cache(continuous_config());
  EXPECT_FALSE(cache.paged_block_table().defined());
  EXPECT_EQ(cache.paged_free_blocks(), -1);
  EXPECT_EQ(cache.paged_num_blocks(), -1);
  EXPECT_EQ(cache.paged_parked_blocks(), -1);
  EXPECT_EQ(cache.paged_quarantined_blocks(), -1);
}

TEST(KVCacheAccessors, NameIndexAndCount) {
  const KVCache cache = mixed_cache();
  EXPECT_REFUSED(cache, InvalidArgument, cache.keys(4), "keys", "4", "[0, 4)");
  EXPECT_REFUSED(cache, InvalidArgument, cache.values(-1), "values", "-1", "[0, 4)");
  EXPECT_REFUSED(cache, InvalidArgument, cache.keys(3), "layer 3", "State");
  EXPECT_REFUSED(cache, InvalidArgument, cache.conv_state(0), "conv_state", "layer 0");
  EXPECT_REFUSED(cache, InvalidArgument, cache.conv_state(3, 2), "index 2", "[0, 2)");
  EXPECT_REFUSED(cache, InvalidArgument, cache.recurrent_state(9), "recurrent_state", "9");
  EXPECT_REFUSED(cache, InvalidArgument, cache.cross_seq_lens(0), "cross_seq_lens", "layer 0");
  EXPECT_REFUSED(cache, InvalidArgument, cache.reserved_len(4), "reserved_len", "[0, 4)");
  EXPECT_REFUSED(cache, InvalidArgument, cache.committed_len(-1), "committed_len", "-1");
}

TEST(KVCacheAccessors, AStateRowWithoutSlabHasNone) {
  const KVCache cache =
      make_cache(continuous_config(1), {{.kind = KVLayerKind::State, .conv = {{4, 3}}}});
  EXPECT_REFUSED(cache, InvalidArgument, cache.recurrent_state(0), "layer 0", "no recurrent slab");
}

TEST(KVCacheMoves, AMovedFromCacheIsEmptyAndSaysSo) {
  KVCache source = make_cache(paged_config());
  prefill(source, 1, story(0, 9));
  const std::uint64_t digest = source.digest();
  const KVCache cache = std::move(source);
  EXPECT_EQ(cache.digest(), digest);
  EXPECT_EQ(cache.reserved_len(1), 9);
  // NOLINTBEGIN(bugprone-use-after-move): what it does then is what is tested.
  const auto raises = [&](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code() == ErrorCode::FailedPrecondition &&
             std::string_view(error.what()).find("moved from") != std::string_view::npos;
    }
    return false;
  };
  EXPECT_TRUE(raises([&] { source.keys(0); }));
  EXPECT_TRUE(raises([&] { source.seq_lens(); }));
  EXPECT_TRUE(raises([&] { source.num_layers(); }));
  EXPECT_TRUE(raises([&] { source.paged_free_blocks(); }));
  EXPECT_TRUE(raises([&] { source.admit(0, ids({1})); }));
  EXPECT_TRUE(raises([&] { step_at(source, {0}, {0}, {1}); }));
  EXPECT_TRUE(raises([&] { source.abandon_batch(0); }));
  EXPECT_TRUE(raises([&] { source.reset(); }));
  // NOLINTEND(bugprone-use-after-move)
  source = make_cache(continuous_config());
  EXPECT_EQ(source.num_layers(), 1) << "and it can be given another one";
}

TEST(KVCacheMake, APoolBeyondFourGigabytesIsLaidOutAndStepped) {
  KVCacheConfig config = paged_config(1);
  config.head_dim = 128;
  config.kv_heads = 8;
  config.max_tokens_per_seq = 0;
  config.paged = PagedParams{.num_blocks = 70'000, .block_size = 64, .max_blocks_per_seq = 8};
  KVCache cache = make_cache(config);
  const Tensor keys = cache.keys(0);
  ASSERT_GT(keys.size_bytes(), std::int64_t{4} << 30);
  const Tensor last = keys.select(0, 69'999).select(0, 7).select(0, 63);
  last.data<float>()[127] = 1.5F;
  EXPECT_EQ(last.to_vector<float>()[127], 1.5F);
  const Indices indices = step(cache, {2}, {65});
  EXPECT_EQ(indices.kvcache_start.shape(), (Dims{1, 8}));
}

}  // namespace
}  // namespace octavo::testing
