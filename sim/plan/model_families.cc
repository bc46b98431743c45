#include "model_families.h"

#include <algorithm>

#include "octavo/sim/model_config.h"
#include "special_families.h"

namespace octavo::sim {
namespace {

const std::vector<Family>& families() {
  static const std::vector<Family> table = {
      {.model_type = "gemma2",
       .windows = WindowRule::EvenLayers,
       .norms_per_layer = 4,
       .tied_by_default = true,
       .head_dim_required = true},
      {.model_type = "gemma3_text",
       .windows = WindowRule::AllButEveryNth,
       .qk_norm = true,
       .norms_per_layer = 4,
       .tied_by_default = true,
       .head_dim_required = true,
       .default_heads = 8,
       .default_kv_heads = 4,
       .default_head_dim = 256,
       .default_vocab_size = 262208,
       .default_max_positions = 131072,
       .default_window_pattern = 6},
      {.model_type = "gpt_oss",
       .windows = WindowRule::LayerTypesOnly,
       .mlp = MlpKind::GptOss,
       .attention_sinks = true,
       .head_dim_required = true,
       .bfloat16_by_default = true},
      {.model_type = "llama", .kv_heads_default_to_heads = true},
      {.model_type = "mistral", .windows = WindowRule::AllLayers, .default_window = 4096},
      {.model_type = "mixtral", .windows = WindowRule::AllLayers, .mlp = MlpKind::Mixtral},
      {.model_type = "qwen2", .windows = WindowRule::FromLayer, .bias = BiasRule::QkvAlways},
      {.model_type = "qwen2_moe",
       .windows = WindowRule::FromLayer,
       .mlp = MlpKind::Qwen2Moe,
       .bias = BiasRule::QkvAlways},
      {.model_type = "qwen3",
       .windows = WindowRule::FromLayer,
       .qk_norm = true,
       .head_dim_required = true},
      {.model_type = "qwen3_moe",
       .windows = WindowRule::FromLayer,
       .mlp = MlpKind::Qwen3Moe,
       .qk_norm = true,
       .head_dim_required = true},
  };
  return table;
}

// text_config.model_type is "qwen3_vl_text" and the like; the tower itself is the plain family.
constexpr Wrapper kWrappers[] = {
    {"gemma3", "gemma3_text", false},
    {"mistral3", "mistral", false},
    {"qwen3_vl", "qwen3", true},
    {"qwen3_vl_moe", "qwen3_moe", true},
};

constexpr Refusal kRefusals[] = {
    {"gemma3n", "some of its layers share the K and V of others (num_kv_shared_layers)",
     "rows that several layers share, and its per-layer embeddings in the weight count"},
    {"mllama", "some of its layers are cross-attention to the image",
     "cross-attention rows sized by the image"},
};

}  // namespace

const Family* find_family(std::string_view model_type) {
  for (const Family& family : families()) {
    if (family.model_type == model_type) {
      return &family;
    }
  }
  return nullptr;
}

const Wrapper* find_wrapper(std::string_view model_type) {
  for (const Wrapper& wrapper : kWrappers) {
    if (wrapper.model_type == model_type) {
      return &wrapper;
    }
  }
  return nullptr;
}

const Refusal* find_refusal(std::string_view model_type) {
  for (const Refusal& refusal : kRefusals) {
    if (refusal.model_type == model_type) {
      return &refusal;
    }
  }
  return nullptr;
}

const std::vector<ForeignField>& foreign_fields() {
  static const std::vector<ForeignField> fields = {
      {"kv_lora_rank", "a latent instead of K and V heads"},
      {"block_configs", "heads of their own in every layer"},
      {"attention_chunk_size", "chunked attention"},
      {"hybrid_override_pattern", "layers that are no attention"},
      {"hybrid_layer_pattern", "layers of several kinds"},
      {"full_attention_interval", "layers that are no attention"},
      {"linear_num_value_heads", "layers that are no attention"},
      {"mamba_num_heads", "layers that are no attention"},
      {"global_head_dim", "heads of another size in full layers"},
      {"num_global_key_value_heads", "another number of heads in full layers"},
      {"num_kv_shared_layers", "layers that share K and V"},
      {"attention_k_eq_v", "K and V stored once"},
      {"cross_attention_layers", "cross-attention layers"},
      {"is_encoder_decoder", "an encoder with cross-attention"},
  };
  return fields;
}

std::vector<std::string> supported_model_types() {
  std::vector<std::string> names;
  for (const Family& family : families()) {
    names.emplace_back(family.model_type);
  }
  for (const Wrapper& wrapper : kWrappers) {
    names.emplace_back(wrapper.model_type);
  }
  for (const SpecialFamily& special : special_families()) {
    names.emplace_back(special.model_type);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace octavo::sim
