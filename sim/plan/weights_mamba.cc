// Weights of the Mamba families: Jamba, Falcon-H1, Mamba and Mamba 2.
#include <algorithm>

#include "checked.h"
#include "special_families.h"
#include "text_tower.h"

namespace octavo::sim {
namespace {

/// A Mamba 1 layer: the step's rank comes from the config, or is a sixteenth of hidden_size.
void count_mamba_layers(std::int64_t layers,
                        std::int64_t hidden,
                        const StateShape& state,
                        std::int64_t rank,
                        bool conv_bias,
                        WeightCounter& counter) {
  const std::int64_t inner = state.heads;
  const std::int64_t size = state.v_dim;
  counter.linear("mamba.in_proj", layers, 2 * inner, hidden);
  counter.plain(layers, inner, state.conv_width + 1 + (conv_bias ? 1 : 0));
  counter.linear("mamba.x_proj", layers, rank + 2 * size, inner);
  counter.linear("mamba.dt_proj", layers, inner, rank);
  counter.plain(layers, inner);        // its bias
  counter.plain(layers, inner, size);  // A
  counter.plain(layers, inner);        // D
  counter.linear("mamba.out_proj", layers, hidden, inner);
}

std::int64_t step_rank(const JsonFields& text, std::string_view name, std::int64_t hidden) {
  constexpr std::int64_t kPart = 16;
  if (!text.has(name) || text.holds_text(name)) {
    return ceil_div(hidden, kPart);  // "auto"
  }
  return text.integer(name, 1, kWidthMax);
}

const StateShape& first_state(const ModelConfig& model) {
  return std::find_if(model.layers.begin(), model.layers.end(),
                      [](const CacheLayer& layer) { return layer.kind == CacheKind::State; })
      ->state;
}

void count_plain_attention(std::int64_t layers, const ModelConfig& model, WeightCounter& counter) {
  const std::int64_t q_width = model.attention_heads * model.head_dim;
  const std::int64_t kv_width = model.kv_heads * model.head_dim;
  counter.linear("self_attn.q_proj", layers, q_width, model.hidden_size);
  counter.linear("self_attn.k_proj", layers, kv_width, model.hidden_size);
  counter.linear("self_attn.v_proj", layers, kv_width, model.hidden_size);
  counter.linear("self_attn.o_proj", layers, model.hidden_size, q_width);
  counter.finish("attention");
}

void refuse_biases(const JsonFields& text, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (text.says(name)) {
      text.fail(name, "is set: such biases are not counted");
    }
  }
}

}  // namespace

void count_mamba2_layers(std::int64_t layers,
                         std::int64_t hidden,
                         const StateShape& state,
                         bool conv_bias,
                         bool norm,
                         WeightCounter& counter) {
  const std::int64_t inner = state.heads * state.v_dim;
  // The gate, the convolution's inputs and one step a head.
  counter.linear("mixer.in_proj", layers, inner + state.conv_channels + state.heads, hidden);
  counter.plain(layers, state.conv_channels, state.conv_width + 1 + (conv_bias ? 1 : 0));
  counter.plain(3 * layers, state.heads);  // A, D and the step's bias
  counter.plain(norm ? layers : 0, inner);
  counter.linear("mixer.out_proj", layers, hidden, inner);
}

std::int64_t count_jamba(const JsonFields& text, const ModelConfig& model, WeightCounter& counter) {
  refuse_biases(text, {"mamba_proj_bias"});
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t full =
      std::count_if(model.layers.begin(), model.layers.end(),
                    [](const CacheLayer& layer) { return layer.kind == CacheKind::Attention; });
  count_ends(model, counter);
  count_plain_attention(full, model, counter);
  if (full < layers) {
    const StateShape& state = first_state(model);
    const std::int64_t rank = step_rank(text, "mamba_dt_rank", hidden);
    count_mamba_layers(layers - full, hidden, state, rank, text.boolean("mamba_conv_bias", true),
                       counter);
    counter.plain(layers - full, rank + 2 * state.v_dim);  // norms of the step, B and C
    counter.finish("state layers");
  }
  const std::int64_t width = text.integer("intermediate_size", 1, kWidthMax);
  const std::int64_t period = text.integer("expert_layer_period", 1, kLayersMax);
  const std::int64_t offset = text.integer("expert_layer_offset", 0, period - 1);
  std::int64_t moe = 0;
  for (std::int64_t i = 0; i < layers; ++i) {
    moe += model.experts > 1 && i % period == offset ? 1 : 0;
  }
  counter.gated_mlp("feed_forward", layers - moe, hidden, width);
  counter.finish("MLP");
  counter.gated_experts(moe * model.experts, hidden, width);
  counter.finish("experts");
  counter.plain(moe, model.experts, hidden);
  counter.finish("routers");
  counter.plain(2 * layers + 1, hidden);
  counter.finish("norms");
  return 0;
}

std::int64_t count_falcon_h1(const JsonFields& text,
                             const ModelConfig& model,
                             WeightCounter& counter) {
  refuse_biases(text, {"projectors_bias", "mamba_proj_bias", "attention_bias", "mlp_bias"});
  const auto layers = static_cast<std::int64_t>(model.layers.size() / 2);
  const std::int64_t hidden = model.hidden_size;
  count_ends(model, counter);
  count_plain_attention(layers, model, counter);
  count_mamba2_layers(layers, hidden, first_state(model), text.boolean("mamba_conv_bias", true),
                      text.boolean("mamba_rms_norm", false), counter);
  counter.finish("state layers");
  counter.gated_mlp("feed_forward", layers, hidden,
                    text.integer("intermediate_size", 1, kWidthMax));
  counter.finish("MLP");
  counter.plain(2 * layers + 1, hidden);
  counter.finish("norms");
  return model.head_dim;
}

std::int64_t count_mamba(const JsonFields& text, const ModelConfig& model, WeightCounter& counter) {
  refuse_biases(text, {"use_bias"});
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  count_ends(model, counter);
  count_mamba_layers(layers, model.hidden_size, first_state(model),
                     step_rank(text, "time_step_rank", model.hidden_size),
                     text.boolean("use_conv_bias", true), counter);
  counter.finish("state layers");
  counter.plain(layers + 1, model.hidden_size);
  counter.finish("norms");
  return 0;
}

std::int64_t count_mamba2(const JsonFields& text,
                          const ModelConfig& model,
                          WeightCounter& counter) {
  refuse_biases(text, {"use_bias"});
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  count_ends(model, counter);
  count_mamba2_layers(layers, model.hidden_size, first_state(model),
                      text.boolean("use_conv_bias", true), true, counter);
  counter.finish("state layers");
  counter.plain(layers + 1, model.hidden_size);
  counter.finish("norms");
  return 0;
}

}  // namespace octavo::sim
