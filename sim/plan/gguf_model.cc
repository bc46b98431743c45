#include "gguf_model.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "gguf_file.h"
#include "tensor_weights.h"
#include "text_tower.h"
#include <nlohmann/json.hpp>

namespace octavo::sim {
namespace {

struct Architecture {
  std::string_view gguf;
  std::string_view dense;    ///< The model_type without experts; empty when there is none,
  std::string_view experts;  ///< and with.
};

constexpr Architecture kArchitectures[] = {
    {"deci", "nemotron-nas", ""},  {"deepseek2", "deepseek_v3", "deepseek_v3"},
    {"gemma2", "gemma2", ""},      {"gemma3", "gemma3_text", ""},
    {"gpt-oss", "", "gpt_oss"},    {"jamba", "jamba", "jamba"},
    {"llama", "llama", "mixtral"}, {"mamba", "mamba", ""},
    {"qwen2", "qwen2", ""},        {"qwen2moe", "", "qwen2_moe"},
    {"qwen3", "qwen3", ""},        {"qwen3moe", "", "qwen3_moe"},
};

/// The fields of a config.json, filled from the keys below the architecture's name.
class Fields {
 public:
  Fields(const GgufFile& file, std::string architecture)
      : file_(file), prefix_(std::move(architecture) + ".") {}

  std::optional<std::int64_t> number(const std::string& key) const {
    return file_.number(prefix_ + key);
  }
  std::int64_t required(const std::string& key) const {
    const auto value = number(key);
    if (!value) {
      file_.fail(prefix_ + key, "is missing, expected a number");
    }
    return *value;
  }
  /// Sets `field` where the key is there.
  void copy(const std::string& key, const char* field) {
    if (const auto value = number(key)) {
      json[field] = *value;
    }
  }
  std::vector<std::int64_t> layers(const std::string& key, std::int64_t layers) const {
    return file_.numbers(prefix_ + key, layers);
  }
  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    file_.fail(prefix_ + key, what);
  }

  nlohmann::json json;

 private:
  const GgufFile& file_;
  std::string prefix_;
};

[[noreturn]] void refuse(const GgufFile& file, const std::string& architecture) {
  std::string known;
  for (const Architecture& one : kArchitectures) {
    known += (known.empty() ? "" : ", ") + std::string(one.gguf);
  }
  file.fail("general.architecture",
            architecture +
                " is not read from GGUF files: that would need to know which of its keys say what "
                "a layer caches; name a config.json instead. Supported: " +
                known);
}

const Architecture& find_architecture(const GgufFile& file, const std::string& name) {
  for (const Architecture& one : kArchitectures) {
    if (one.gguf == name) {
      return one;
    }
  }
  refuse(file, name);
}

std::int64_t vocabulary(const GgufFile& file, const Fields& fields) {
  if (const auto size = fields.number("vocab_size")) {
    return *size;
  }
  if (const auto tokens = file.length("tokenizer.ggml.tokens")) {
    return *tokens;
  }
  file.fail("tokenizer.ggml.tokens", "is missing, and no vocab_size either");
}

void copy_heads(Fields& fields) {
  fields.copy("attention.head_count", "num_attention_heads");
  fields.copy("attention.head_count_kv", "num_key_value_heads");
  if (!fields.json.contains("num_key_value_heads")) {
    fields.json["num_key_value_heads"] = fields.required("attention.head_count");
  }
  const auto key = fields.number("attention.key_length");
  const auto value = fields.number("attention.value_length");
  if (key) {
    fields.json["head_dim"] = *key;
    fields.json["v_head_dim"] = value.value_or(*key);
  } else if (const std::int64_t heads = fields.required("attention.head_count"); heads > 0) {
    fields.json["head_dim"] = fields.required("embedding_length") / heads;
  }
}

void copy_experts(Fields& fields, std::string_view model_type) {
  const auto experts = fields.number("expert_count");
  if (!experts || *experts == 0) {
    return;
  }
  const bool local = model_type == "mixtral" || model_type == "gpt_oss" || model_type == "jamba";
  const bool latent = model_type == "deepseek_v3";
  fields.json[latent ? "n_routed_experts" : local ? "num_local_experts" : "num_experts"] = *experts;
  fields.copy("expert_used_count", "num_experts_per_tok");
  fields.copy("expert_feed_forward_length", "moe_intermediate_size");
  if (model_type == "gpt_oss") {
    fields.copy("expert_feed_forward_length", "intermediate_size");
  }
  if (!fields.json.contains("intermediate_size")) {
    fields.copy("expert_feed_forward_length", "intermediate_size");
  }
  fields.copy("expert_shared_feed_forward_length", "shared_expert_intermediate_size");
  if (latent) {
    fields.copy("expert_shared_count", "n_shared_experts");
  }
}

/// Each layer's own heads: blocks of the Nemotron NAS kind.
void copy_blocks(Fields& fields, std::int64_t layers) {
  const auto heads = fields.layers("attention.head_count", layers);
  const auto kv_heads = fields.layers("attention.head_count_kv", layers);
  if (heads.empty() || kv_heads.empty()) {
    fields.fail("attention.head_count_kv", "is missing, expected one number a layer");
  }
  const std::int64_t most = *std::max_element(heads.begin(), heads.end());
  fields.json["num_attention_heads"] = most;
  // Widths of the MLPs only matter to the activations; the tensors say what the weights are.
  const auto widths = fields.layers("feed_forward_length", layers);
  nlohmann::json blocks = nlohmann::json::array();
  for (std::size_t i = 0; i < kv_heads.size(); ++i) {
    const bool none = kv_heads[i] == 0;
    if (!none && most % kv_heads[i] != 0) {
      fields.fail("attention.head_count_kv", "has the entry " + std::to_string(kv_heads[i]) +
                                                 ", expected divisors of " + std::to_string(most));
    }
    const double width = widths.empty() ? 0 : static_cast<double>(widths[i]);
    const double multiple =
        width * 3 / 2 / static_cast<double>(fields.required("embedding_length"));
    blocks.push_back(
        {{"attention", {{"no_op", none}, {"n_heads_in_group", none ? 1 : most / kv_heads[i]}}},
         {"ffn", {{"no_op", width == 0}, {"ffn_mult", multiple}}}});
  }
  fields.json["block_configs"] = blocks;
  fields.json["head_dim"] =
      fields.number("attention.key_length").value_or(fields.required("rope.dimension_count"));
}

void copy_jamba(Fields& fields, std::int64_t layers) {
  const auto kv_heads = fields.layers("attention.head_count_kv", layers);
  std::vector<std::int64_t> attention;
  for (std::size_t i = 0; i < kv_heads.size(); ++i) {
    if (kv_heads[i] > 0) {
      attention.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (attention.size() < 2) {
    fields.fail("attention.head_count_kv", "names fewer than two layers with attention");
  }
  const std::int64_t period = attention[1] - attention[0];
  for (std::int64_t i = 0; i < layers; ++i) {
    const bool expected = i % period == attention[0];
    if (expected != (kv_heads[static_cast<std::size_t>(i)] > 0)) {
      fields.fail("attention.head_count_kv", "has attention in no regular layers");
    }
  }
  fields.json["attn_layer_period"] = period;
  fields.json["attn_layer_offset"] = attention[0];
  fields.json["num_key_value_heads"] = kv_heads[static_cast<std::size_t>(attention[0])];
  const auto heads = fields.layers("attention.head_count", layers);
  fields.json["num_attention_heads"] =
      heads.empty() ? 0 : *std::max_element(heads.begin(), heads.end());
  const std::int64_t hidden = fields.required("embedding_length");
  fields.json["mamba_expand"] = hidden > 0 ? fields.required("ssm.inner_size") / hidden : 0;
  fields.copy("ssm.state_size", "mamba_d_state");
  fields.copy("ssm.conv_kernel", "mamba_d_conv");
}

void copy_kind(Fields& fields, std::string_view model_type, std::int64_t layers) {
  if (model_type == "nemotron-nas") {
    return copy_blocks(fields, layers);
  }
  if (model_type == "jamba") {
    return copy_jamba(fields, layers);
  }
  if (model_type == "mamba") {
    fields.json["intermediate_size"] = fields.required("ssm.inner_size");
    fields.copy("ssm.state_size", "state_size");
    fields.copy("ssm.conv_kernel", "conv_kernel");
    return;
  }
  if (model_type == "deepseek_v3") {
    fields.copy("attention.head_count", "num_attention_heads");
    fields.json["kv_lora_rank"] = fields.required("attention.kv_lora_rank");
    fields.json["qk_rope_head_dim"] = fields.required("rope.dimension_count");
    return;
  }
  copy_heads(fields);
  if (model_type == "gemma2" || model_type == "gemma3_text" || model_type == "gpt_oss") {
    fields.json["sliding_window"] = fields.required("attention.sliding_window");
  } else if (fields.number("attention.sliding_window").value_or(0) > 0) {
    fields.fail("attention.sliding_window",
                "is set, but which layers of this architecture have a window is not known");
  }
  if (model_type == "gpt_oss") {
    nlohmann::json types = nlohmann::json::array();
    for (std::int64_t i = 0; i < layers; ++i) {
      types.push_back(i % 2 == 0 ? "sliding_attention" : "full_attention");
    }
    fields.json["layer_types"] = types;
  }
}

}  // namespace

ModelConfig read_gguf_model(const std::string& path) {
  const GgufFile file(path);
  if (const auto parts = file.number("split.count"); parts && *parts > 1) {
    file.fail("split.count", "is " + std::to_string(*parts) +
                                 ": the file is one of several parts, expected them merged");
  }
  const auto name = file.text("general.architecture");
  if (!name) {
    file.fail("general.architecture", "is missing, expected a text");
  }
  const Architecture& architecture = find_architecture(file, *name);
  Fields fields(file, *name);
  const bool experts = fields.number("expert_count").value_or(0) > 0;
  const std::string_view model_type = experts ? architecture.experts : architecture.dense;
  if (model_type.empty()) {
    file.fail(*name + ".expert_count", experts ? "is set, which the architecture does not have"
                                               : "is missing, expected a number");
  }
  fields.json["model_type"] = model_type;
  const std::int64_t layers = fields.required("block_count");
  if (layers < 1 || layers > kLayersMax) {
    file.fail(*name + ".block_count",
              "is " + std::to_string(layers) + ", expected 1 to " + std::to_string(kLayersMax));
  }
  fields.json["num_hidden_layers"] = layers;
  fields.copy("embedding_length", "hidden_size");
  fields.copy("context_length", "max_position_embeddings");
  if (model_type != "nemotron-nas") {
    fields.copy("feed_forward_length", "intermediate_size");
  }
  fields.json["vocab_size"] = vocabulary(file, fields);
  copy_experts(fields, model_type);
  copy_kind(fields, model_type, layers);
  ModelConfig model = parse_model_config(fields.json.dump(), path);
  const std::int64_t rotary_bytes = model.weights.rotary_bytes;
  model.weights = add_up_tensors(file.tensors(), layers, "GGUF", model.notes);
  model.weights.rotary_bytes = rotary_bytes;
  return model;
}

}  // namespace octavo::sim
