// The weights of the unusual families: against published parameter counts where the real configs
// are at hand, term by term on small configs, and what stays unknown.
#include <map>
#include <string>

#include "configs.h"
#include "octavo/sim/input_error.h"
#include "octavo/sim/memory_budget.h"
#include "octavo/sim/model_config.h"
#include "octavo/sim/model_source.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

using testing::Json;
using testing::shared_file;

constexpr double kBillion = 1e9;

ModelConfig parse_weights(const Json& json) {
  return parse_model_config(json.dump(), "model.json");
}

const WeightPart* find_part(const ModelConfig& model, const std::string& name) {
  for (const WeightPart& part : model.weights.parts) {
    if (part.name == name) {
      return &part;
    }
  }
  return nullptr;
}

std::int64_t parameters_of(const ModelConfig& model, const std::string& name) {
  const WeightPart* part = find_part(model, name);
  return part == nullptr ? 0 : part->parameters;
}

/// What a token passes through: all but the experts that it is not routed to.
double active_billions(const ModelConfig& model) {
  const auto experts = static_cast<double>(parameters_of(model, "experts"));
  const auto all = static_cast<double>(model.weights.parameters());
  const double routed =
      static_cast<double>(model.experts_per_token) / static_cast<double>(model.experts);
  return (all - experts * (1 - routed)) / kBillion;
}

struct Published {
  double billions;
  double tolerance;  // relative
};

// What the publishers state of the whole model, without layers for multi-token prediction.
TEST(SpecialWeights, CatalogueModelsHaveTheirPublishedParameters) {
  const std::map<std::string, Published> expected = {
      {"deepseek-v3", {671.03, 0.0005}},           {"deepseek-r1", {671.03, 0.0005}},
      {"deepseek-v3.2", {671.9, 0.002}},           {"kimi-k2", {1026.4, 0.001}},
      {"llama-4-scout-17b-16e", {107.77, 0.001}},  // 108.64 with its vision tower
      {"qwen3-next-80b-a3b", {79.67, 0.002}},      {"qwen3.5-27b", {27.4, 0.01}},
      {"qwen3.5-35b-a3b", {35.1, 0.01}},           {"nemotron-h-56b", {56.0, 0.01}},
      {"nemotron-3-nano-30b-a3b", {31.58, 0.001}}, {"jamba-1.5-mini", {51.57, 0.001}},
      {"whisper-large-v3", {1.5435, 0.001}},       {"gemma-4-26b-a4b", {25.2, 0.01}},
  };
  for (const auto& [name, published] : expected) {
    const CatalogueModel* entry = find_catalogue_model(name);
    ASSERT_NE(entry, nullptr) << name;
    const ModelConfig model = read_catalogue_model(*entry);
    EXPECT_EQ(model.weights.unknown, "") << name;
    EXPECT_NEAR(static_cast<double>(model.weights.parameters()) / kBillion, published.billions,
                published.billions * published.tolerance)
        << name;
  }
}

TEST(SpecialWeights, RealConfigsHaveTheirPublishedParameters) {
  if (shared_file("models").empty()) {
    GTEST_SKIP() << "the real configs are not at hand";
  }
  const std::map<std::string, Published> expected = {
      {"XiaomiMiMo--MiMo-V2-Flash", {309, 0.01}},
      {"nvidia--Llama-3_3-Nemotron-Super-49B-v1", {49.87, 0.001}},
      {"nvidia--Qwen3.6-27B-NVFP4", {27.4, 0.01}},
      {"google--gemma-4-26B-A4B", {25.2, 0.01}},
      {"moonshotai--Kimi-K2-Instruct", {1026.4, 0.001}},
  };
  for (const auto& [name, published] : expected) {
    const ModelConfig model = read_model_config(shared_file("models/" + name + ".json").string());
    EXPECT_EQ(model.weights.unknown, "") << name;
    EXPECT_NEAR(static_cast<double>(model.weights.parameters()) / kBillion, published.billions,
                published.billions * published.tolerance)
        << name;
  }
}

TEST(SpecialWeights, ActiveParametersAreThePublishedOnes) {
  const std::map<std::string, Published> expected = {
      {"deepseek-v3", {37, 0.02}},
      {"kimi-k2", {32, 0.03}},
      {"jamba-1.5-mini", {12, 0.02}},
      {"llama-4-scout-17b-16e", {17, 0.02}},
  };
  for (const auto& [name, published] : expected) {
    const ModelConfig model = read_catalogue_model(*find_catalogue_model(name));
    EXPECT_NEAR(active_billions(model), published.billions,
                published.billions * published.tolerance)
        << name;
  }
}

TEST(SpecialWeights, Fp8BlocksOfALatentModelAddTheirScales) {
  Json json = {{"model_type", "deepseek_v3"},
               {"torch_dtype", "bfloat16"},
               {"hidden_size", 256},
               {"intermediate_size", 512},
               {"num_hidden_layers", 1},
               {"num_attention_heads", 2},
               {"vocab_size", 1000},
               {"max_position_embeddings", 4096},
               {"kv_lora_rank", 128},
               {"q_lora_rank", 128},
               {"qk_rope_head_dim", 64},
               {"qk_nope_head_dim", 64},
               {"v_head_dim", 64}};
  // q_a, q_b, kv_a, kv_b, o and the MLP.
  const std::int64_t attention = 128 * 256 + 256 * 128 + 192 * 256 + 256 * 128 + 256 * 128;
  const std::int64_t mlp = 3 * 256 * 512;
  const std::int64_t norms = 128 + 128;
  const ModelConfig plain = parse_weights(json);
  EXPECT_EQ(parameters_of(plain, "attention"), attention + norms);
  EXPECT_EQ(parameters_of(plain, "MLP"), mlp);
  EXPECT_EQ(plain.weights.rotary_bytes, 4096 * 64 * 2);
  json["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
  const ModelConfig fp8 = parse_weights(json);
  EXPECT_EQ(fp8.weights.parameters(), plain.weights.parameters());
  // kv_a has 192 rows: two blocks of rows.
  EXPECT_EQ(find_part(fp8, "attention")->bytes,
            attention + 4 * (2 + 2 + 2 * 2 + 2 + 2) + 2 * norms);
  EXPECT_EQ(find_part(fp8, "MLP")->bytes, mlp + 4 * 3 * 8);
}

TEST(SpecialWeights, AFieldThatOnlyTheWeightsNeedLeavesThemUnknownWhenAbsent) {
  const Json json = {{"model_type", "deepseek_v3"}, {"torch_dtype", "bfloat16"},
                     {"hidden_size", 256},          {"intermediate_size", 512},
                     {"num_hidden_layers", 1},      {"num_attention_heads", 2},
                     {"vocab_size", 1000},          {"max_position_embeddings", 4096},
                     {"kv_lora_rank", 128},         {"qk_rope_head_dim", 64}};
  const ModelConfig model = parse_weights(json);
  EXPECT_EQ(model.layers.size(), 1U);
  EXPECT_NE(model.weights.unknown.find("qk_nope_head_dim: is missing"), std::string::npos)
      << model.weights.unknown;
  EXPECT_THROW(estimate_weights(model, 1), Error);
}

TEST(SpecialWeights, LayersForMultiTokenPredictionAreNamedAndNotCounted) {
  const ModelConfig model = read_catalogue_model(*find_catalogue_model("deepseek-v3"));
  bool named = false;
  for (const std::string& note : model.notes) {
    named = named || note.find("num_nextn_predict_layers") != std::string::npos;
  }
  EXPECT_TRUE(named);
}

TEST(SpecialWeights, SmallMambaAndT5ModelsAreCountedToTheLastParameter) {
  const Json mamba = {
      {"model_type", "mamba"}, {"torch_dtype", "float32"}, {"num_hidden_layers", 24},
      {"hidden_size", 768},    {"vocab_size", 50280},      {"intermediate_size", 1536},
      {"state_size", 16},      {"conv_kernel", 4},         {"time_step_rank", 48}};
  EXPECT_EQ(parse_weights(mamba).weights.parameters(), 129135360);  // mamba-130m
  const Json t5 = {{"model_type", "t5"}, {"torch_dtype", "float32"},
                   {"d_model", 512},     {"num_heads", 8},
                   {"d_kv", 64},         {"d_ff", 2048},
                   {"num_layers", 6},    {"vocab_size", 32128},
                   {"n_positions", 512}};
  EXPECT_EQ(parse_weights(t5).weights.parameters(), 60506624);  // t5-small
  EXPECT_EQ(parse_weights(t5).weights.bytes(), 4 * 60506624);
}

// A tower that the config does not describe in full widens the estimate, and the measured weights
// lie in it: a start-up log of Mistral-Small-3.2 has 44.76 GiB.
TEST(SpecialWeights, AnUncountedVisionTowerWidensTheEstimate) {
  const ModelConfig model = read_catalogue_model(*find_catalogue_model("mistral-small-3.2-24b"));
  EXPECT_EQ(model.weights.unknown, "");
  EXPECT_NE(model.weights.uncounted.find("vision tower of mistral3"), std::string::npos);
  const Estimate weights = estimate_weights(model, 1);
  EXPECT_LT(weights.low, 44.76);
  EXPECT_GT(weights.high, 44.76);
  EXPECT_NEAR(weights.expected, 44.76, 0.01 * 44.76);
  EXPECT_NE(weights.origin.find("vision tower"), std::string::npos);
  const Estimate half = estimate_weights(model, 2);
  EXPECT_NEAR(half.high - half.low, (weights.high - weights.low) / 2, 1e-9);
}

Json quantized(const Json& config) {
  Json json = testing::llama();
  json["quantization_config"] = config;
  return json;
}

constexpr std::int64_t kLinear = 32 * (2 * 4096 * 4096 + 2 * 1024 * 4096 + 3 * 4096 * 14336L);
constexpr std::int64_t kAll = 8030261248;

/// Outputs of all linear modules of a layer of Llama-3.1-8B, and inputs.
constexpr std::int64_t kOutputs = 4096 + 1024 + 1024 + 4096 + 14336 + 14336 + 4096;
constexpr std::int64_t kInputs = 6 * 4096 + 14336;

TEST(Quantization, AwqPacksEightWeightsAWordWithScalesAndZerosByGroup) {
  const ModelConfig model = parse_weights(
      quantized({{"quant_method", "awq"}, {"bits", 4}, {"group_size", 128}, {"zero_point", true}}));
  EXPECT_EQ(model.weights.unknown, "");
  EXPECT_EQ(model.weights.bytes(),
            2 * (kAll - kLinear) + kLinear / 2 + kLinear / 128 * 2 + kLinear / 128 / 2);
}

TEST(Quantization, GptqAlsoKeepsTheGroupOfEveryInput) {
  const ModelConfig model =
      parse_weights(quantized({{"quant_method", "gptq"}, {"bits", 4}, {"group_size", -1}}));
  EXPECT_EQ(model.weights.unknown, "");
  EXPECT_EQ(model.weights.bytes(),
            2 * (kAll - kLinear) + kLinear / 2 + 32 * (kOutputs * 2 + kOutputs / 2 + kInputs * 4));
}

TEST(Quantization, ModelOptAndCompressedTensorsAreReadWhereTheyAreSettled) {
  const ModelConfig nvfp4 = parse_weights(
      quantized({{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}, {"ignore", {"lm_head"}}}));
  EXPECT_EQ(nvfp4.weights.unknown, "");
  EXPECT_EQ(nvfp4.weights.bytes(), 2 * (kAll - kLinear) + kLinear / 2 + kLinear / 16 + 32 * 7 * 8);
  const Json group = {{"targets", {"Linear"}},
                      {"weights", {{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}}}};
  const ModelConfig channel = parse_weights(quantized({{"quant_method", "compressed-tensors"},
                                                       {"format", "float-quantized"},
                                                       {"ignore", {"lm_head"}},
                                                       {"config_groups", {{"group_0", group}}}}));
  EXPECT_EQ(channel.weights.unknown, "");
  EXPECT_EQ(channel.weights.bytes(), 2 * (kAll - kLinear) + kLinear + 32 * kOutputs * 2);
  Json two = quantized({{"quant_method", "compressed-tensors"},
                        {"format", "float-quantized"},
                        {"config_groups", {{"group_0", group}, {"group_1", group}}}});
  EXPECT_NE(parse_weights(two).weights.unknown.find("2 config_groups"), std::string::npos);
  EXPECT_NE(parse_weights(quantized({{"quant_method", "modelopt"}, {"quant_algo", "W9"}}))
                .weights.unknown.find("W9"),
            std::string::npos);
}

TEST(Quantization, ModulesLeftOutInEveryLayerStayPlainThoseInSomeAreUnknown) {
  Json left_out = Json::array();
  for (int i = 0; i < 32; ++i) {
    left_out.push_back("model.layers." + std::to_string(i) + ".self_attn.o_proj");
  }
  Json config = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
  config["ignored_layers"] = left_out;
  const std::int64_t packed = kLinear - 32 * 4096 * 4096L;
  EXPECT_EQ(parse_weights(quantized(config)).weights.bytes(),
            2 * (kAll - packed) + packed + packed / 16384 * 4);
  config["ignored_layers"] = {"model.layers.*.self_attn.o_proj"};
  EXPECT_EQ(parse_weights(quantized(config)).weights.bytes(),
            2 * (kAll - packed) + packed + packed / 16384 * 4);
  left_out.erase(7);
  config["ignored_layers"] = left_out;
  EXPECT_NE(
      parse_weights(quantized(config)).weights.unknown.find("o_proj in its own way in 31 of 32"),
      std::string::npos);
  config["ignored_layers"] = {"re:.*o_proj"};
  EXPECT_NE(parse_weights(quantized(config)).weights.unknown.find("re:.*o_proj"),
            std::string::npos);
}

TEST(Quantization, TheMixedCheckpointOfQwenIsCountedByItsLists) {
  const auto path = shared_file("models/nvidia--Qwen3.6-27B-NVFP4.json");
  if (path.empty()) {
    GTEST_SKIP() << "the real configs are not at hand";
  }
  const ModelConfig model = read_model_config(path.string());
  EXPECT_EQ(model.weights.unknown, "");
  const WeightPart* mlp = find_part(model, "MLP");
  ASSERT_NE(mlp, nullptr);
  EXPECT_EQ(mlp->bytes, mlp->parameters / 16 * 9 + 64 * 3 * 4);
  const WeightPart* head = find_part(model, "output head");
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->bytes, head->parameters / 16 * 9 + 4);
  const WeightPart* attention = find_part(model, "attention");
  ASSERT_NE(attention, nullptr);
  EXPECT_EQ(attention->bytes, attention->parameters + 16 * (4 * 8 + 2 * 256));
}

}  // namespace
}  // namespace octavo::sim
