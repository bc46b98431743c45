// Small config.json texts for the tests, and the folder of real ones.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace octavo::sim::testing {

using Json = nlohmann::json;

/// Llama-3.1-8B, field by field.
inline Json llama() {
  return {{"model_type", "llama"},
          {"torch_dtype", "bfloat16"},
          {"hidden_size", 4096},
          {"intermediate_size", 14336},
          {"num_hidden_layers", 32},
          {"num_attention_heads", 32},
          {"num_key_value_heads", 8},
          {"vocab_size", 128256},
          {"max_position_embeddings", 131072},
          {"tie_word_embeddings", false}};
}

/// Mistral-7B v0.1.
inline Json mistral() {
  Json json = llama();
  json["model_type"] = "mistral";
  json["vocab_size"] = 32000;
  json["max_position_embeddings"] = 32768;
  json["sliding_window"] = 4096;
  return json;
}

/// Qwen3-8B.
inline Json qwen3() {
  return {{"model_type", "qwen3"},       {"torch_dtype", "bfloat16"},
          {"hidden_size", 4096},         {"head_dim", 128},
          {"intermediate_size", 12288},  {"num_hidden_layers", 36},
          {"num_attention_heads", 32},   {"num_key_value_heads", 8},
          {"vocab_size", 151936},        {"max_position_embeddings", 40960},
          {"use_sliding_window", false}, {"sliding_window", nullptr},
          {"max_window_layers", 36}};
}

/// Gemma-2-9B.
inline Json gemma2() {
  return {{"model_type", "gemma2"},    {"torch_dtype", "bfloat16"},      {"hidden_size", 3584},
          {"head_dim", 256},           {"intermediate_size", 14336},     {"num_hidden_layers", 42},
          {"num_attention_heads", 16}, {"num_key_value_heads", 8},       {"vocab_size", 256000},
          {"sliding_window", 4096},    {"max_position_embeddings", 8192}};
}

/// A file beside the repository that tests may read but do not need; empty when it is not there.
inline std::filesystem::path shared_file(const std::string& name) {
  const std::filesystem::path path =
      std::filesystem::path(OCTAVO_SOURCE_DIR) / ".." / "shared" / name;
  return std::filesystem::exists(path) ? path : std::filesystem::path();
}

}  // namespace octavo::sim::testing
