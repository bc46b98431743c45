#include "octavo/sim/capacity.h"

#include <cmath>
#include <limits>
#include <string>

#include "configs.h"
#include "octavo/error.h"
#include "octavo/kv_footprint.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

using testing::gemma2;
using testing::Json;
using testing::llama;
using testing::mistral;
using testing::qwen3;

constexpr double kGib = 1073741824.0;

ModelConfig model(const Json& json) {
  return parse_model_config(json.dump(), "model.json");
}

PlanRequest request_of(const Json& json, double kv_budget_gib) {
  PlanRequest request;
  request.model = model(json);
  request.gpu = find_gpu("h100");
  request.kv_budget_gib = kv_budget_gib;
  return request;
}

std::string error_of(const PlanRequest& request) {
  try {
    plan_capacity(request);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.what();
  }
  return "no error";
}

TEST(Capacity, DividesTheBudgetIntoBlocksTokensAndRequests) {
  PlanRequest request = request_of(llama(), 3.81);
  request.max_len = 20000;
  const CapacityPlan plan = plan_capacity(request);
  EXPECT_EQ(plan.bytes_per_token, 131072);
  EXPECT_EQ(plan.bytes_per_block, 16 * 131072);
  EXPECT_EQ(plan.expected.budget_bytes, std::llround(3.81 * kGib));
  EXPECT_EQ(plan.expected.blocks, 1950);
  EXPECT_EQ(plan.expected.tokens, 31200);
  EXPECT_EQ(plan.blocks_per_request, 1250);
  EXPECT_DOUBLE_EQ(plan.expected.concurrency, 1950.0 / 1250.0);
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.limited_by, LimitedBy::TokenPool);
  EXPECT_EQ(plan.missing_bytes, 0);
  EXPECT_EQ(plan.bytes_per_sequence, 0);
}

TEST(Capacity, BlocksAreWhatTheLibraryWouldAllocate) {
  const PlanRequest request = request_of(qwen3(), 18.69);
  const CapacityPlan plan = plan_capacity(request);
  RowOptions options;
  options.num_blocks = plan.expected.blocks;
  options.max_len = plan.request.max_len;
  const KvRows rows = make_kv_rows(request.model, options);
  const std::int64_t pools = footprint(rows.config, rows.specs).paged_pools;
  EXPECT_LE(pools, plan.expected.budget_bytes);
  EXPECT_GT(pools + plan.bytes_per_block, plan.expected.budget_bytes);
}

TEST(Capacity, TensorParallelRanksShareTheHeadsAndThenReplicateThem) {
  const ModelConfig llama_model = model(llama());
  EXPECT_EQ(kv_heads_per_rank(llama_model, 1), 8);
  EXPECT_EQ(kv_heads_per_rank(llama_model, 8), 1);
  EXPECT_EQ(kv_heads_per_rank(llama_model, 32), 1);
  for (const std::int64_t tp : {0, -1, 3, 5, 24, 33, 64}) {
    EXPECT_THROW(kv_heads_per_rank(llama_model, tp), Error) << tp;
  }
  PlanRequest request = request_of(llama(), 4);
  request.tp = 4;
  EXPECT_EQ(plan_capacity(request).bytes_per_token, 131072 / 4);
  request.tp = 16;
  EXPECT_EQ(plan_capacity(request).bytes_per_token, 131072 / 8);
  request.tp = 3;
  EXPECT_NE(error_of(request).find("tp is 3, expected a divisor of the model's 32 attention heads"),
            std::string::npos);
}

TEST(Capacity, TpMustSuitTheKvHeadsToo) {
  Json json = llama();
  json["num_attention_heads"] = 24;
  json["num_key_value_heads"] = 6;
  json["head_dim"] = 128;
  EXPECT_EQ(kv_heads_per_rank(model(json), 3), 2);
  EXPECT_EQ(kv_heads_per_rank(model(json), 12), 1);
  EXPECT_THROW(kv_heads_per_rank(model(json), 4), Error);  // divides 24, but 6 heads in four?
}

TEST(Capacity, KvDtypesCarryTheirScales) {
  const auto bytes = [](const char* name) {
    PlanRequest request = request_of(llama(), 40);
    request.format = parse_kv_format(name);
    return plan_capacity(request).bytes_per_token;
  };
  const std::int64_t elements = 32 * 2 * 8 * 128;
  const std::int64_t heads = 32 * 2 * 8;
  EXPECT_EQ(bytes("bf16"), 2 * elements);
  EXPECT_EQ(bytes("f16"), 2 * elements);
  EXPECT_EQ(bytes("f32"), 4 * elements);
  EXPECT_EQ(bytes("fp8"), elements);
  EXPECT_EQ(bytes("fp8_e5m2"), elements);
  EXPECT_EQ(bytes("int8"), elements + 4 * heads);
  EXPECT_EQ(bytes("int4"), elements / 2 + 4 * heads);
  EXPECT_THROW(parse_kv_format("bf8"), Error);
  EXPECT_THROW(parse_kv_format(""), Error);
}

TEST(KvRows, FixedScalesAreNoBytesOfATokenEvenInBlocksOfOne) {
  RowOptions options;
  options.block_size = 1;
  options.format = parse_kv_format("fp8");
  EXPECT_EQ(kv_classes(model(llama()), options)[0].bytes_per_token, 32 * 2 * 8 * 128);
}

TEST(Capacity, AUniformWindowBoundsTheRequest) {
  PlanRequest request = request_of(mistral(), 8);
  request.max_num_batched_tokens = 2048;
  request.max_len = 32768;
  const CapacityPlan plan = plan_capacity(request);
  EXPECT_EQ(plan.blocks_per_request, (4096 - 1 + 2048 + 15) / 16 + 1);
  ASSERT_EQ(plan.classes.size(), 1U);
  EXPECT_TRUE(plan.classes[0].window_bounds);
  request.max_len = 1000;  // shorter than the window: its own length
  EXPECT_EQ(plan_capacity(request).blocks_per_request, 63);
}

TEST(KvRows, CarryTheModelIntoTheCacheConfiguration) {
  RowOptions options;
  options.tp = 2;
  options.block_size = 32;
  options.num_blocks = 7;
  options.max_seqs = 3;
  options.max_len = 100;
  options.max_step_tokens = 50;
  options.format = parse_kv_format("fp8");
  const KvRows windowed = make_kv_rows(model(mistral()), options);
  EXPECT_EQ(windowed.config.num_layers, 32);
  EXPECT_EQ(windowed.config.max_seqs, 3);
  EXPECT_EQ(windowed.config.max_tokens_per_seq, 100);
  EXPECT_EQ(windowed.config.max_step_tokens, 50);
  EXPECT_EQ(windowed.config.k_quant.codec, KVCodec::E4M3);
  EXPECT_EQ(windowed.config.v_quant.scale, KVScale::Static);
  ASSERT_TRUE(windowed.config.paged);
  EXPECT_EQ(windowed.config.paged->num_blocks, 7);
  EXPECT_EQ(windowed.config.paged->block_size, 32);
  EXPECT_EQ(windowed.config.paged->window, 4096);
  ASSERT_EQ(windowed.specs.size(), 32U);
  EXPECT_EQ(windowed.specs[0].kv_heads, 4);
  EXPECT_EQ(windowed.specs[0].head_dim, 128);
  EXPECT_EQ(windowed.specs[0].window, 4096);
  EXPECT_EQ(windowed.specs[0].k_scale.size(), 1U);

  const KvRows mixed = make_kv_rows(model(gemma2()), options);
  EXPECT_EQ(mixed.config.paged->window, 0);
  EXPECT_EQ(mixed.specs[0].window, 4096);
  EXPECT_EQ(mixed.specs[1].window, 0);
  options.mode = KVCacheMode::Continuous;
  EXPECT_FALSE(make_kv_rows(model(gemma2()), options).config.paged);
}

TEST(Capacity, WindowsBesideFullLayersOnlyMask) {
  PlanRequest request = request_of(gemma2(), 8);
  request.max_len = 8192;
  const CapacityPlan plan = plan_capacity(request);
  EXPECT_EQ(plan.blocks_per_request, 512);
  ASSERT_EQ(plan.classes.size(), 2U);
  EXPECT_EQ(plan.classes[0].layer.window, 4096);
  EXPECT_EQ(plan.classes[0].bytes_per_token, 172032);
  EXPECT_EQ(plan.classes[1].bytes_per_token, 172032);
  EXPECT_FALSE(plan.classes[0].window_bounds);
  std::string text;
  for (const std::string& remark : remarks(plan)) {
    text += remark;
  }
  EXPECT_NE(text.find("21 of 42 layers have a window of 4,096 tokens"), std::string::npos);
}

TEST(Capacity, BlocksPerRequestRoundUp) {
  EXPECT_EQ(blocks_per_request(1, 16, 0, 8192), 1);
  EXPECT_EQ(blocks_per_request(16, 16, 0, 8192), 1);
  EXPECT_EQ(blocks_per_request(17, 16, 0, 8192), 2);
  EXPECT_EQ(blocks_per_request(100000, 16, 16, 1), 2);
  EXPECT_EQ(blocks_per_request(100000, 16, 17, 1), 3);
  EXPECT_EQ(blocks_per_request(100000, 1, 4, 1), 5);
}

TEST(Capacity, BlocksInABudgetAreNeverNegativeNorBeyondTheIds) {
  EXPECT_EQ(blocks_in(99, 100), 0);
  EXPECT_EQ(blocks_in(100, 100), 1);
  EXPECT_EQ(blocks_in(-1, 100), 0);
  EXPECT_EQ(blocks_in(-1000, 100), 0);
  EXPECT_EQ(blocks_in(std::numeric_limits<std::int64_t>::max(), 1), kMaxBlocks);
}

TEST(Capacity, ABatchMaySlotOutBeforeThePool) {
  PlanRequest request = request_of(llama(), 40);
  request.max_len = 64;
  request.max_num_seqs = 8;
  const CapacityPlan plan = plan_capacity(request);
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.limited_by, LimitedBy::SequenceSlots);
}

TEST(Capacity, WhatIsShortOfOneRequestSaysByHowMuchAndWhatWouldFit) {
  PlanRequest request;
  request.model = model(llama());
  request.gpu = find_gpu("rtx 3090");
  request.activation_gib = 17.98 - 14.9888;
  request.non_torch_gib = 0.35;
  request.max_len = 29000;
  const CapacityPlan plan = plan_capacity(request);
  EXPECT_FALSE(plan.fits);
  EXPECT_EQ(plan.limited_by, LimitedBy::OneRequest);
  EXPECT_EQ(plan.missing_bytes,
            plan.blocks_per_request * plan.bytes_per_block - plan.expected.budget_bytes);
  EXPECT_EQ(plan.remedies.max_len, plan.expected.tokens);
  const std::string text = does_not_fit_text(plan);
  EXPECT_NE(text.find("2.89 GiB are left"), std::string::npos) << text;
  EXPECT_NE(text.find("--max-len " + std::to_string(plan.remedies.max_len)), std::string::npos);

  // Each remedy alone makes it fit, and less of it does not.
  PlanRequest shorter = request;
  shorter.max_len = plan.remedies.max_len;
  EXPECT_TRUE(plan_capacity(shorter).fits);
  shorter.max_len += 1;
  EXPECT_FALSE(plan_capacity(shorter).fits);
  ASSERT_TRUE(plan.remedies.utilization);
  PlanRequest fuller = request;
  fuller.utilization = *plan.remedies.utilization;
  EXPECT_TRUE(plan_capacity(fuller).fits);
  fuller.utilization -= 0.001;
  EXPECT_FALSE(plan_capacity(fuller).fits);
  ASSERT_TRUE(plan.remedies.tp);
  EXPECT_EQ(*plan.remedies.tp, 2);
  PlanRequest more = request;
  more.tp = 2;
  EXPECT_TRUE(plan_capacity(more).fits);
}

TEST(Capacity, WeightsBeyondTheGpuLeaveNothing) {
  PlanRequest request;
  request.model = model(llama());
  request.gpu = custom_gpu(12);
  request.max_len = 2048;
  const CapacityPlan plan = plan_capacity(request);
  EXPECT_FALSE(plan.fits);
  EXPECT_EQ(plan.limited_by, LimitedBy::Budget);
  EXPECT_LT(plan.expected.budget_bytes, 0);
  EXPECT_EQ(plan.expected.blocks, 0);
  EXPECT_EQ(plan.expected.concurrency, 0);
  EXPECT_FALSE(plan.remedies.utilization);
  EXPECT_EQ(plan.remedies.max_len, 0);
  EXPECT_EQ(*plan.remedies.tp, 2);
  EXPECT_NE(does_not_fit_text(plan).find("already exceed the GPU's share"), std::string::npos);
}

TEST(Capacity, ABudgetThatWasGivenHasNoOtherTerms) {
  const CapacityPlan plan = plan_capacity(request_of(llama(), 1));
  EXPECT_FALSE(plan.budget);
  EXPECT_FALSE(plan.fits);
  EXPECT_FALSE(plan.remedies.utilization);
  EXPECT_FALSE(plan.remedies.tp);
  EXPECT_EQ(plan.low.blocks, plan.high.blocks);
  EXPECT_NE(does_not_fit_text(plan).find("--kv-budget-gib 16.00"), std::string::npos);
}

TEST(Capacity, EstimatesMakeARangeAroundTheExpected) {
  PlanRequest request;
  request.model = model(llama());
  request.gpu = find_gpu("h100");
  const CapacityPlan plan = plan_capacity(request);
  EXPECT_LT(plan.low.blocks, plan.expected.blocks);
  EXPECT_GT(plan.high.blocks, plan.expected.blocks);
  request.activation_gib = 4.76;
  request.non_torch_gib = 0.13;
  request.weights_gib = 14.99;
  const CapacityPlan given = plan_capacity(request);
  EXPECT_EQ(given.low.blocks, given.high.blocks);
  EXPECT_NEAR(static_cast<double>(given.expected.budget_bytes) / kGib, 51.38, 0.005);
  request.graph_gib = 1;
  EXPECT_NEAR(static_cast<double>(plan_capacity(request).expected.budget_bytes) / kGib, 50.38,
              0.005);
}

TEST(Capacity, WeightsAreDividedByTpAndTheRotaryTableIsNot) {
  const ModelConfig llama_model = model(llama());
  const double rotary = 131072.0 * 128 * 2 / kGib;
  const double weights = 8030261248.0 * 2 / kGib;
  EXPECT_NEAR(estimate_weights(llama_model, 1).expected, weights + rotary, 1e-9);
  EXPECT_NEAR(estimate_weights(llama_model, 4).expected, weights / 4 + rotary, 1e-9);
  PlanRequest request;
  request.model = llama_model;
  request.gpu = find_gpu("h100");
  request.tp = 2;
  request.weights_gib = 10;
  EXPECT_DOUBLE_EQ(plan_capacity(request).budget->weights.expected, 5);
}

TEST(Capacity, WeightsThatTheConfigDoesNotTellMustBeGiven) {
  Json json = llama();
  json["quantization_config"] = {{"quant_method", "awq"}};
  PlanRequest request;
  request.model = model(json);
  request.gpu = find_gpu("h100");
  EXPECT_NE(error_of(request).find("--weights-gib"), std::string::npos);
  request.weights_gib = 5.3;
  EXPECT_EQ(error_of(request), "no error");
}

TEST(Capacity, DefaultsFollowTheGpu) {
  EXPECT_EQ(default_batch_limits(find_gpu("h100")).max_num_seqs, 1024);
  EXPECT_EQ(default_batch_limits(find_gpu("a100 80 sxm")).max_num_seqs, 256);
  EXPECT_EQ(default_batch_limits(find_gpu("l4")).max_num_batched_tokens, 2048);
  const CapacityPlan plan = plan_capacity(request_of(llama(), 40));
  EXPECT_EQ(plan.request.max_len, 131072);
  EXPECT_EQ(plan.request.max_num_batched_tokens, 8192);
}

TEST(Capacity, ValuesOutOfRangeAreNamed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double utilization : {0.0, -0.5, 1.0001, nan}) {
    PlanRequest request = request_of(llama(), 4);
    request.utilization = utilization;
    EXPECT_NE(error_of(request).find("utilization is"), std::string::npos) << utilization;
  }
  PlanRequest request = request_of(llama(), 4);
  request.max_len = 131073;
  EXPECT_EQ(error_of(request), "max-len is 131,073, but model has max_position_embeddings 131,072");
  request = request_of(llama(), 4);
  request.max_len = -1;
  EXPECT_NE(error_of(request).find("maximum length is -1"), std::string::npos);
  for (const std::int64_t block : {0, -16, 3, 24, 131072}) {
    request = request_of(llama(), 4);
    request.block_size = block;
    EXPECT_NE(error_of(request).find("block size is"), std::string::npos) << block;
  }
  for (const double gib : {-1.0, nan, 1e12}) {
    request = request_of(llama(), gib);
    EXPECT_NE(error_of(request).find("KV budget is"), std::string::npos) << gib;
    request = request_of(llama(), 4);
    request.weights_gib = gib;
    EXPECT_NE(error_of(request).find("weights is"), std::string::npos) << gib;
    request = request_of(llama(), 4);
    request.activation_gib = gib;
    EXPECT_NE(error_of(request).find("activation is"), std::string::npos) << gib;
  }
}

TEST(CapacityJson, HasTheFieldsThatMachinesRead) {
  PlanRequest request = request_of(gemma2(), 8);
  CapacityPlan plan = plan_capacity(request);
  plan.hits = PoolHits{"chat", 3, 1, 200, 50};
  const Json json = Json::parse(to_json(plan, false));
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_EQ(json.at("model").at("name"), "model");
  EXPECT_EQ(json.at("gpu").at("name"), "H100 SXM");
  const Json& capacity = json.at("capacity");
  EXPECT_EQ(capacity.at("kv_budget_bytes"), 8589934592);
  EXPECT_EQ(capacity.at("block_size"), 16);
  EXPECT_EQ(capacity.at("blocks"), 1560);
  EXPECT_EQ(capacity.at("tokens"), 24960);
  EXPECT_EQ(capacity.at("blocks_per_request"), 512);
  EXPECT_EQ(capacity.at("concurrency"), 1560.0 / 512.0);
  EXPECT_EQ(capacity.at("limited_by"), "token_pool");
  EXPECT_EQ(json.at("per_token_bytes"), 344064);
  EXPECT_EQ(json.at("per_sequence_bytes"), 0);
  EXPECT_EQ(json.at("classes").size(), 2U);
  EXPECT_EQ(json.at("classes")[0].at("window"), 4096);
  EXPECT_EQ(json.at("budget"), nullptr);
  EXPECT_EQ(json.at("remedies"), nullptr);
  EXPECT_EQ(json.at("trace").at("name"), "chat");
  EXPECT_EQ(json.at("trace").at("rejected_requests"), 1);
  EXPECT_EQ(json.at("trace").at("hit_rate"), 0.25);
  EXPECT_EQ(PoolHits{}.hit_rate(), 0);
  EXPECT_FALSE(json.contains("equations"));
}

TEST(CapacityExplain, ShowsEveryTermWithItsNumbers) {
  PlanRequest request;
  request.model = model(llama());
  request.gpu = find_gpu("h100");
  request.tp = 2;
  const CapacityPlan plan = plan_capacity(request);
  std::string text;
  for (const Equation& equation : explain(plan)) {
    text += equation.left + " = " + equation.formula + ": " + equation.numbers + " [" +
            equation.source + "]\n";
  }
  for (const std::string part : {"79.18 x 0.900 - 7.51 - 4.75 - 0.54 - 0.00", "max(1, 8 / 2) = 4",
                                 "32 x 2 x 4 x 128 in bf16 = 65,536", "16 x 65,536 = 1,048,576",
                                 "ceil(131,072 / 16) = 8,192", "8,030,261,248 parameters",
                                 "131,072 x 128 x 2 = 33,554,432"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(Json::parse(to_json(plan, true)).at("equations").size(), explain(plan).size());
}

}  // namespace
}  // namespace octavo::sim
