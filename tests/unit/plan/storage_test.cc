// The memory behind a plan: handles, what they tell the operations, and pools beyond 4 GiB.
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "octavo/kv_row_info.h"
#include "plan/kv_storage.h"
#include "plan_testing.h"
#include <gtest/gtest.h>

namespace octavo {
namespace {

using testing::raised;

KVCacheConfig small_config(int num_layers) {
  return {.num_layers = num_layers,
          .max_seqs = 3,
          .max_tokens_per_seq = 64,
          .max_step_tokens = 4,
          .kv_heads = 2,
          .head_dim = 8,
          .mode = KVCacheMode::Paged,
          .paged = PagedParams{.num_blocks = 5}};
}

KVStorage make_storage(const KVCacheConfig& config, const std::vector<KVLayerSpec>& specs) {
  return {make_kv_plan(config, specs), config.device};
}

TEST(KVStorage, HandlesHaveTheContractsShapes) {
  const KVStorage storage = make_storage(
      small_config(4), {{},
                        {.layout = Layout::Continuous, .v_head_dim = 4, .window = 10},
                        {.kind = KVLayerKind::CrossAttentionKV},
                        {.kind = KVLayerKind::State, .conv = {{6, 3}}, .recurrent = {2, 3, 4}}});
  EXPECT_EQ(storage.keys(0).shape(), (Dims{5, 2, 16, 8}));
  EXPECT_EQ(storage.values(0).shape(), (Dims{5, 2, 16, 8}));
  EXPECT_EQ(storage.keys(1).shape(), (Dims{3, 2, 13, 8}));
  EXPECT_EQ(storage.values(1).shape(), (Dims{3, 2, 13, 4}));
  EXPECT_EQ(storage.keys(2).shape(), (Dims{3, 2, 64, 8}));
  EXPECT_EQ(storage.conv_state(3).shape(), (Dims{3, 6, 3}));
  EXPECT_EQ(storage.recurrent_state(3).shape(), (Dims{3, 2, 3, 4}));
  EXPECT_EQ(storage.recurrent_state(3).dtype(), DType::F32);
  EXPECT_EQ(storage.table(storage.plan().tables.block_table).shape(), (Dims{3, 4}));
  EXPECT_FALSE(storage.table(-1).defined());
  for (const int layer : {0, 1, 2}) {
    EXPECT_TRUE(storage.keys(layer).is_contiguous());
    EXPECT_EQ(storage.keys(layer).dtype(), DType::BF16);
  }
}

TEST(KVStorage, NoTwoRowsOfAPoolOverlap) {
  const KVStorage storage = make_storage(small_config(3), {{}, {}, {}});
  std::uint16_t mark = 1;
  std::vector<Tensor> handles;
  for (int layer = 0; layer < 3; ++layer) {
    handles.push_back(storage.keys(layer));
    handles.push_back(storage.values(layer));
  }
  for (const Tensor& handle : handles) {
    EXPECT_TRUE(handle.shares_storage_with(handles[0]));
    std::fill_n(handle.data<std::uint16_t>(), handle.num_elements(), mark++);
  }
  mark = 1;
  for (const Tensor& handle : handles) {
    const auto values = handle.to_vector<std::uint16_t>();
    EXPECT_EQ(values, std::vector<std::uint16_t>(values.size(), mark++));
  }
}

TEST(KVStorage, HandlesTellTheOperationsWhatTheyAre) {
  KVCacheConfig config = small_config(2);
  config.k_quant = {.codec = KVCodec::Int4};
  config.v_quant = {.codec = KVCodec::E4M3, .scale = KVScale::Static};
  const KVStorage storage =
      make_storage(config, {{.window = 20, .v_scale = {0.25F, 0.5F}},
                            {.layout = Layout::Continuous, .window = 20, .v_scale = {2.0F}}});
  const Tensor keys = storage.keys(0);
  EXPECT_EQ(keys.dtype(), DType::UInt8);
  EXPECT_EQ(keys.shape(), (Dims{5, 2, 16, 4})) << "int4: the last dimension is halved";
  ASSERT_NE(keys.row_info(), nullptr);
  EXPECT_EQ(keys.row_info()->layout, Layout::Paged);
  EXPECT_EQ(keys.row_info()->block_size, 16);
  EXPECT_EQ(keys.row_info()->window, 20);
  EXPECT_EQ(keys.row_info()->codec, KVCodec::Int4);
  EXPECT_EQ(keys.row_info()->scales.shape(), (Dims{5, 2, 16}));
  const Tensor values = storage.values(0);
  EXPECT_EQ(values.dtype(), DType::E4M3);
  EXPECT_EQ(values.row_info()->scale, KVScale::Static);
  EXPECT_EQ(values.row_info()->scales.to_vector<float>(), (std::vector<float>{0.25F, 0.5F}));
  const Tensor continuous = storage.values(1);
  EXPECT_EQ(continuous.row_info()->layout, Layout::Continuous);
  EXPECT_EQ(continuous.row_info()->capacity, 23);
  EXPECT_EQ(continuous.row_info()->block_size, 0);
  EXPECT_EQ(continuous.row_info()->scales.to_vector<float>(), (std::vector<float>{2.0F, 2.0F}));
  EXPECT_FALSE(make_storage(small_config(1), {{}}).keys(0).row_info()->scales.defined());
}

TEST(KVStorage, HandlesOutliveTheStorage) {
  auto device = std::make_shared<NullDevice>();
  KVCacheConfig config = small_config(1);
  config.device = device;
  Tensor kept;
  {
    const KVStorage storage = make_storage(config, {{}});
    kept = storage.keys(0);
  }
  EXPECT_EQ(device->counters().live_bytes, 2 * 5 * 2 * 16 * 8 * 2) << "the pool, and no table";
  kept = {};
  EXPECT_EQ(device->counters().live_bytes, 0);
}

TEST(KVStorage, AMovedFromOneHasNoRows) {
  KVStorage storage = make_storage(small_config(1), {{}});
  const KVStorage taken = std::move(storage);
  EXPECT_TRUE(taken.keys(0).defined());
  EXPECT_EQ(raised(ErrorCode::InvalidArgument, [&] { storage.keys(0); }),  // NOLINT: on purpose
            "keys: layer 0 is outside [0, 0)");
}

TEST(KVStorage, AccessorsNameTheLayerAndTheCount) {
  const KVStorage storage =
      make_storage(small_config(3), {{},
                                     {.kind = KVLayerKind::State, .conv = {{6, 3}}},
                                     {.kind = KVLayerKind::CrossAttentionKV}});
  const auto refusal = [](const auto& call) { return raised(ErrorCode::InvalidArgument, call); };
  EXPECT_EQ(refusal([&] { storage.keys(3); }), "keys: layer 3 is outside [0, 3)");
  EXPECT_EQ(refusal([&] { storage.values(-1); }), "values: layer -1 is outside [0, 3)");
  EXPECT_EQ(refusal([&] { storage.conv_state(7); }), "conv_state: layer 7 is outside [0, 3)");
  EXPECT_EQ(refusal([&] { storage.recurrent_state(7); }),
            "recurrent_state: layer 7 is outside [0, 3)");
  EXPECT_EQ(refusal([&] { storage.values(1); }),
            "values: layer 1 is a State row; it must be an AttentionKV or CrossAttentionKV row");
  EXPECT_EQ(refusal([&] { storage.conv_state(2); }),
            "conv_state: layer 2 has kind CrossAttentionKV; it must be a State row");
  EXPECT_EQ(refusal([&] { storage.conv_state(1, 1); }),
            "conv_state: index 1 is outside [0, 1) of layer 1");
  EXPECT_EQ(refusal([&] { storage.conv_state(1, -1); }),
            "conv_state: index -1 is outside [0, 1) of layer 1");
  EXPECT_EQ(refusal([&] { storage.recurrent_state(1); }),
            "recurrent_state: layer 1 is a State row that declared no recurrent slab");
}

// 70,000 blocks of 64 tokens, 8 heads of 128 in bf16 are 9.2 GB of keys: the offset of the last
// block does not fit into 32 bits, neither in bytes nor in elements.
TEST(KVStorage, TheLastBlockOfANineGigabytePoolCanBeWrittenAndRead) {
  KVCacheConfig config = small_config(1);
  config.kv_heads = 8;
  config.head_dim = 128;
  config.paged = PagedParams{.num_blocks = 70'000, .block_size = 64};
  std::optional<KVStorage> storage;
  try {
    storage.emplace(make_storage(config, {{}}));
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), ErrorCode::ResourceExhausted) << error.what();
    GTEST_SKIP() << "this system gives no address space beyond its memory: " << error.what();
  }
  const std::int64_t elements = 70'000LL * 8 * 64 * 128;
  ASSERT_EQ(storage->keys(0).num_elements(), elements);
  ASSERT_EQ(storage->values(0).byte_offset(), 9'175'040'000LL);
  std::uint16_t mark = 100;
  for (const Tensor& half : {storage->keys(0), storage->values(0)}) {
    const Tensor block = half.select(0, 69'999);
    EXPECT_EQ(block.byte_offset() - half.byte_offset(), 69'999LL * 8 * 64 * 128 * 2);
    EXPECT_EQ(block.to_vector<std::uint16_t>(), std::vector<std::uint16_t>(65'536, 0));
    std::fill_n(block.data<std::uint16_t>(), block.num_elements(), mark++);
  }
  mark = 100;
  for (const Tensor& half : {storage->keys(0), storage->values(0)}) {
    const std::uint16_t* data = half.data<std::uint16_t>();
    EXPECT_EQ(data[elements - 1], mark);
    EXPECT_EQ(data[elements - 65'536], mark++);
    EXPECT_EQ(data[elements - 65'537], 0) << "nothing before the block";
    // Where 32-bit arithmetic would have put the block.
    EXPECT_EQ(data[(elements - 65'536) & 0xFFFFFFFF], 0);
    EXPECT_EQ(data[((elements - 65'536) * 2 & 0xFFFFFFFF) / 2], 0);
  }
}

}  // namespace
}  // namespace octavo
