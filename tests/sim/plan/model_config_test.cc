#include "octavo/sim/model_config.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "configs.h"
#include "octavo/sim/input_error.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

using testing::gemma2;
using testing::Json;
using testing::llama;
using testing::mistral;
using testing::qwen3;

ModelConfig parse(const Json& json) {
  return parse_model_config(json.dump(), "dir/model.json");
}

std::string error_of_text(const std::string& text) {
  try {
    parse_model_config(text, "model.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string error_of(const Json& json) {
  return error_of_text(json.dump());
}

std::int64_t windowed_layers(const ModelConfig& model) {
  std::int64_t count = 0;
  for (const CacheLayer& layer : model.layers) {
    count += layer.window > 0 ? 1 : 0;
  }
  return count;
}

TEST(ModelConfig, ReadsLlama) {
  const ModelConfig model = parse(llama());
  EXPECT_EQ(model.name, "model");
  EXPECT_EQ(model.model_type, "llama");
  ASSERT_EQ(model.layers.size(), 32U);
  EXPECT_EQ(model.layers[31], (CacheLayer{8, 128, 0}));
  EXPECT_EQ(model.max_positions, 131072);
  EXPECT_EQ(model.weights.parameters(), 8030261248);
  EXPECT_EQ(model.weights.bytes(), 2 * 8030261248);
  EXPECT_TRUE(model.notes.empty());
}

TEST(ModelConfig, TheExplicitHeadDimWinsOverHiddenByHeads) {
  Json json = qwen3();
  json["hidden_size"] = 2048;
  EXPECT_EQ(parse(json).layers[0].head_dim, 128);
  json.erase("head_dim");
  EXPECT_NE(error_of(json).find("head_dim: is missing"), std::string::npos);
}

TEST(ModelConfig, HeadDimMustFollowFromHiddenSizeWhereItIsAbsent) {
  Json json = llama();
  json["hidden_size"] = 4097;
  EXPECT_NE(error_of(json).find("no multiple of num_attention_heads (32)"), std::string::npos);
}

TEST(ModelConfig, AbsentKvHeadsOfLlamaAreItsAttentionHeads) {
  Json json = llama();
  json.erase("num_key_value_heads");
  const ModelConfig model = parse(json);
  EXPECT_EQ(model.kv_heads, 32);
  EXPECT_EQ(model.notes.size(), 1U);
  json = mistral();
  json.erase("num_key_value_heads");
  EXPECT_NE(error_of(json).find("num_key_value_heads: is missing"), std::string::npos);
}

TEST(ModelConfig, ASlidingWindowThatIsNotUsedIsNone) {
  Json json = qwen3();
  json["sliding_window"] = 4096;
  json["max_window_layers"] = 28;
  EXPECT_FALSE(parse(json).any_windowed());
  json["use_sliding_window"] = true;
  const ModelConfig model = parse(json);
  EXPECT_EQ(windowed_layers(model), 8);
  EXPECT_EQ(model.layers[27].window, 0);
  EXPECT_EQ(model.layers[28].window, 4096);
}

TEST(ModelConfig, EveryLayerOfMistralHasItsWindow) {
  EXPECT_TRUE(parse(mistral()).all_windowed());
  EXPECT_EQ(parse(mistral()).largest_window(), 4096);
  Json json = mistral();
  json["sliding_window"] = nullptr;
  EXPECT_FALSE(parse(json).any_windowed());
}

TEST(ModelConfig, EveryOtherLayerOfGemma2HasAWindow) {
  const ModelConfig model = parse(gemma2());
  EXPECT_EQ(windowed_layers(model), 21);
  EXPECT_EQ(model.layers[0].window, 4096);
  EXPECT_EQ(model.layers[1].window, 0);
  EXPECT_EQ(model.weights.parameters(), 9241705984);
}

TEST(ModelConfig, EverySixthLayerOfGemma3IsFull) {
  Json text = gemma2();
  text["model_type"] = "gemma3_text";
  text["num_hidden_layers"] = 62;
  text["sliding_window"] = 1024;
  text.erase("vocab_size");
  const Json json = {
      {"model_type", "gemma3"}, {"text_config", text}, {"vision_config", {{"a", 1}}}};
  const ModelConfig model = parse(json);
  EXPECT_EQ(windowed_layers(model), 52);
  EXPECT_EQ(model.layers[4].window, 1024);
  EXPECT_EQ(model.layers[5].window, 0);
  EXPECT_EQ(model.vocab_size, 262208);
  EXPECT_EQ(model.notes.size(), 2U);
  EXPECT_NE(model.weights.uncounted.find("vision tower"), std::string::npos);
}

TEST(ModelConfig, LayerTypesStandAboveTheRule) {
  Json json = gemma2();
  json["layer_types"] = std::vector<std::string>(42, "full_attention");
  json["layer_types"][3] = "sliding_attention";
  const ModelConfig model = parse(json);
  EXPECT_EQ(windowed_layers(model), 1);
  EXPECT_EQ(model.layers[3].window, 4096);
  json["layer_types"].erase(0);
  EXPECT_NE(error_of(json).find("layer_types: has 41 entries, expected num_hidden_layers (42)"),
            std::string::npos);
}

TEST(ModelConfig, ALayerTypeThatIsNoAttentionIsRefusedByName) {
  Json json = qwen3();
  json["layer_types"] = std::vector<std::string>(36, "linear_attention");
  EXPECT_NE(error_of(json).find("contains \"linear_attention\""), std::string::npos);
}

TEST(ModelConfig, SlidingLayersNeedAWindow) {
  Json json = llama();
  json["layer_types"] = std::vector<std::string>(32, "sliding_attention");
  EXPECT_NE(error_of(json).find("sliding_window: is missing"), std::string::npos);
  json["sliding_window"] = 128;
  EXPECT_TRUE(parse(json).all_windowed());
  json["use_sliding_window"] = false;
  EXPECT_NE(error_of(json).find("use_sliding_window: is false"), std::string::npos);
}

TEST(ModelConfig, AWindowOfAFamilyWithoutARuleIsRefused) {
  Json json = llama();
  json["sliding_window"] = 4096;
  EXPECT_NE(error_of(json).find("sliding_window: is set, but model_type llama"), std::string::npos);
}

TEST(ModelConfig, TheLanguageModelMayBeNested) {
  Json text = qwen3();
  text["model_type"] = "qwen3_vl_text";
  text.erase("torch_dtype");
  const Json json = {{"model_type", "qwen3_vl"},
                     {"torch_dtype", "bfloat16"},
                     {"num_hidden_layers", 7},
                     {"tie_word_embeddings", true},
                     {"text_config", text}};
  const ModelConfig model = parse(json);
  EXPECT_EQ(model.layers.size(), 36U);
  EXPECT_EQ(model.weights.unknown, "");
  EXPECT_EQ(model.weights.parts.front().name, "embedding (also the output head)");
  EXPECT_NE(error_of({{"model_type", "qwen3_vl"}}).find("text_config: is missing"),
            std::string::npos);
}

TEST(ModelConfig, ErrorsOfNestedFieldsNameTheirPath) {
  Json text = qwen3();
  text["head_dim"] = "128";
  const Json json = {{"model_type", "qwen3_vl"}, {"text_config", text}};
  EXPECT_EQ(error_of(json),
            "model.json: text_config.head_dim: is \"128\", expected a whole number in [1, 16384]");
}

TEST(ModelConfig, TheWeightsDtypeSaysNothingAboutTheRows) {
  Json json = llama();
  json["torch_dtype"] = "float32";
  const ModelConfig model = parse(json);
  EXPECT_EQ(model.layers, parse(llama()).layers);
  EXPECT_EQ(model.weights.bytes(), 4 * 8030261248);
}

TEST(ModelConfig, UnsupportedFamiliesAreRefusedWithTheReason) {
  for (const auto& [type, reason] : std::vector<std::pair<std::string, std::string>>{
           {"gemma3n", "num_kv_shared_layers"}, {"mllama", "cross-attention"}}) {
    Json json = llama();
    json["model_type"] = type;
    const std::string error = error_of(json);
    EXPECT_NE(error.find("model_type: " + type + " is not supported"), std::string::npos) << error;
    EXPECT_NE(error.find(reason), std::string::npos) << error;
    EXPECT_NE(error.find("that would need"), std::string::npos) << error;
  }
}

TEST(ModelConfig, AnUnknownFamilyIsRefusedAndTheKnownOnesAreListed) {
  Json json = llama();
  json["model_type"] = "gpt9";
  json["attention_window"] = 128;
  const std::string error = error_of(json);
  EXPECT_NE(error.find("attention_window is set"), std::string::npos) << error;
  EXPECT_NE(error.find("gpt9 is not known"), std::string::npos);
  for (const std::string& name : supported_model_types()) {
    EXPECT_NE(error.find(name), std::string::npos) << name;
  }
}

TEST(ModelConfig, AFieldThatChangesTheRowsIsRefusedInAFamilyWithoutIt) {
  for (const char* field : {"kv_lora_rank", "attention_chunk_size", "num_kv_shared_layers"}) {
    Json json = llama();
    json[field] = 4;
    EXPECT_NE(error_of(json).find(std::string(field) + ": is set"), std::string::npos) << field;
    json[field] = 0;
    EXPECT_EQ(error_of(json), "no error") << field;
    json[field] = nullptr;
    EXPECT_EQ(error_of(json), "no error") << field;
  }
  Json json = llama();
  json["block_configs"] = Json::array({{{"attention", 1}}});
  EXPECT_NE(error_of(json).find("block_configs: is set"), std::string::npos);
  json = llama();
  json["v_head_dim"] = 64;
  EXPECT_NE(error_of(json).find("v_head_dim: is 64, expected head_dim (128)"), std::string::npos);
}

TEST(ModelConfig, MissingFieldsAreNamed) {
  for (const char* field : {"model_type", "hidden_size", "intermediate_size", "num_hidden_layers",
                            "num_attention_heads", "vocab_size", "max_position_embeddings"}) {
    Json json = llama();
    json.erase(field);
    EXPECT_NE(error_of(json).find(std::string("model.json: ") + field + ": is missing"),
              std::string::npos)
        << error_of(json);
    json[field] = nullptr;
    EXPECT_NE(error_of(json).find(std::string(field) + ": is null"), std::string::npos);
  }
}

TEST(ModelConfig, WrongTypesAndAbsurdNumbersAreNamedWithTheirValue) {
  const std::vector<Json> values = {"32",
                                    32.5,
                                    3.2e1,
                                    true,
                                    Json::array({32}),
                                    -1,
                                    0,
                                    1e300,
                                    18446744073709551615U,
                                    9000000000000000000};
  for (const char* field : {"num_hidden_layers", "hidden_size", "num_attention_heads",
                            "num_key_value_heads", "vocab_size", "max_position_embeddings"}) {
    for (const Json& value : values) {
      Json json = llama();
      json[field] = value;
      const std::string error = error_of(json);
      EXPECT_NE(error.find(std::string(field) + ": is "), std::string::npos) << error;
      EXPECT_NE(error.find("expected a whole number in [1, "), std::string::npos) << error;
      EXPECT_EQ(error.find('\n'), std::string::npos);
    }
  }
  Json json = llama();
  json["attention_bias"] = 1;
  EXPECT_NE(error_of(json).find("attention_bias: is 1, expected true or false"), std::string::npos);
  json = llama();
  json["model_type"] = 3;
  EXPECT_NE(error_of(json).find("model_type: is 3, expected a string"), std::string::npos);
}

TEST(ModelConfig, KvHeadsMustDivideTheHeads) {
  Json json = llama();
  json["num_key_value_heads"] = 5;
  EXPECT_NE(error_of(json).find("num_key_value_heads: is 5, expected a divisor"),
            std::string::npos);
  json["num_key_value_heads"] = 64;
  EXPECT_NE(error_of(json).find("num_key_value_heads: is 64"), std::string::npos);
}

TEST(ModelConfig, TheLargestLegalNumbersDoNotOverflowSilently) {
  Json json = {{"model_type", "mixtral"},      {"torch_dtype", "float32"},
               {"hidden_size", 1 << 20},       {"intermediate_size", 1 << 20},
               {"num_hidden_layers", 4096},    {"num_attention_heads", 16384},
               {"num_key_value_heads", 16384}, {"head_dim", 16384},
               {"vocab_size", 1 << 26},        {"max_position_embeddings", 2147483647},
               {"num_local_experts", 65536},   {"num_experts_per_tok", 65536},
               {"sliding_window", nullptr}};
  try {
    parse(json);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("does not fit into 63 bits"), std::string::npos);
  }
}

TEST(ModelConfig, TextThatIsNoJsonObjectIsRefused) {
  EXPECT_EQ(error_of_text(""), "model.json: is empty, expected a JSON object");
  EXPECT_EQ(error_of_text(" \n\t"), "model.json: is empty, expected a JSON object");
  EXPECT_EQ(error_of_text("[1, 2]"), "model.json: is [1,2], expected a JSON object");
  EXPECT_EQ(error_of_text("{\n\"model_type\": \"llama\",\n\"hidden_size\": ,\n}"),
            "model.json:3: is not valid JSON, expected a JSON object");
  EXPECT_EQ(error_of_text("{\"model_type\": \"llama\""),
            "model.json:1: is not valid JSON, expected a JSON object");
  EXPECT_NE(error_of_text(std::string("{\"model_type\": \"a\0b\"}", 21)), "no error");
  EXPECT_NE(error_of_text("{\"model_type\": \"\xff\"}"), "no error");
}

TEST(ModelConfig, DeepNestingIsNoCrash) {
  const std::string deep = "{\"a\": " + std::string(200000, '[') + std::string(200000, ']') + "}";
  EXPECT_NE(error_of_text(deep).find("model_type: is missing"), std::string::npos);
}

TEST(ModelConfig, PythonsInfinityIsReadAsNothing) {
  std::string text = llama().dump();
  text.insert(1, "\"limit\": [0.0, Infinity, -Infinity, NaN], \"say\": \"NaN \\\" Infinity\",");
  EXPECT_EQ(error_of_text(text), "no error");
  EXPECT_NE(error_of_text("{\"model_type\": NaNa}").find("not valid JSON"), std::string::npos);
}

TEST(ModelConfig, FilesThatCannotBeReadAreNamed) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  EXPECT_THROW(
      {
        try {
          read_model_config((folder / "octavo_no_such_file.json").string());
        } catch (const InputError& error) {
          EXPECT_NE(std::string(error.what()).find("does not exist"), std::string::npos);
          throw;
        }
      },
      InputError);
  EXPECT_THROW(
      {
        try {
          read_model_config(folder.string());
        } catch (const InputError& error) {
          EXPECT_NE(std::string(error.what()).find("is a directory"), std::string::npos);
          throw;
        }
      },
      InputError);
}

TEST(ModelWeights, BiasesAndNormsAreCounted) {
  const std::int64_t without = parse(llama()).weights.parameters();
  Json json = llama();
  json["attention_bias"] = true;
  EXPECT_EQ(parse(json).weights.parameters() - without, 32 * (4096 + 2 * 1024 + 4096));
  json["mlp_bias"] = true;
  EXPECT_EQ(parse(json).weights.parameters() - without,
            32 * (4096 + 2 * 1024 + 4096 + 2 * 14336 + 4096));
  json = llama();
  json["model_type"] = "qwen2";  // q, k and v have a bias that the config does not mention
  EXPECT_EQ(parse(json).weights.parameters() - without, 32 * (4096 + 2 * 1024));
}

TEST(ModelWeights, ExpertsSharedExpertsAndDenseLayersAreCounted) {
  // Qwen1.5-MoE-A2.7B, published as 14.3 B.
  Json json = {{"model_type", "qwen2_moe"},
               {"torch_dtype", "bfloat16"},
               {"hidden_size", 2048},
               {"intermediate_size", 5632},
               {"num_hidden_layers", 24},
               {"num_attention_heads", 16},
               {"num_key_value_heads", 16},
               {"vocab_size", 151936},
               {"max_position_embeddings", 8192},
               {"num_experts", 60},
               {"num_experts_per_tok", 4},
               {"moe_intermediate_size", 1408},
               {"shared_expert_intermediate_size", 5632}};
  const ModelConfig model = parse(json);
  EXPECT_EQ(model.weights.parameters(), 14315784192);
  EXPECT_EQ(model.mlp_width, 4 * 1408 + 5632);
  json["mlp_only_layers"] = {0, 5};
  const std::int64_t expert_layer = 60 * 3 * 2048 * 1408 + 60 * 2048 + 3 * 2048 * 5632 + 2048;
  const std::int64_t dense_layer = 3 * 2048 * 5632;
  EXPECT_EQ(parse(json).weights.parameters(), 14315784192 - 2 * (expert_layer - dense_layer));
  json["mlp_only_layers"] = Json::array();
  json["decoder_sparse_step"] = 2;
  EXPECT_EQ(parse(json).weights.parameters(), 14315784192 - 12 * (expert_layer - dense_layer));
}

TEST(ModelWeights, Fp8HalvesLinearLayersAndAddsTheirScales) {
  Json json = llama();
  json["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
  const ModelConfig model = parse(json);
  EXPECT_EQ(model.weights.parameters(), 8030261248);
  const std::int64_t linear = 32 * (2 * 4096 * 4096 + 2 * 1024 * 4096 + 3 * 4096 * 14336L);
  EXPECT_EQ(model.weights.bytes(), 2 * (8030261248 - linear) + linear + linear / 16384 * 4);
  json["quantization_config"]["modules_to_not_convert"] = {"lm_head", "model.layers.0.mlp.gate"};
  EXPECT_EQ(parse(json).weights.unknown, "");
  json["quantization_config"]["modules_to_not_convert"] = {"model.layers.0.mlp.gate_proj"};
  EXPECT_NE(parse(json).weights.unknown.find("gate_proj"), std::string::npos);
}

TEST(ModelWeights, WhatTheConfigDoesNotSettleIsUnknown) {
  Json json = llama();
  json["quantization_config"] = {{"quant_method", "awq"}, {"bits", 4}};
  EXPECT_NE(parse(json).weights.unknown.find("awq"), std::string::npos);
  json = llama();
  json.erase("torch_dtype");
  EXPECT_NE(parse(json).weights.unknown.find("torch_dtype"), std::string::npos);
  json["dtype"] = "float16";
  EXPECT_EQ(parse(json).weights.unknown, "");
  json["dtype"] = "int4";
  EXPECT_NE(parse(json).weights.unknown.find("int4"), std::string::npos);
}

}  // namespace
}  // namespace octavo::sim
