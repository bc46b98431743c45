// The footprint against what a device was really asked for, and against sums written down a second
// time straight from the specifications.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "octavo/kv_footprint.h"
#include "plan/kv_storage.h"
#include "plan_testing.h"
#include "random_composition.h"
#include <gtest/gtest.h>

namespace octavo {
namespace {

using testing::Composition;
using testing::raised;
using testing::Random;
using testing::random_composition;

constexpr int kCompositions = 10'000;

/// Remembers the size of every allocation, and refuses one of them on request.
class RecordingDevice final : public Device {
 public:
  explicit RecordingDevice(std::size_t refuse_at = static_cast<std::size_t>(-1))
      : refuse_at_(refuse_at) {}

  DeviceKind kind() const noexcept override { return DeviceKind::Null; }
  std::string_view name() const noexcept override { return "recording"; }
  bool host_accessible() const noexcept override { return false; }
  void* allocate(std::int64_t size_bytes) override {
    if (sizes.size() == refuse_at_) {
      throw Error(ErrorCode::ResourceExhausted, "refused");
    }
    sizes.push_back(size_bytes);
    live_bytes += size_bytes;
    return nullptr;
  }
  void deallocate(void* /*data*/, std::int64_t size_bytes) noexcept override {
    live_bytes -= size_bytes;
  }
  void copy_from_host(void* /*dst*/, const void* /*src*/, std::int64_t size_bytes) override {
    uploaded_bytes += size_bytes;
  }
  void copy_to_host(void* /*dst*/, const void* /*src*/, std::int64_t /*bytes*/) const override {}
  void copy(void* /*dst*/, const void* /*src*/, std::int64_t /*bytes*/) override {}
  void fill(void* /*dst*/, std::uint8_t /*value*/, std::int64_t /*bytes*/) override {}

  std::vector<std::int64_t> sizes;
  std::int64_t live_bytes = 0;
  std::int64_t uploaded_bytes = 0;

 private:
  std::size_t refuse_at_;
};

std::vector<std::int64_t> by_class(const KVCacheFootprint& bytes) {
  return {bytes.continuous_kv, bytes.paged_pools, bytes.quant_scales, bytes.cross_kv,
          bytes.conv,          bytes.recurrent,   bytes.tables};
}

int codec_bits(KVCodec codec, DType kv_dtype) {
  switch (codec) {
    case KVCodec::None:
      return bits_per_element(kv_dtype);
    case KVCodec::Int4:
      return 4;
    default:
      return 8;
  }
}

/// The footprint by hand: one row at a time, without pools, allocations or alignment.
class HandCount {
 public:
  explicit HandCount(const Composition& composition) : config_(composition.config) {
    for (const KVLayerSpec& spec : composition.specs) {
      if (spec.kind == KVLayerKind::State) {
        add_state(spec);
      } else {
        add_attention(spec);
      }
    }
    add_tables();
  }

  KVCacheFootprint bytes;

 private:
  static bool is_static(const KVQuantSpec& quant) { return quant.scale == KVScale::Static; }

  void add_half(const KVQuantSpec& quant,
                std::int64_t heads,
                std::int64_t dim,
                std::int64_t tokens,
                std::int64_t& field,
                std::int64_t& layer) {
    const std::int64_t data = tokens * heads * dim * codec_bits(quant.codec, config_.kv_dtype) / 8;
    std::int64_t scales = 0;
    if (quant.codec != KVCodec::None) {
      scales = is_static(quant) ? heads * 4 : tokens * heads * 4;
    }
    field += data;
    bytes.quant_scales += scales;
    layer += data + scales;
    const std::int64_t growing = data + (is_static(quant) ? 0 : scales);
    if (&field == &bytes.paged_pools) {
      bytes.bytes_per_block += growing / config_.paged->num_blocks;
    } else {
      bytes.bytes_per_slot += growing / config_.max_seqs;
    }
  }

  void add_attention(const KVLayerSpec& spec) {
    const bool is_cross = spec.kind == KVLayerKind::CrossAttentionKV;
    bool is_paged = spec.layout == Layout::Paged ||
                    (spec.layout == Layout::Auto && config_.mode == KVCacheMode::Paged);
    is_paged = is_paged && !is_cross;
    std::int64_t capacity = config_.max_tokens_per_seq;
    if (spec.window > 0) {
      capacity = std::min(capacity, spec.window - 1 + config_.max_step_tokens);
    }
    const std::int64_t heads = spec.kv_heads > 0 ? spec.kv_heads : config_.kv_heads;
    const std::int64_t k_dim = spec.head_dim > 0 ? spec.head_dim : config_.head_dim;
    const std::int64_t v_dim = spec.v_head_dim > 0 ? spec.v_head_dim : k_dim;
    const std::int64_t tokens = is_paged ? config_.paged->num_blocks * config_.paged->block_size
                                         : config_.max_seqs * capacity;
    std::int64_t& field =
        is_cross ? bytes.cross_kv : (is_paged ? bytes.paged_pools : bytes.continuous_kv);
    std::int64_t layer = 0;
    add_half(spec.k_quant.value_or(config_.k_quant), heads, k_dim, tokens, field, layer);
    add_half(spec.v_quant.value_or(config_.v_quant), heads, v_dim, tokens, field, layer);
    bytes.per_layer.push_back(layer);
    cross_rows_ += is_cross ? 1 : 0;
    has_paged_ = has_paged_ || is_paged;
    has_slot_rows_ = has_slot_rows_ || !is_paged;
  }

  void add_state(const KVLayerSpec& spec) {
    std::int64_t conv = 0;
    for (const KVConvSpec& window : spec.conv) {
      conv += std::int64_t{window.dim} * window.width *
              bits_per_element(spec.conv_dtype.value_or(config_.kv_dtype)) / 8;
    }
    const std::int64_t slab = std::int64_t{spec.recurrent.heads} * spec.recurrent.k_dim *
                              spec.recurrent.v_dim * bits_per_element(spec.state_dtype) / 8;
    bytes.conv += conv * config_.max_seqs;
    bytes.recurrent += slab * config_.max_seqs;
    bytes.bytes_per_slot += conv + slab;
    bytes.per_layer.push_back((conv + slab) * config_.max_seqs);
    has_slot_rows_ = true;
  }

  void add_tables() {
    const std::int64_t seqs = config_.max_seqs;
    std::int64_t cells = seqs + 2 * (seqs + 1);
    if (has_paged_) {
      const int size = config_.paged->block_size;
      const std::int64_t width = config_.paged->max_blocks_per_seq > 0
                                     ? config_.paged->max_blocks_per_seq
                                     : (config_.max_tokens_per_seq + size - 1) / size;
      cells += 2 * seqs * width + seqs;
    }
    if (has_slot_rows_) {
      cells += seqs;
    }
    if (cross_rows_ > 0) {
      cells += cross_rows_ * seqs + 2 * (seqs + 1) + seqs;
    }
    bytes.tables = 4 * cells;
  }

  KVCacheConfig config_;
  std::int64_t cross_rows_ = 0;
  bool has_paged_ = false;
  bool has_slot_rows_ = false;
};

TEST(Footprint, IsWhatTheDeviceIsAskedForClassByClass) {
  Random random(20'240'501);
  for (int i = 0; i < kCompositions; ++i) {
    const Composition composition = random_composition(random, 12);
    const KVCacheFootprint bytes = footprint(composition.config, composition.specs);
    auto device = std::make_shared<RecordingDevice>();
    {
      const KVStorage storage(make_kv_plan(composition.config, composition.specs), device);
      std::vector<std::int64_t> allocated(kNumStorageClasses, 0);
      const std::vector<KVAllocation>& allocations = storage.plan().allocations;
      ASSERT_EQ(device->sizes.size(), allocations.size()) << "composition " << i;
      for (std::size_t j = 0; j < allocations.size(); ++j) {
        allocated[static_cast<std::size_t>(allocations[j].storage_class)] += device->sizes[j];
      }
      ASSERT_EQ(allocated, by_class(bytes)) << "composition " << i;
      ASSERT_EQ(device->live_bytes, bytes.total()) << "composition " << i;
    }
    ASSERT_EQ(device->live_bytes, 0) << "composition " << i;
  }
}

TEST(Footprint, IsWhatACountOfEveryRowByHandGives) {
  Random random(7);
  int with_pools = 0;
  for (int i = 0; i < kCompositions; ++i) {
    const Composition composition = random_composition(random, 12);
    const KVCacheFootprint bytes = footprint(composition.config, composition.specs);
    ASSERT_EQ(by_class(bytes), by_class(HandCount(composition).bytes)) << "composition " << i;
    ASSERT_EQ(bytes, HandCount(composition).bytes) << "composition " << i;
    with_pools += bytes.paged_pools > 0 ? 1 : 0;
  }
  EXPECT_GT(with_pools, kCompositions / 4) << "the generator must reach what it is meant to test";
  EXPECT_LT(with_pools, kCompositions * 9 / 10);
}

TEST(Footprint, LayersAndTablesAddUpToTheTotal) {
  Random random(99);
  for (int i = 0; i < kCompositions; ++i) {
    const Composition composition = random_composition(random, 12);
    const KVCacheFootprint bytes = footprint(composition.config, composition.specs);
    ASSERT_EQ(std::accumulate(bytes.per_layer.begin(), bytes.per_layer.end(), bytes.tables),
              bytes.total());
  }
}

TEST(Footprint, ANullDeviceSeesOneAllocationATensorAndNoLeak) {
  Random random(3);
  auto device = std::make_shared<NullDevice>();
  std::int64_t asked = 0;
  std::int64_t largest = 0;
  for (int i = 0; i < 1000; ++i) {
    const Composition composition = random_composition(random, 10);
    KVPlan plan = make_kv_plan(composition.config, composition.specs);
    const std::int64_t total = plan.footprint.total();
    const KVStorage storage(std::move(plan), device);
    ASSERT_EQ(device->counters().live_bytes, total);
    asked += total;
    largest = std::max(largest, total);
  }
  EXPECT_EQ(device->counters().allocated_bytes, asked);
  EXPECT_EQ(device->counters().live_bytes_max, largest);
  EXPECT_EQ(device->counters().live_bytes, 0);
  EXPECT_EQ(device->counters().fills, 0) << "allocations are zero already";
}

TEST(Footprint, WhatWasTakenIsReturnedWhenALaterAllocationFails) {
  Random random(5);
  const Composition composition = random_composition(random, 8);
  const KVPlan plan = make_kv_plan(composition.config, composition.specs);
  for (std::size_t i = 0; i < plan.allocations.size(); ++i) {
    auto device = std::make_shared<RecordingDevice>(i);
    EXPECT_EQ(raised(ErrorCode::ResourceExhausted, [&] { KVStorage(plan, device); }), "refused");
    EXPECT_EQ(device->sizes.size(), i);
    EXPECT_EQ(device->live_bytes, 0);
  }
}

}  // namespace
}  // namespace octavo
