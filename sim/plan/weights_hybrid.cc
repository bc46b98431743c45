// Weights of gated delta nets (Qwen3-Next, Qwen3.5) and of Nemotron-H.
#include <algorithm>

#include "checked.h"
#include "special_families.h"
#include "text_tower.h"

namespace octavo::sim {
namespace {

std::int64_t count_of(const ModelConfig& model, CacheKind kind) {
  return std::count_if(model.layers.begin(), model.layers.end(),
                       [kind](const CacheLayer& layer) { return layer.kind == kind; });
}

const StateShape& state_of(const ModelConfig& model) {
  return std::find_if(model.layers.begin(), model.layers.end(),
                      [](const CacheLayer& layer) { return layer.kind == CacheKind::State; })
      ->state;
}

/// Query, key, value and their gates; then a convolution, decay, norm and the projection back.
void count_delta_layers(const ModelConfig& model, bool fused, WeightCounter& counter) {
  const std::int64_t layers = count_of(model, CacheKind::State);
  if (layers == 0) {
    return;
  }
  const StateShape& state = state_of(model);
  const std::int64_t v_width = state.heads * state.v_dim;
  if (fused) {
    counter.linear("linear_attn.in_proj_qkvz", layers, state.conv_channels + v_width,
                   model.hidden_size);
    counter.linear("linear_attn.in_proj_ba", layers, 2 * state.heads, model.hidden_size);
  } else {
    counter.linear("linear_attn.in_proj_qkv", layers, state.conv_channels, model.hidden_size);
    counter.linear("linear_attn.in_proj_z", layers, v_width, model.hidden_size);
    counter.linear("linear_attn.in_proj_b", layers, state.heads, model.hidden_size);
    counter.linear("linear_attn.in_proj_a", layers, state.heads, model.hidden_size);
  }
  counter.plain(layers, state.conv_channels, state.conv_width + 1);
  counter.plain(2 * layers, state.heads);  // decay and the bias of its step
  counter.plain(layers, state.v_dim);      // the norm of a head
  counter.linear("linear_attn.out_proj", layers, model.hidden_size, v_width);
  counter.finish("state layers");
}

void count_sparse_mlp(const JsonFields& text, const ModelConfig& model, WeightCounter& counter) {
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  const std::int64_t every =
      text.optional_integer("decoder_sparse_step", 1, kLayersMax).value_or(1);
  std::vector<std::int64_t> dense_layers;
  if (text.has("mlp_only_layers")) {
    dense_layers = text.integers("mlp_only_layers", 0, layers - 1);
  }
  std::int64_t moe = 0;
  for (std::int64_t i = 0; i < layers; ++i) {
    const bool listed =
        std::find(dense_layers.begin(), dense_layers.end(), i) != dense_layers.end();
    moe += model.experts > 0 && !listed && (i + 1) % every == 0 ? 1 : 0;
  }
  if (moe < layers) {
    counter.gated_mlp("mlp", layers - moe, model.hidden_size,
                      text.integer("intermediate_size", 1, kWidthMax));
    counter.finish("MLP");
  }
  if (moe == 0) {
    return;
  }
  counter.gated_experts(moe * model.experts, model.hidden_size,
                        text.integer("moe_intermediate_size", 1, kWidthMax));
  counter.finish("experts");
  const std::int64_t shared =
      text.optional_integer("shared_expert_intermediate_size", 0, kWidthMax).value_or(0);
  if (shared > 0) {
    counter.gated_mlp("mlp.shared_expert", moe, model.hidden_size, shared);
    counter.plain(moe, model.hidden_size);  // the sigmoid gate before it
    counter.finish("shared experts");
  }
  counter.plain(moe, model.experts, model.hidden_size);
  counter.finish("routers");
}

void count_nemotron_experts(const JsonFields& text,
                            const ModelConfig& model,
                            std::int64_t layers,
                            WeightCounter& counter) {
  if (text.says("moe_latent_size")) {
    text.fail("moe_latent_size", "is set: experts in a latent space are not counted");
  }
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t width = text.integer("moe_intermediate_size", 1, kWidthMax);
  counter.expert("mixer.experts.up_proj", layers * model.experts, width, hidden);
  counter.expert("mixer.experts.down_proj", layers * model.experts, hidden, width);
  counter.finish("experts");
  const std::int64_t number = text.optional_integer("n_shared_experts", 0, 1024).value_or(0);
  if (number > 0) {
    const std::int64_t shared =
        number * text.integer("moe_shared_expert_intermediate_size", 1, kWidthMax);
    counter.linear("mixer.shared_experts.up_proj", layers, shared, hidden);
    counter.linear("mixer.shared_experts.down_proj", layers, hidden, shared);
    counter.finish("shared experts");
  }
  counter.plain(layers, model.experts, hidden + 1);
  counter.finish("routers");
}

}  // namespace

std::int64_t count_delta_net(const JsonFields& text,
                             const ModelConfig& model,
                             WeightCounter& counter) {
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t full = count_of(model, CacheKind::Attention);
  const std::int64_t q_width = model.attention_heads * model.head_dim;
  const std::int64_t gate = text.boolean("attn_output_gate", true) ? 2 : 1;
  count_ends(model, counter);
  counter.linear("self_attn.q_proj", full, gate * q_width, hidden);
  counter.linear("self_attn.k_proj", full, model.kv_heads * model.head_dim, hidden);
  counter.linear("self_attn.v_proj", full, model.kv_heads * model.head_dim, hidden);
  counter.linear("self_attn.o_proj", full, hidden, q_width);
  counter.plain(2 * full, model.head_dim);
  counter.finish("attention");
  count_delta_layers(model, model.model_type == "qwen3_next", counter);
  count_sparse_mlp(text, model, counter);
  counter.plain(2 * layers + 1, hidden);
  counter.finish("norms");
  constexpr std::int64_t kRotaryPart = 4;  // a quarter of a head turns
  return model.head_dim / kRotaryPart;
}

std::int64_t count_nemotron_h(const JsonFields& text,
                              const ModelConfig& model,
                              WeightCounter& counter) {
  const std::string pattern = text.string("hybrid_override_pattern");
  const auto letters = [&](char letter) {
    return static_cast<std::int64_t>(std::count(pattern.begin(), pattern.end(), letter));
  };
  for (const char* name : {"use_bias", "attention_bias", "mlp_bias", "mamba_proj_bias"}) {
    if (text.says(name)) {
      text.fail(name, "is set: such biases are not counted");
    }
  }
  const std::int64_t hidden = model.hidden_size;
  count_ends(model, counter);
  const std::int64_t q_width = model.attention_heads * model.head_dim;
  const std::int64_t kv_width = model.kv_heads * model.head_dim;
  counter.linear("mixer.q_proj", letters('*'), q_width, hidden);
  counter.linear("mixer.k_proj", letters('*'), kv_width, hidden);
  counter.linear("mixer.v_proj", letters('*'), kv_width, hidden);
  counter.linear("mixer.o_proj", letters('*'), hidden, q_width);
  counter.finish("attention");
  if (const std::int64_t states = letters('M'); states > 0) {
    count_mamba2_layers(states, hidden, state_of(model), text.boolean("use_conv_bias", true), true,
                        counter);
    counter.finish("state layers");
  }
  if (const std::int64_t mlps = letters('-'); mlps > 0) {
    const std::int64_t width = text.integer("intermediate_size", 1, kWidthMax);
    counter.linear("mixer.up_proj", mlps, width, hidden);
    counter.linear("mixer.down_proj", mlps, hidden, width);
    counter.finish("MLP");
  }
  if (const std::int64_t moe = letters('E'); moe > 0) {
    count_nemotron_experts(text, model, moe, counter);
  }
  counter.plain(static_cast<std::int64_t>(pattern.size()) + 1, hidden);
  counter.finish("norms");
  return 0;
}

}  // namespace octavo::sim
