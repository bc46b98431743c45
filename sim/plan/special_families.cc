#include "special_families.h"

#include <algorithm>

#include "checked.h"
#include "text_tower.h"

namespace octavo::sim {
namespace {

constexpr SpecialFamily kFamilies[] = {
    {"deepseek_v2", Nesting::None, read_latent_family, count_latent_family},
    {"deepseek_v3", Nesting::None, read_latent_family, count_latent_family},
    {"deepseek_v32", Nesting::None, read_latent_family, count_latent_family},
    {"falcon_h1", Nesting::None, read_falcon_h1, count_falcon_h1},
    {"gemma4", Nesting::TextConfig, read_gemma4, count_gemma4, true},
    {"gemma4_text", Nesting::None, read_gemma4, count_gemma4, true},
    {"jamba", Nesting::None, read_jamba, count_jamba},
    {"kimi_k2", Nesting::None, read_latent_family, count_latent_family},
    {"llama4", Nesting::TextConfig, read_llama4, count_llama4},
    {"llama4_text", Nesting::None, read_llama4, count_llama4},
    {"mamba", Nesting::None, read_mamba, count_mamba, true},
    {"mamba2", Nesting::None, read_mamba2, count_mamba2},
    {"mimo_v2_flash", Nesting::None, read_mimo, count_mimo},
    {"nemotron-nas", Nesting::None, read_nemotron_nas, count_nemotron_nas},
    {"nemotron_h", Nesting::None, read_nemotron_h, count_nemotron_h},
    {"qwen3_5", Nesting::WithQwenVision, read_delta_net, count_delta_net},
    {"qwen3_5_moe", Nesting::WithQwenVision, read_delta_net, count_delta_net},
    {"qwen3_5_moe_text", Nesting::None, read_delta_net, count_delta_net},
    {"qwen3_5_text", Nesting::None, read_delta_net, count_delta_net},
    {"qwen3_next", Nesting::None, read_delta_net, count_delta_net},
    {"t5", Nesting::None, read_t5, count_t5, true},
    {"whisper", Nesting::None, read_whisper, count_whisper, true},
};

}  // namespace

const SpecialFamily* find_special_family(std::string_view model_type) {
  for (const SpecialFamily& family : kFamilies) {
    if (family.model_type == model_type) {
      return &family;
    }
  }
  return nullptr;
}

std::span<const SpecialFamily> special_families() {
  return kFamilies;
}

void read_common(const JsonFields& text, ModelConfig& model) {
  model.hidden_size = text.integer("hidden_size", 1, kWidthMax);
  model.attention_heads = text.integer("num_attention_heads", 1, kHeadsMax);
  model.kv_heads =
      text.optional_integer("num_key_value_heads", 1, kHeadsMax).value_or(model.attention_heads);
  if (model.attention_heads % model.kv_heads != 0) {
    text.fail("num_key_value_heads", "is " + std::to_string(model.kv_heads) +
                                         ", expected a divisor of num_attention_heads (" +
                                         std::to_string(model.attention_heads) + ")");
  }
  for (const char* name : {"head_dim", "attention_head_dim"}) {
    if (text.has(name)) {
      model.head_dim = text.integer(name, 1, kHeadDimMax);
    }
  }
  if (model.head_dim == 0) {
    if (model.hidden_size % model.attention_heads != 0) {
      text.fail("head_dim", "is missing, and hidden_size is no multiple of num_attention_heads");
    }
    model.head_dim = model.hidden_size / model.attention_heads;
  }
  model.vocab_size = text.integer("vocab_size", 1, kVocabMax);
  model.max_positions = text.integer("max_position_embeddings", 1, kPositionsMax);
  model.mlp_width = widest_mlp(text);
}

void count_ends(const ModelConfig& model, WeightCounter& counter) {
  counter.plain(1, model.vocab_size, model.hidden_size);
  counter.finish(model.tied_embeddings ? "embedding (also the output head)" : "embedding");
  if (!model.tied_embeddings) {
    counter.head(model.vocab_size, model.hidden_size);
    counter.finish("output head");
  }
}

void read_expert_counts(const JsonFields& text, ModelConfig& model) {
  for (const char* name : {"n_routed_experts", "num_experts", "num_local_experts"}) {
    model.experts =
        std::max(model.experts, text.optional_integer(name, 0, kExpertsMax).value_or(0));
  }
  for (const char* name : {"num_experts_per_tok", "top_k_experts"}) {
    model.experts_per_token =
        std::max(model.experts_per_token, text.optional_integer(name, 0, kExpertsMax).value_or(0));
  }
}

std::int64_t widest_mlp(const JsonFields& text) {
  const auto width = [&](const char* name) {
    return text.optional_integer(name, 1, kWidthMax).value_or(0);
  };
  const std::int64_t dense = std::max(width("intermediate_size"), width("intermediate_size_mlp"));
  std::int64_t expert = width("moe_intermediate_size");
  if (expert == 0 && text.has("num_local_experts")) {
    expert = width("intermediate_size");
  }
  std::int64_t routed = 0;
  for (const char* name : {"num_experts_per_tok", "top_k_experts"}) {
    routed = std::max(routed, text.optional_integer(name, 1, kExpertsMax).value_or(0));
  }
  std::int64_t shared = std::max(width("shared_expert_intermediate_size"),
                                 width("moe_shared_expert_intermediate_size"));
  if (shared == 0) {
    shared = expert * text.optional_integer("n_shared_experts", 0, kExpertsMax).value_or(0);
  }
  const std::int64_t moe = checked_mul(expert, routed, "the width of the routed experts") + shared;
  const std::int64_t widest = std::max(dense, moe);
  if (widest == 0) {
    text.fail("intermediate_size", "is missing, expected a whole number");
  }
  return widest;
}

}  // namespace octavo::sim
