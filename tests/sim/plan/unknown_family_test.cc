// Architectures that the reader does not know: read as plain attention when their fields leave no
// doubt, refused by name otherwise. And traps of real configs.
#include <string>

#include "configs.h"
#include "octavo/sim/input_error.h"
#include "octavo/sim/memory_budget.h"
#include "octavo/sim/model_config.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

using testing::Json;

ModelConfig parse_unknown(const Json& json) {
  return parse_model_config(json.dump(), "model.json");
}

std::string unknown_error(const Json& json) {
  try {
    parse_unknown(json);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

Json unknown() {
  Json json = testing::llama();
  json["model_type"] = "gpt9";
  return json;
}

TEST(UnknownFamily, WithThePlainFieldsAloneItIsReadAsPlainAttention) {
  const ModelConfig model = parse_unknown(unknown());
  EXPECT_EQ(model.model_type, "gpt9");
  EXPECT_EQ(model.layers, parse_unknown(testing::llama()).layers);
  EXPECT_TRUE(model.weights.parts.empty());
  EXPECT_NE(model.weights.unknown.find("gpt9 is not known"), std::string::npos);
  EXPECT_THROW(estimate_weights(model, 1), Error);
  ASSERT_EQ(model.notes.size(), 1U);
  EXPECT_NE(model.notes[0].find("read as such"), std::string::npos);
}

TEST(UnknownFamily, FieldsThatSayNothingAreNoObstacle) {
  Json json = unknown();
  json["sliding_window"] = nullptr;
  json["use_sliding_window"] = false;
  json["is_encoder_decoder"] = false;
  json["layer_types"] = std::vector<std::string>(32, "full_attention");
  EXPECT_EQ(parse_unknown(json).layers.size(), 32U);
}

TEST(UnknownFamily, AnyFieldThatHintsAtOtherRowsRefusesIt) {
  const std::vector<std::pair<std::string, Json>> fields = {
      {"sliding_window", 4096},
      {"kv_lora_rank", 512},
      {"mamba_d_state", 16},
      {"num_kv_shared_layers", 2},
      {"full_attention_interval", 4},
      {"attention_chunk_size", 8192},
      {"cross_attention_layers", {3}},
      {"linear_num_value_heads", 16},
      {"text_config", {{"a", 1}}},
      {"v_head_dim", 64},
      {"hybrid_override_pattern", "M*"},
  };
  for (const auto& [name, value] : fields) {
    Json json = unknown();
    json[name] = value;
    const std::string error = unknown_error(json);
    EXPECT_NE(error.find("gpt9 is not known"), std::string::npos) << error;
    EXPECT_NE(error.find(name + " is set"), std::string::npos) << error;
    EXPECT_NE(error.find("supported: "), std::string::npos) << error;
  }
  Json json = unknown();
  json["layer_types"] = std::vector<std::string>(32, "linear_attention");
  EXPECT_NE(unknown_error(json).find("layer_types names linear_attention"), std::string::npos);
  for (const char* name : {"num_key_value_heads", "hidden_size", "num_hidden_layers"}) {
    Json without = unknown();
    without.erase(name);
    EXPECT_NE(unknown_error(without).find(std::string(name) + " is missing"), std::string::npos);
  }
}

TEST(Traps, AnExplicitHeadDimStandsAboveHiddenSizeOverHeads) {
  Json json = testing::llama();
  json["head_dim"] = 64;
  EXPECT_EQ(parse_unknown(json).layers[0].head_dim, 64);
}

TEST(Traps, ASwitchedOffSlidingWindowIsNone) {
  Json json = testing::qwen3();
  json["use_sliding_window"] = false;
  json["sliding_window"] = 4096;
  EXPECT_FALSE(parse_unknown(json).any_windowed());
}

TEST(Traps, TheWindowPatternOfGemma3MovesTheFullLayers) {
  Json json = testing::gemma2();
  json["model_type"] = "gemma3_text";
  json["num_hidden_layers"] = 12;
  json["sliding_window"] = 1024;
  json["sliding_window_pattern"] = 4;
  const ModelConfig model = parse_unknown(json);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(model.layers[i].window, (i + 1) % 4 == 0 ? 0 : 1024) << i;
  }
}

TEST(Traps, TiedEmbeddingsCountOnce) {
  Json json = testing::llama();
  json["tie_word_embeddings"] = true;
  EXPECT_EQ(parse_unknown(json).weights.parameters(), 8030261248 - 128256 * 4096L);
  EXPECT_TRUE(parse_unknown(json).tied_embeddings);
}

TEST(Traps, Gemma3nStaysRefusedThoughItsFieldsMayLookPlain) {
  Json json = testing::llama();
  json["model_type"] = "gemma3n";
  EXPECT_NE(unknown_error(json).find("gemma3n is not supported"), std::string::npos);
}

}  // namespace
}  // namespace octavo::sim
