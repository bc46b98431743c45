// Cross-attention rows: fill, its lengths, prepare_cross.
#include "octavo/ref_cpu/cpu_device.h"

#include "tests/cache/support/cache_testing.h"
#include "tests/cache/support/probe_device.h"

namespace octavo::testing {
namespace {

class CrossRows : public ::testing::Test {
 protected:
  CrossRows()
      : device(std::make_shared<ProbeDevice>(make_cpu_device(1))),
        cache(make_cache(continuous_config(3, device),
                         {{},
                          {.kind = KVLayerKind::CrossAttentionKV, .v_head_dim = 16},
                          {.kind = KVLayerKind::CrossAttentionKV}})) {}

  Tensor values(std::int64_t tokens, std::int64_t dim, float first, DType dtype = DType::F32) {
    Tensor tensor = Tensor::zeros(dtype, {tokens, 2, dim}, device);
    if (dtype == DType::F32) {
      for (std::int64_t i = 0; i < tensor.num_elements(); ++i) {
        tensor.data<float>()[i] = first + static_cast<float>(i);
      }
    }
    return tensor;
  }

  void fill(int layer, int slot, std::int64_t tokens, float first = 1.0F) {
    cache.fill(layer, slot, values(tokens, 8, first), values(tokens, layer == 1 ? 16 : 8, -first));
  }

  std::shared_ptr<ProbeDevice> device;
  KVCache cache;
};

// Token-major in, head-major in the row.
TEST_F(CrossRows, HoldWhatWasFilled) {
  fill(1, 2, 3);
  const Tensor keys = cache.keys(1).select(0, 2);
  const Tensor values = cache.values(1).select(0, 2);
  for (std::int64_t t = 0; t < 3; ++t) {
    for (std::int64_t h = 0; h < 2; ++h) {
      EXPECT_EQ(keys.select(0, h).select(0, t).data<float>()[5],
                1.0F + static_cast<float>((t * 2 + h) * 8 + 5));
      EXPECT_EQ(values.select(0, h).select(0, t).data<float>()[15],
                -1.0F + static_cast<float>((t * 2 + h) * 16 + 15));
    }
  }
  EXPECT_EQ(keys.select(0, 1).select(0, 3).data<float>()[0], 0.0F) << "and nothing behind it";
  EXPECT_EQ(host(cache.cross_seq_lens(1)), (Ids{0, 0, 3, 0}));
  EXPECT_EQ(host(cache.cross_seq_lens(2)), (Ids{0, 0, 0, 0}));
  EXPECT_EQ(host(cache.seq_lens()), Ids(4, 0)) << "D15: they never show here";
  EXPECT_EQ(cache.reserved_len(2), 0);
}

TEST_F(CrossRows, ConvertTheirInput) {
  KVCacheConfig config = continuous_config(1, device);
  config.kv_dtype = DType::BF16;
  KVCache half = make_cache(config, {{.kind = KVLayerKind::CrossAttentionKV}});
  half.fill(0, 0, values(2, 8, 1.0F), values(2, 8, 3.0F));
  EXPECT_EQ(half.keys(0).select(0, 0).select(0, 0).select(0, 0).data<std::uint16_t>()[1], 0x4000)
      << "2.0 as bf16";
  half.fill(0, 1, values(2, 8, 0.0F, DType::F16), values(2, 8, 0.0F, DType::BF16));
  EXPECT_EQ(host(half.cross_seq_lens(0)), (Ids{2, 2, 0, 0}));
}

// B40.
TEST_F(CrossRows, KeepTheirLengthUntilTheSlotIsFreed) {
  fill(1, 0, 32);
  EXPECT_REFUSED(cache, InvalidArgument, fill(2, 0, 33), "fill", "t_enc", "33", "[1, 32]");
  EXPECT_REFUSED(cache, InvalidArgument, fill(2, 0, 0), "t_enc", "0");
  fill(1, 0, 32, 9.0F);
  EXPECT_EQ(cache.keys(1).select(0, 0).select(0, 0).select(0, 0).data<float>()[0], 9.0F)
      << "overwritten in place";
  EXPECT_REFUSED(cache, FailedPrecondition, fill(1, 0, 31), "layer 1", "slot 0", "32", "31");
  fill(2, 0, 5);  // Each layer has its own.
  cache.evict_batch(0);
  EXPECT_EQ(host(cache.cross_seq_lens(1)), Ids(4, 0));
  fill(1, 0, 4);
  EXPECT_EQ(host(cache.prepare_cross(1, Ids{0, 1}, Ids{0}).cu_seqlens_k), (Ids{4}));
}

TEST_F(CrossRows, AreEmptiedByEveryEndOfASession) {
  const auto lengths = [&] { return host(cache.cross_seq_lens(2))[1]; };
  fill(2, 1, 5);
  step(cache, {1}, {3});
  cache.retire(1, ids(story(0, 3)));
  EXPECT_EQ(lengths(), 0);
  fill(2, 1, 6);
  const std::int64_t calls = device->calls();
  cache.abandon_batch(1);
  EXPECT_EQ(device->calls(), calls);
  EXPECT_EQ(lengths(), 0);
  fill(2, 1, 7);
  cache.reset();
  EXPECT_EQ(lengths(), 0);
  fill(2, 1, 8);
  EXPECT_EQ(lengths(), 8);
}

TEST_F(CrossRows, RefuseWhatDoesNotFit) {
  const Tensor k = values(3, 8, 1.0F);
  const Tensor v = values(3, 16, 1.0F);
  EXPECT_REFUSED(cache, InvalidArgument, cache.fill(3, 0, k, v), "fill", "layer 3", "[0, 3)");
  EXPECT_REFUSED(cache, InvalidArgument, cache.fill(-1, 0, k, v), "layer -1");
  EXPECT_REFUSED(cache, InvalidArgument, cache.fill(0, 0, k, v), "layer 0", "CrossAttentionKV");
  EXPECT_REFUSED(cache, InvalidArgument, cache.fill(1, 4, k, v), "slot 4", "[0, 4)");
  EXPECT_REFUSED(cache, InvalidArgument, cache.fill(1, 0, {}, v), "fill", "k");
  EXPECT_REFUSED(cache, InvalidArgument, cache.fill(1, 0, k.select(0, 0), v), "k", "[2, 8]");
  EXPECT_REFUSED(cache, InvalidArgument, cache.fill(1, 0, v, v), "k", "[3, 2, 16]");
  EXPECT_REFUSED(cache, InvalidArgument, cache.fill(1, 0, k, k), "v", "[3, 2, 8]");
  EXPECT_REFUSED(cache, InvalidArgument, cache.fill(1, 0, k, values(2, 16, 1.0F)), "v");
  EXPECT_REFUSED(cache, InvalidArgument,
                 cache.fill(1, 0, Tensor::zeros(DType::Int8, {3, 2, 8}, device), v), "k", "int8");
  EXPECT_REFUSED(cache, InvalidArgument, cache.fill(1, 0, Tensor::zeros(DType::F32, {3, 2, 8}), v),
                 "device");
}

TEST_F(CrossRows, GiveTheIndicesOfAReadOnlyAttend) {
  fill(1, 0, 5);
  fill(1, 3, 2);
  fill(2, 3, 7);
  step(cache, {3, 0}, {1, 4});
  const Indices first = cache.prepare_cross(1, Ids{0, 1, 5}, Ids{3, 0});
  EXPECT_EQ(host(first.cu_seqlens_q), (Ids{0, 1, 5}));
  EXPECT_EQ(host(first.cu_seqlens_k), (Ids{2, 5}));
  EXPECT_EQ(host(first.slot_ids), (Ids{3, 0}));
  EXPECT_EQ(host(first.kvcache_start), (Ids{3, 0}));
  EXPECT_EQ(host(cache.prepare_cross(2, Ids{0, 1, 5}, Ids{3, 0}).cu_seqlens_k), (Ids{7, 0}))
      << "nothing was filled there: nothing to see";
  EXPECT_EQ(host(cache.seq_lens()), (Ids{4, 0, 0, 1})) << "and the step's own indices are others";
}

TEST_F(CrossRows, PrepareCrossUploadsNothingTwice) {
  fill(1, 0, 5);
  fill(2, 0, 5);
  cache.prepare_cross(1, Ids{0, 1}, Ids{0});
  const std::int64_t uploads = cache.counters().uploads;
  cache.prepare_cross(2, Ids{0, 1}, Ids{0});
  cache.prepare_cross(1, Ids{0, 1}, Ids{0});
  EXPECT_EQ(cache.counters().uploads, uploads);
}

TEST_F(CrossRows, PrepareCrossNamesWhatIsWrong) {
  const auto prepare = [&](int layer, const Ids& cu, const Ids& slots) {
    return cache.prepare_cross(layer, cu, slots);
  };
  EXPECT_REFUSED(cache, InvalidArgument, prepare(0, {0, 1}, {0}), "prepare_cross", "layer 0");
  EXPECT_REFUSED(cache, InvalidArgument, prepare(7, {0, 1}, {0}), "layer 7", "[0, 3)");
  EXPECT_REFUSED(cache, InvalidArgument, prepare(1, {0}, {0}), "cu_seqlens_q has 1", "need 2");
  EXPECT_REFUSED(cache, InvalidArgument, prepare(1, {1, 2}, {0}), "cu_seqlens_q[0]");
  EXPECT_REFUSED(cache, InvalidArgument, prepare(1, {0, 0}, {0}), "sequence 0");
  EXPECT_REFUSED(cache, InvalidArgument, prepare(1, {0, 1, 2}, {1, 1}), "slot 1", "twice");
  EXPECT_REFUSED(cache, InvalidArgument, prepare(1, {0, 1}, {4}), "slot 4");
}

TEST_F(CrossRows, AFailedFillOfAnEmptyLayerLeavesItEmpty) {
  device->fail_once_after(0);
  EXPECT_REFUSED(cache, DeviceError, fill(1, 0, 5), "probe");
  EXPECT_EQ(host(cache.cross_seq_lens(1)), Ids(4, 0));
  fill(1, 0, 6);
}

TEST_F(CrossRows, AFailedOverwriteLeavesASlotThatMustBeAbandoned) {
  fill(1, 0, 5);
  device->fail_once_after(0);
  EXPECT_REFUSED(cache, DeviceError, fill(1, 0, 5), "probe");
  EXPECT_REFUSED(cache, FailedPrecondition, fill(1, 0, 5), "slot 0", "abandon_batch");
  EXPECT_REFUSED(cache, FailedPrecondition, cache.prepare_cross(1, Ids{0, 1}, Ids{0}), "slot 0");
  EXPECT_REFUSED(cache, FailedPrecondition, step(cache, {0}, {1}), "slot 0");
  cache.abandon_batch(0);
  fill(1, 0, 6);
}

TEST(CrossRowsWithoutKernels, SayThatTheDeviceHasNone) {
  KVCache cache = make_cache(continuous_config(1), {{.kind = KVLayerKind::CrossAttentionKV}});
  const Tensor k = Tensor::zeros(DType::F32, {3, 2, 8});
  EXPECT_REFUSED(cache, Unimplemented, cache.fill(0, 0, k, k), "host");
}

}  // namespace
}  // namespace octavo::testing
