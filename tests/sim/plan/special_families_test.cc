// What the layers of the unusual families keep, read from small configs.
#include <string>
#include <vector>

#include "configs.h"
#include "octavo/sim/input_error.h"
#include "octavo/sim/kv_rows.h"
#include "octavo/sim/model_config.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

using testing::Json;

ModelConfig parse_special(const Json& json) {
  return parse_model_config(json.dump(), "model.json");
}

std::string special_error(const Json& json) {
  try {
    parse_special(json);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

Json base(const std::string& type, int layers) {
  return {
      {"model_type", type},       {"num_hidden_layers", layers},     {"hidden_size", 64},
      {"num_attention_heads", 8}, {"num_key_value_heads", 4},        {"head_dim", 16},
      {"vocab_size", 1000},       {"max_position_embeddings", 4096}, {"intermediate_size", 256}};
}

std::vector<CacheKind> kinds(const ModelConfig& model) {
  std::vector<CacheKind> result;
  for (const CacheLayer& layer : model.layers) {
    result.push_back(layer.kind);
  }
  return result;
}

constexpr CacheKind kAttention = CacheKind::Attention;
constexpr CacheKind kState = CacheKind::State;
constexpr CacheKind kNone = CacheKind::None;
constexpr CacheKind kChunked = CacheKind::Chunked;

Json latent() {
  Json json = base("deepseek_v3", 3);
  json["kv_lora_rank"] = 512;
  json["qk_rope_head_dim"] = 64;
  return json;
}

TEST(SpecialFamilies, ALatentIsStoredWholeByEveryRankWhateverTheHeads) {
  const ModelConfig model = parse_special(latent());
  for (const std::int64_t tp : {1, 2, 8}) {
    const auto classes = rank_classes(model, {.tp = tp}, 0, 3);
    ASSERT_EQ(classes.size(), 1U);
    EXPECT_EQ(classes[0].bytes_per_token, 3 * 576 * 2) << tp;
  }
  EXPECT_THROW(rank_classes(model, {.tp = 3}, 0, 3), Error);
}

TEST(SpecialFamilies, LatentsInFp8TakeAByteAnElementOrDeepseeksOwnLayout) {
  const ModelConfig model = parse_special(latent());
  const auto bytes = [&](const char* format) {
    return rank_classes(model, {.format = parse_kv_format(format)}, 0, 1)[0].bytes_per_token;
  };
  EXPECT_EQ(bytes("fp8"), 576);
  EXPECT_EQ(bytes("fp8_ds_mla"), 656);
  EXPECT_THROW(bytes("int8"), Error);
  EXPECT_THROW(bytes("nvfp4"), Error);
}

TEST(SpecialFamilies, AnIndexersKeysComeOnTopInFp8WithTheirScales) {
  Json json = latent();
  json["model_type"] = "deepseek_v32";
  json["index_head_dim"] = 128;
  EXPECT_EQ(rank_classes(parse_special(json), {}, 0, 1)[0].bytes_per_token, 576 * 2 + 128 + 4);
}

TEST(SpecialFamilies, Gemma4HasHeadsOfItsOwnInFullLayersAndSharesTheLastRows) {
  Json json = base("gemma4_text", 4);
  json["sliding_window"] = 128;
  json["global_head_dim"] = 32;
  json["num_global_key_value_heads"] = 2;
  json["num_kv_shared_layers"] = 1;
  json["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention",
                         "full_attention"};
  const ModelConfig model = parse_special(json);
  EXPECT_EQ(model.layers[0], (CacheLayer{4, 16, 128}));
  EXPECT_EQ(model.layers[1], (CacheLayer{2, 32, 0}));
  EXPECT_EQ(kinds(model), (std::vector{kAttention, kAttention, kAttention, kNone}));
  json["layer_types"][1] = "linear_attention";
  EXPECT_NE(special_error(json).find("layer_types: contains \"linear_attention\""),
            std::string::npos);
}

TEST(SpecialFamilies, MiMoHasVHeadsOfTheirOwnSizeWhichOctavoCannotPage) {
  Json json = base("mimo_v2_flash", 2);
  json["hybrid_layer_pattern"] = {0, 1};
  json["v_head_dim"] = 8;
  json["sliding_window"] = 128;
  json["swa_num_key_value_heads"] = 8;
  const ModelConfig model = parse_special(json);
  const auto classes = rank_classes(model, {}, 0, 2);
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes[0].bytes_per_token, 4 * (16 + 8) * 2);
  EXPECT_EQ(classes[1].bytes_per_token, 8 * (16 + 8) * 2);
  EXPECT_EQ(classes[1].layer.window, 128);
  EXPECT_NE(octavo_refusal(model, {}).find("V heads as wide as K heads"), std::string::npos);
}

TEST(SpecialFamilies, Llama4AttendsInChunksButForEveryFourthLayerOrThoseListed) {
  Json json = base("llama4_text", 8);
  json["attention_chunk_size"] = 512;
  EXPECT_EQ(kinds(parse_special(json)), (std::vector{kChunked, kChunked, kChunked, kAttention,
                                                     kChunked, kChunked, kChunked, kAttention}));
  json["no_rope_layers"] = {1, 0, 1, 0, 1, 0, 1, 0};
  EXPECT_EQ(kinds(parse_special(json))[1], kAttention);
  EXPECT_EQ(parse_special(json).layers[0].window, 512);
  json["no_rope_layers"] = {1, 0};
  EXPECT_NE(special_error(json).find("no_rope_layers: has 2 entries"), std::string::npos);
}

TEST(SpecialFamilies, NasModelsHaveHeadsByLayerAndLayersWithoutAttention) {
  Json json = base("nemotron-nas", 3);
  const auto block = [](const Json& group, bool no_op) {
    return Json{{"attention", {{"n_heads_in_group", group}, {"no_op", no_op}}}};
  };
  json["block_configs"] = {block(4, false), block(nullptr, true), block(8, false)};
  const ModelConfig model = parse_special(json);
  EXPECT_EQ(kinds(model), (std::vector{kAttention, kNone, kAttention}));
  EXPECT_EQ(model.layers[0].kv_heads, 2);
  EXPECT_EQ(model.layers[2].kv_heads, 1);
  json["block_configs"][2]["attention"]["n_heads_in_group"] = 3;
  EXPECT_NE(special_error(json).find("block_configs[2].attention.n_heads_in_group: is 3"),
            std::string::npos);
}

Json delta_net() {
  Json json = base("qwen3_next", 4);
  json["full_attention_interval"] = 4;
  json["linear_num_value_heads"] = 8;
  json["linear_num_key_heads"] = 4;
  json["linear_key_head_dim"] = 16;
  json["linear_value_head_dim"] = 32;
  json["linear_conv_kernel_dim"] = 4;
  return json;
}

TEST(SpecialFamilies, DeltaNetsKeepAConvolutionAndAStateWhichRanksDivide) {
  const ModelConfig model = parse_special(delta_net());
  EXPECT_EQ(kinds(model), (std::vector{kState, kState, kState, kAttention}));
  const std::int64_t conv = (2 * 4 * 16 + 8 * 32) * 3 * 2;
  const std::int64_t state = 8 * 16 * 32 * 4;
  const auto whole = rank_classes(model, {}, 0, 4);
  EXPECT_EQ(whole[0].bytes_per_sequence, 3 * (conv + state));
  EXPECT_EQ(whole[0].bytes_per_token, 0);
  EXPECT_EQ(rank_classes(model, {.tp = 4}, 0, 4)[0].bytes_per_sequence, 3 * (conv + state) / 4);
  EXPECT_EQ(rank_classes(model, {.state_dtype = DType::BF16}, 0, 4)[0].bytes_per_sequence,
            3 * (conv + state / 2));
  // Fewer key heads than ranks are stored by several of them.
  EXPECT_EQ(rank_classes(model, {.tp = 8}, 0, 4)[0].bytes_per_sequence,
            3 * ((2 * 16 + 32) * 3 * 2 + state / 8));
}

TEST(SpecialFamilies, NemotronHReadsItsPatternLetterByLetter) {
  Json json = base("nemotron_h", 5);
  json["hybrid_override_pattern"] = "M-*EM";
  json["mamba_num_heads"] = 8;
  json["mamba_head_dim"] = 16;
  json["n_groups"] = 2;
  json["ssm_state_size"] = 32;
  json["conv_kernel"] = 4;
  const ModelConfig model = parse_special(json);
  EXPECT_EQ(kinds(model), (std::vector{kState, kNone, kAttention, kNone, kState}));
  const std::int64_t each = (8 * 16 + 2 * 2 * 32) * 3 * 2 + 8 * 16 * 32 * 2;
  EXPECT_EQ(rank_classes(model, {}, 0, 5)[0].bytes_per_sequence, 2 * each);
  json["mamba_ssm_cache_dtype"] = "float32";
  EXPECT_EQ(rank_classes(parse_special(json), {}, 0, 5)[0].bytes_per_sequence,
            2 * (each + 8 * 16 * 32 * 2));
  json["hybrid_override_pattern"] = "M-*XM";
  EXPECT_NE(special_error(json).find("hybrid_override_pattern: contains 'X'"), std::string::npos);
  json["hybrid_override_pattern"] = "M-*";
  EXPECT_NE(special_error(json).find("has 3 letters"), std::string::npos);
}

TEST(SpecialFamilies, JambaAttendsInEveryEighthLayer) {
  Json json = base("jamba", 16);
  json["attn_layer_period"] = 8;
  json["attn_layer_offset"] = 4;
  json["mamba_expand"] = 2;
  json["mamba_d_state"] = 16;
  json["mamba_d_conv"] = 4;
  const ModelConfig model = parse_special(json);
  EXPECT_EQ(kinds(model)[4], kAttention);
  EXPECT_EQ(kinds(model)[12], kAttention);
  const auto classes = rank_classes(model, {}, 0, 16);
  EXPECT_EQ(classes[0].bytes_per_sequence, 14 * (128 * 3 * 2 + 128 * 16 * 2));
}

TEST(SpecialFamilies, FalconH1KeepsBothInEveryLayerAndMambaNothingElse) {
  Json json = base("falcon_h1", 2);
  json["mamba_n_heads"] = 4;
  json["mamba_d_head"] = 16;
  json["mamba_d_state"] = 32;
  EXPECT_EQ(kinds(parse_special(json)), (std::vector{kAttention, kState, kAttention, kState}));
  const Json mamba = {
      {"model_type", "mamba"}, {"num_hidden_layers", 2}, {"hidden_size", 64}, {"vocab_size", 1000}};
  EXPECT_EQ(kinds(parse_special(mamba)), (std::vector{kState, kState}));
}

TEST(SpecialFamilies, WhisperKeepsTheEncodersOutputBesideItsOwnTokens) {
  const Json json = {{"model_type", "whisper"},       {"d_model", 1280},
                     {"decoder_attention_heads", 20}, {"decoder_layers", 32},
                     {"decoder_ffn_dim", 5120},       {"vocab_size", 51866},
                     {"max_source_positions", 1500},  {"max_target_positions", 448}};
  const ModelConfig model = parse_special(json);
  const auto classes = rank_classes(model, {}, 0, model.layers.size());
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes[0].bytes_per_token, 163840);  // as the start-up logs' table has it
  EXPECT_EQ(classes[1].bytes_per_sequence, 245760000);
}

TEST(SpecialFamilies, OctavoStoresStatesAndCrossRowsAsTheRankFormulaCountsThem) {
  for (const Json& json : {delta_net(), base("llama", 3)}) {
    const ModelConfig model = parse_special(json);
    RowOptions options;
    options.max_seqs = 3;
    options.max_len = 64;
    const auto ours = kv_classes(model, options);
    const auto formula = rank_classes(model, options, 0, model.layers.size());
    ASSERT_EQ(ours.size(), formula.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      EXPECT_EQ(ours[i].bytes_per_token, formula[i].bytes_per_token) << i;
      EXPECT_EQ(ours[i].bytes_per_sequence, formula[i].bytes_per_sequence) << i;
    }
  }
}

}  // namespace
}  // namespace octavo::sim
