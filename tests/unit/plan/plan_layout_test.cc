// How compositions resolve: layouts, pools, capacities, tables.
#include <vector>

#include "plan/kv_plan.h"
#include "plan_testing.h"
#include <gtest/gtest.h>

namespace octavo {
namespace {

const KVAllocation& at(const KVPlan& plan, int allocation) {
  return plan.allocations.at(static_cast<std::size_t>(allocation));
}

KVCacheConfig paged_config(int num_layers) {
  return {.num_layers = num_layers,
          .max_seqs = 4,
          .max_tokens_per_seq = 100,
          .max_step_tokens = 8,
          .kv_heads = 2,
          .head_dim = 64,
          .mode = KVCacheMode::Paged,
          .paged = PagedParams{.num_blocks = 32}};
}

KVCacheConfig continuous_config(int num_layers) {
  KVCacheConfig config = paged_config(num_layers);
  config.mode = KVCacheMode::Continuous;
  config.paged.reset();
  return config;
}

TEST(KVPlan, AutoFollowsTheModeAndPinsDoNot) {
  const std::vector<KVLayerSpec> specs = {
      {}, {.layout = Layout::Continuous}, {.layout = Layout::Paged}};
  KVCacheConfig config = paged_config(3);
  KVPlan plan = make_kv_plan(config, specs);
  EXPECT_EQ(plan.rows[0].layout, Layout::Paged);
  EXPECT_EQ(plan.rows[1].layout, Layout::Continuous);
  EXPECT_EQ(plan.rows[2].layout, Layout::Paged);
  config.mode = KVCacheMode::Continuous;
  plan = make_kv_plan(config, specs);
  EXPECT_EQ(plan.rows[0].layout, Layout::Continuous);
  EXPECT_EQ(plan.rows[1].layout, Layout::Continuous);
  EXPECT_EQ(plan.rows[2].layout, Layout::Paged);
}

TEST(KVPlan, CrossAndStateRowsAreContinuousInAPagedCache) {
  const std::vector<KVLayerSpec> specs = {
      {.kind = KVLayerKind::CrossAttentionKV}, {.kind = KVLayerKind::State, .conv = {{8, 3}}}, {}};
  const KVPlan plan = make_kv_plan(paged_config(3), specs);
  EXPECT_EQ(plan.rows[0].layout, Layout::Continuous);
  EXPECT_EQ(plan.rows[0].capacity, 100);
  EXPECT_EQ(plan.rows[1].layout, Layout::Continuous);
  EXPECT_EQ(plan.rows[2].layout, Layout::Paged);
}

TEST(KVPlan, RowsInheritWhatTheyDoNotSay) {
  const std::vector<KVLayerSpec> specs = {
      {}, {.kv_heads = 8}, {.head_dim = 128}, {.head_dim = 96, .v_head_dim = 32}};
  const KVPlan plan = make_kv_plan(continuous_config(4), specs);
  const int heads[] = {2, 8, 2, 2};
  const int k_dims[] = {64, 64, 128, 96};
  const int v_dims[] = {64, 64, 128, 32};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(plan.rows[i].kv_heads, heads[i]);
    EXPECT_EQ(at(plan, plan.rows[i].keys.place.allocation).shape,
              (Dims{4, heads[i], 100, k_dims[i]}));
    EXPECT_EQ(at(plan, plan.rows[i].values.place.allocation).shape,
              (Dims{4, heads[i], 100, v_dims[i]}));
  }
}

TEST(KVPlan, KeysAndValuesOfAllRowsOfAGeometryShareOnePool) {
  const std::vector<KVLayerSpec> specs(3);
  const KVPlan plan = make_kv_plan(paged_config(3), specs);
  ASSERT_EQ(plan.pools.size(), 1U);
  EXPECT_EQ(at(plan, plan.pools[0].allocation).shape, (Dims{6, 32, 2, 16, 64}));
  EXPECT_EQ(plan.pools[0].scale_allocation, -1);
  for (int layer = 0; layer < 3; ++layer) {
    const KVRowPlan& row = plan.rows[static_cast<std::size_t>(layer)];
    EXPECT_EQ(row.keys.place.allocation, plan.pools[0].allocation);
    EXPECT_EQ(row.keys.place.member, 2 * layer);
    EXPECT_EQ(row.values.place.member, 2 * layer + 1);
  }
}

TEST(KVPlan, EveryDistinctHeadsDimAndStorageTypeHasItsPool) {
  const KVQuantSpec fp8 = {.codec = KVCodec::E4M3};
  const KVQuantSpec int4 = {.codec = KVCodec::Int4};
  const std::vector<KVLayerSpec> specs = {
      {},                                  // pool 0: 2 heads, 64, bf16
      {.kv_heads = 4},                     // pool 1: 4 heads
      {.head_dim = 128},                   // pool 2: 128 wide
      {.k_quant = fp8},                    // keys pool 3: e4m3; values pool 0
      {.kv_heads = 2, .head_dim = 64},     // pool 0, said in full
      {.k_quant = int4, .v_quant = int4},  // pool 4: uint8, 32 bytes a row
      {.window = 8},                       // pool 0: a window is no geometry
  };
  const KVPlan plan = make_kv_plan(paged_config(7), specs);
  ASSERT_EQ(plan.pools.size(), 5U);
  const int members[] = {7, 2, 2, 1, 2};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(plan.pools[i].members, members[i]) << i;
    EXPECT_EQ(at(plan, plan.pools[i].allocation).shape[1], 32) << "a block is one in every pool";
  }
  EXPECT_EQ(plan.rows[3].keys.pool, 3);
  EXPECT_EQ(plan.rows[3].values.pool, 0);
  EXPECT_EQ(at(plan, plan.pools[4].allocation).dtype, DType::UInt8);
  EXPECT_EQ(at(plan, plan.pools[4].allocation).shape, (Dims{2, 32, 2, 16, 32}));
}

TEST(KVPlan, PerTokenScalesHaveTheShapeOfTheRowWithoutItsLastDimension) {
  const KVQuantSpec int8 = {.codec = KVCodec::Int8};
  const std::vector<KVLayerSpec> specs = {{.k_quant = int8, .v_quant = int8},
                                          {.layout = Layout::Continuous, .v_quant = int8}};
  const KVPlan plan = make_kv_plan(paged_config(2), specs);
  const KVAllocation& pool_scales = at(plan, plan.pools[0].scale_allocation);
  EXPECT_EQ(pool_scales.shape, (Dims{2, 32, 2, 16}));
  EXPECT_EQ(pool_scales.dtype, DType::F32);
  EXPECT_EQ(plan.rows[0].values.scales.member, 1);
  EXPECT_EQ(plan.rows[1].keys.scales.allocation, -1);
  EXPECT_EQ(at(plan, plan.rows[1].values.scales.allocation).shape, (Dims{4, 2, 100}));
}

TEST(KVPlan, OnlyMembersWithPerTokenScalesHaveThem) {
  const KVQuantSpec fixed = {.codec = KVCodec::E5M2, .scale = KVScale::Static};
  const KVQuantSpec dynamic = {.codec = KVCodec::E5M2};
  const std::vector<KVLayerSpec> specs = {
      {.k_quant = fixed, .v_quant = dynamic, .k_scale = {0.5F}}};
  const KVPlan plan = make_kv_plan(paged_config(1), specs);
  ASSERT_EQ(plan.pools.size(), 1U);
  EXPECT_EQ(plan.pools[0].members, 2);
  EXPECT_EQ(plan.pools[0].scale_members, 1);
  EXPECT_EQ(plan.rows[0].values.scales.member, 0);
  EXPECT_EQ(at(plan, plan.rows[0].keys.scales.allocation).shape, (Dims{2}));
  EXPECT_EQ(plan.rows[0].keys.static_scales, (std::vector<float>{0.5F, 0.5F}));
}

TEST(KVPlan, AWindowedContinuousRowHoldsTheWindowAndOneStep) {
  const std::vector<KVLayerSpec> specs = {{.window = 32}, {.window = 96}, {}};
  KVCacheConfig config = continuous_config(3);
  KVPlan plan = make_kv_plan(config, specs);
  EXPECT_EQ(plan.rows[0].capacity, 32 - 1 + 8);
  EXPECT_EQ(plan.rows[1].capacity, 100) << "capped by max_tokens_per_seq";
  EXPECT_EQ(plan.rows[2].capacity, 100);
  config.max_step_tokens = 1;
  plan = make_kv_plan(config, specs);
  EXPECT_EQ(plan.rows[0].capacity, 32);
  EXPECT_EQ(plan.rows[1].capacity, 96);
  config.max_tokens_per_seq = 0;
  config.num_layers = 2;
  plan = make_kv_plan(config, std::span(specs).first(2));
  EXPECT_EQ(plan.rows[1].capacity, 96) << "no limit, no cap";
}

TEST(KVPlan, TheBlockTableIsAsWideAsTheLongestSequenceNeeds) {
  const std::vector<KVLayerSpec> specs(1);
  KVCacheConfig config = paged_config(1);
  KVPlan plan = make_kv_plan(config, specs);
  EXPECT_EQ(plan.max_blocks_per_seq, 7) << "ceil(100 / 16)";
  EXPECT_EQ(at(plan, plan.tables.block_table).shape, (Dims{4, 7}));
  EXPECT_EQ(at(plan, plan.tables.block_table).dtype, DType::Int32);
  EXPECT_EQ(plan.rows[0].capacity, 112);
  config.max_tokens_per_seq = 0;
  EXPECT_EQ(make_kv_plan(config, specs).max_blocks_per_seq, 32) << "as many as the pool has";
  config.paged->max_blocks_per_seq = 5;
  EXPECT_EQ(make_kv_plan(config, specs).max_blocks_per_seq, 5);
}

TEST(KVPlan, TablesAreThoseThatTheCompositionNeeds) {
  const std::vector<KVLayerSpec> paged_only(1);
  KVPlan plan = make_kv_plan(paged_config(1), paged_only);
  EXPECT_GE(plan.tables.block_table, 0);
  EXPECT_GE(plan.tables.reserve_offsets, 0);
  EXPECT_EQ(plan.tables.slot_ids, -1);
  EXPECT_EQ(plan.tables.cross_lens, -1);

  const std::vector<KVLayerSpec> continuous_only(1);
  plan = make_kv_plan(continuous_config(1), continuous_only);
  EXPECT_EQ(plan.tables.block_table, -1);
  EXPECT_EQ(plan.tables.step_block_table, -1);
  EXPECT_EQ(plan.tables.reserve_offsets, -1);
  EXPECT_EQ(at(plan, plan.tables.slot_ids).shape, (Dims{4}));
  EXPECT_EQ(at(plan, plan.tables.cu_seqlens_q).shape, (Dims{5}));
  EXPECT_TRUE(plan.pools.empty());

  const std::vector<KVLayerSpec> decoder = {
      {}, {.kind = KVLayerKind::CrossAttentionKV}, {.kind = KVLayerKind::CrossAttentionKV}};
  plan = make_kv_plan(paged_config(3), decoder);
  EXPECT_EQ(at(plan, plan.tables.cross_lens).shape, (Dims{2, 4}));
  EXPECT_EQ(plan.rows[2].cross_index, 1);
  EXPECT_GE(plan.tables.slot_ids, 0) << "cross rows are found by slot";
}

TEST(KVPlan, PrefixesAreServedOnlyWhenEveryRowCanAnswerForThem) {
  const auto serves = [](const KVCacheConfig& config, const std::vector<KVLayerSpec>& specs) {
    return make_kv_plan(config, specs).serves_prefixes;
  };
  KVCacheConfig config = paged_config(2);
  EXPECT_TRUE(serves(config, {{}, {}}));
  EXPECT_TRUE(serves(config, {{}, {.window = 8}})) << "a window that only masks";
  EXPECT_FALSE(serves(config, {{}, {.layout = Layout::Continuous}}));
  EXPECT_FALSE(serves(config, {{}, {.kind = KVLayerKind::State, .conv = {{8, 3}}}}));
  EXPECT_FALSE(serves(config, {{}, {.kind = KVLayerKind::CrossAttentionKV}}));
  config.paged->prefix_caching = false;
  EXPECT_FALSE(serves(config, {{}, {}}));
  config.paged->prefix_caching = true;
  config.paged->window = 8;
  EXPECT_FALSE(serves(config, {{.window = 8}, {.window = 4}}));
}

TEST(KVPlan, StateRowsHaveOneSlabASlotAndTheirOwnTypes) {
  const std::vector<KVLayerSpec> specs = {
      {.kind = KVLayerKind::State, .conv = {{96, 3}, {32, 2}}, .recurrent = {4, 8, 16}},
      {.kind = KVLayerKind::State,
       .recurrent = {4, 8, 16},
       .conv_dtype = DType::F32,
       .state_dtype = DType::BF16}};
  const KVPlan plan = make_kv_plan(continuous_config(2), specs);
  EXPECT_EQ(at(plan, plan.rows[0].conv_allocations[0]).shape, (Dims{4, 96, 3}));
  EXPECT_EQ(at(plan, plan.rows[0].conv_allocations[1]).shape, (Dims{4, 32, 2}));
  EXPECT_EQ(at(plan, plan.rows[0].conv_allocations[1]).dtype, DType::BF16) << "the config's";
  EXPECT_EQ(at(plan, plan.rows[0].recurrent_allocation).shape, (Dims{4, 4, 8, 16}));
  EXPECT_EQ(at(plan, plan.rows[0].recurrent_allocation).dtype, DType::F32);
  EXPECT_EQ(at(plan, plan.rows[1].recurrent_allocation).dtype, DType::BF16);
  EXPECT_TRUE(plan.rows[1].conv_allocations.empty());
}

TEST(KVPlan, EnumeratorsAreNamed) {
  EXPECT_EQ(to_string(KVCacheMode::Paged), "Paged");
  EXPECT_EQ(to_string(Layout::Auto), "Auto");
  EXPECT_EQ(to_string(KVLayerKind::State), "State");
  EXPECT_EQ(to_string(KVCodec::E5M2), "E5M2");
  EXPECT_EQ(to_string(KVScale::Static), "Static");
  EXPECT_EQ(to_string(StorageClass::QuantScales), "quant_scales");
}

}  // namespace
}  // namespace octavo
