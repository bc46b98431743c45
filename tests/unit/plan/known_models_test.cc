// Figures of published models, worked out by hand from their configurations, against the footprint.
#include <cstdint>
#include <vector>

#include "octavo/kv_footprint.h"
#include "plan_testing.h"
#include <gtest/gtest.h>

namespace octavo {
namespace {

KVCacheConfig paged(int layers, int kv_heads, int head_dim) {
  return {.num_layers = layers,
          .max_seqs = 16,
          .max_tokens_per_seq = 8192,
          .max_step_tokens = 1,
          .kv_heads = kv_heads,
          .head_dim = head_dim,
          .mode = KVCacheMode::Paged,
          .paged = PagedParams{.num_blocks = 1000}};
}

std::int64_t bytes_per_block(int layers, int kv_heads, int head_dim) {
  const std::vector<KVLayerSpec> specs(static_cast<std::size_t>(layers));
  return footprint(paged(layers, kv_heads, head_dim), specs).bytes_per_block;
}

// Attention rows where `is_attention` says so, else the given state row.
std::vector<KVLayerSpec> hybrid(int layers,
                                int attention_every,
                                int attention_at,
                                const KVLayerSpec& state) {
  std::vector<KVLayerSpec> specs;
  for (int layer = 0; layer < layers; ++layer) {
    specs.push_back(layer % attention_every == attention_at ? KVLayerSpec{} : state);
  }
  return specs;
}

TEST(KnownModels, UniformOnesTakeTheirBytesPerTokenTimesTheBlock) {
  EXPECT_EQ(bytes_per_block(32, 8, 128), 131'072 * 16) << "Llama 3.1 8B: 2 MiB";
  EXPECT_EQ(bytes_per_block(80, 8, 128), 327'680 * 16) << "Llama 3.1 70B, Qwen2.5 72B";
  EXPECT_EQ(bytes_per_block(126, 8, 128), 516'096 * 16) << "Llama 3.1 405B";
  EXPECT_EQ(bytes_per_block(48, 4, 128), 98'304 * 16) << "Qwen3 30B-A3B";
  EXPECT_EQ(bytes_per_block(94, 4, 128), 192'512 * 16) << "Qwen3 235B-A22B";
}

TEST(KnownModels, Llama8BInAThousandBlocks) {
  const std::vector<KVLayerSpec> specs(32);
  const KVCacheFootprint bytes = footprint(paged(32, 8, 128), specs);
  EXPECT_EQ(bytes.paged_pools, 1000 * 2'097'152LL);
  EXPECT_EQ(bytes.bytes_per_slot, 0);
  EXPECT_EQ(bytes.per_layer, std::vector<std::int64_t>(32, 1000 * 65'536LL));
  // Two tables of 16 x 512 cells, offsets and lengths of 16, two cumulative ones of 17.
  EXPECT_EQ(bytes.tables, 4 * (2 * 16 * 512 + 2 * 16 + 2 * 17));
  EXPECT_EQ(bytes.total(), bytes.paged_pools + bytes.tables);
}

TEST(KnownModels, EightBitsHalveABlockAndFourBitsQuarterIt) {
  const std::vector<KVLayerSpec> specs(32);
  KVCacheConfig config = paged(32, 8, 128);
  const std::int64_t rows = 2LL * 32 * 8 * 16;  // K and V, layers, heads, tokens of a block
  config.k_quant = config.v_quant = {.codec = KVCodec::Int8};
  EXPECT_EQ(footprint(config, specs).bytes_per_block, rows * (128 + 4));
  config.k_quant = config.v_quant = {.codec = KVCodec::Int4};
  EXPECT_EQ(footprint(config, specs).bytes_per_block, rows * (64 + 4));
  config.k_quant = config.v_quant = {.codec = KVCodec::E4M3, .scale = KVScale::Static};
  std::vector<KVLayerSpec> scaled(32, KVLayerSpec{.k_scale = {1.0F}, .v_scale = {1.0F}});
  const KVCacheFootprint bytes = footprint(config, scaled);
  EXPECT_EQ(bytes.bytes_per_block, 1 << 20);
  EXPECT_EQ(bytes.quant_scales, 32 * 2 * 8 * 4) << "one a head, and none a token";
}

TEST(KnownModels, Gemma3WindowsStopGrowing) {
  // 62 layers, every sixth of which attends over everything; 16 heads of 128.
  std::vector<KVLayerSpec> specs;
  for (int layer = 0; layer < 62; ++layer) {
    specs.push_back({.window = layer % 6 == 5 ? 0 : 1024});
  }
  KVCacheConfig config = paged(62, 16, 128);
  config.mode = KVCacheMode::Continuous;
  for (const std::int64_t tokens : {512, 1024, 8192, 131072}) {
    config.max_tokens_per_seq = tokens;
    const KVCacheFootprint bytes = footprint(config, specs);
    EXPECT_EQ(bytes.bytes_per_slot,
              81'920 * tokens + 425'984 * std::min<std::int64_t>(tokens, 1024));
    EXPECT_EQ(bytes.continuous_kv, 16 * bytes.bytes_per_slot);
    EXPECT_EQ(bytes.paged_pools, 0);
  }
  config.max_step_tokens = 2048;
  EXPECT_EQ(footprint(config, specs).bytes_per_slot, 81'920LL * 131072 + 425'984 * (1023 + 2048));
}

TEST(KnownModels, Gemma2AndGptOssAlternate) {
  const auto per_slot = [](int layers, int kv_heads, int head_dim, int window, int tokens) {
    std::vector<KVLayerSpec> specs;
    for (int layer = 0; layer < layers; ++layer) {
      specs.push_back({.window = layer % 2 == 0 ? window : 0});
    }
    KVCacheConfig config = paged(layers, kv_heads, head_dim);
    config.mode = KVCacheMode::Continuous;
    config.max_tokens_per_seq = tokens;
    return footprint(config, specs).bytes_per_slot;
  };
  EXPECT_EQ(per_slot(42, 8, 256, 4096, 8192), 172'032LL * 8192 + 172'032LL * 4096);
  EXPECT_EQ(per_slot(24, 8, 64, 128, 8192), 24'576LL * 8192 + 24'576 * 128) << "gpt-oss 20b";
  EXPECT_EQ(per_slot(36, 8, 64, 128, 8192), 36'864LL * 8192 + 36'864 * 128) << "gpt-oss 120b";
}

TEST(KnownModels, MistralIsAllWindowAndNeedsNoTokenLimit) {
  const std::vector<KVLayerSpec> specs(32, KVLayerSpec{.window = 4096});
  KVCacheConfig config = paged(32, 8, 128);
  config.mode = KVCacheMode::Continuous;
  config.max_tokens_per_seq = 0;
  EXPECT_EQ(footprint(config, specs).bytes_per_slot, 131'072LL * 4096);
}

// Gated delta net: conv (2 * k_heads * k_dim + v_heads * v_dim) x (kernel - 1), slab v_heads x
// k_dim x v_dim in F32.
TEST(KnownModels, Qwen3NextHasStateOnThreeOfFourLayers) {
  const KVLayerSpec state = {.kind = KVLayerKind::State,
                             .conv = {{2 * 16 * 128 + 32 * 128, 3}},
                             .recurrent = {32, 128, 128}};
  const KVCacheFootprint bytes = footprint(paged(48, 2, 256), hybrid(48, 4, 3, state));
  EXPECT_EQ(bytes.bytes_per_block, 24'576 * 16);
  EXPECT_EQ(bytes.bytes_per_slot, 77'266'944) << "77.27 MB";
  EXPECT_EQ(bytes.conv, 16 * 36 * 49'152);
  EXPECT_EQ(bytes.recurrent, 16 * 36 * 2'097'152LL);
  EXPECT_EQ(bytes.per_layer[0], 16 * (49'152 + 2'097'152LL));
  EXPECT_EQ(bytes.per_layer[3], 1000 * 16 * 2'048LL);
}

TEST(KnownModels, Qwen35HasStateOnThreeOfFourLayers) {
  const KVLayerSpec state = {.kind = KVLayerKind::State,
                             .conv = {{2 * 16 * 128 + 48 * 128, 3}},
                             .recurrent = {48, 128, 128}};
  const KVCacheFootprint bytes = footprint(paged(64, 4, 256), hybrid(64, 4, 3, state));
  EXPECT_EQ(bytes.bytes_per_block, 65'536 * 16);
  EXPECT_EQ(bytes.bytes_per_slot, 153'944'064) << "153.94 MB";
}

TEST(KnownModels, JambaMiniHasOneAttentionLayerInEight) {
  // Mamba: inner width 8192, kernel 4, state 16, in bf16.
  const KVLayerSpec state = {.kind = KVLayerKind::State,
                             .conv = {{8192, 3}},
                             .recurrent = {1, 8192, 16},
                             .state_dtype = DType::BF16};
  const KVCacheFootprint bytes = footprint(paged(32, 8, 128), hybrid(32, 8, 4, state));
  EXPECT_EQ(bytes.bytes_per_block, 16'384 * 16);
  EXPECT_EQ(bytes.bytes_per_slot, 8'716'288) << "8.72 MB";
}

TEST(KnownModels, WhisperKeepsTheEncodersFramesBesideItsOwnTokens) {
  // 32 decoder layers of 20 heads of 64; the encoder gives 1500 frames, the decoder at most 448
  // tokens: cross rows are sized by max_tokens_per_seq and not by the decoder's row of blocks.
  std::vector<KVLayerSpec> specs(64);
  for (std::size_t i = 1; i < specs.size(); i += 2) {
    specs[i].kind = KVLayerKind::CrossAttentionKV;
  }
  KVCacheConfig config = paged(64, 20, 64);
  config.max_tokens_per_seq = 1500;
  config.paged->max_blocks_per_seq = 448 / 16;
  const KVCacheFootprint bytes = footprint(config, specs);
  EXPECT_EQ(bytes.bytes_per_block, 163'840 * 16);
  EXPECT_EQ(bytes.bytes_per_slot, 245'760'000) << "245.76 MB";
  EXPECT_EQ(bytes.cross_kv, 16 * 245'760'000LL);
  EXPECT_EQ(bytes.continuous_kv, 0);
  EXPECT_EQ(bytes.per_layer[1], 16 * 1500 * 2 * 20 * 64 * 2LL);
}

TEST(KnownModels, StateOfEverySlotIsInTheFootprint) {
  // A hybrid whose slabs dwarf its pool: what the slots need must not be forgotten over the blocks.
  const KVLayerSpec state = {.kind = KVLayerKind::State, .recurrent = {64, 128, 128}};
  KVCacheConfig config = paged(2, 1, 64);
  config.max_seqs = 256;
  config.paged->num_blocks = 16;
  const KVCacheFootprint bytes = footprint(config, std::vector<KVLayerSpec>{{}, state});
  EXPECT_EQ(bytes.recurrent, 256 * 64 * 128 * 128 * 4LL);
  EXPECT_GT(bytes.recurrent, 1000 * bytes.paged_pools);
  EXPECT_EQ(bytes.bytes_per_slot, bytes.recurrent / 256);
}

TEST(KnownModels, NineGigabytesOfKeysAreCountedIn64Bits) {
  KVCacheConfig config = paged(1, 8, 128);
  config.paged = PagedParams{.num_blocks = 70'000, .block_size = 64};
  const KVCacheFootprint bytes = footprint(config, std::vector<KVLayerSpec>(1));
  EXPECT_EQ(bytes.paged_pools, 2 * 9'175'040'000LL);
}

TEST(KnownModels, HeadsAreARanksOwnShare) {
  EXPECT_EQ(bytes_per_block(80, 8 / 4, 128) * 4, bytes_per_block(80, 8, 128));
}

}  // namespace
}  // namespace octavo
