// Weights of the families whose attention layers differ: Gemma 4, MiMo V2, Llama 4 and the Nemotron
// models of neural architecture search.
#include <algorithm>

#include "checked.h"
#include "special_families.h"
#include "text_tower.h"

namespace octavo::sim {
namespace {

/// k and v have `kv_heads` of the layer; without `has_v`, v is a copy of k.
void count_projections(const CacheLayer& layer,
                       std::int64_t heads,
                       std::int64_t hidden,
                       bool has_v,
                       WeightCounter& counter) {
  const std::int64_t v_dim = layer.v_head_dim > 0 ? layer.v_head_dim : layer.head_dim;
  counter.linear("self_attn.q_proj", 1, heads * layer.head_dim, hidden);
  counter.linear("self_attn.k_proj", 1, layer.kv_heads * layer.head_dim, hidden);
  counter.linear("self_attn.v_proj", has_v ? 1 : 0, layer.kv_heads * v_dim, hidden);
  counter.linear("self_attn.o_proj", 1, hidden, heads * v_dim);
}

std::int64_t number_of(const std::vector<std::int64_t>& pattern) {
  return static_cast<std::int64_t>(pattern.size()) -
         std::count(pattern.begin(), pattern.end(), std::int64_t{0});
}

/// Rows of other layers are read through their own q and o only.
void count_gemma4_attention(const JsonFields& text,
                            const ModelConfig& model,
                            WeightCounter& counter) {
  const bool k_is_v = text.boolean("attention_k_eq_v", false);
  const std::int64_t full_dim =
      text.optional_integer("global_head_dim", 1, kHeadDimMax).value_or(model.head_dim);
  const std::vector<std::string> types = text.strings("layer_types");
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const bool full = types[i] == "full_attention";
    CacheLayer layer = model.layers[i];
    if (layer.kind == CacheKind::None) {
      const std::int64_t width = model.attention_heads * (full ? full_dim : model.head_dim);
      counter.linear("self_attn.q_proj", 1, width, model.hidden_size);
      counter.linear("self_attn.o_proj", 1, model.hidden_size, width);
      counter.plain(1, full ? full_dim : model.head_dim);
      continue;
    }
    count_projections(layer, model.attention_heads, model.hidden_size, !(full && k_is_v), counter);
    counter.plain(2, layer.head_dim);  // norms of q and k
  }
  counter.finish("attention");
}

/// Embeddings of every layer, and their gate and projection in each.
void count_layer_inputs(const JsonFields& text, const ModelConfig& model, WeightCounter& counter) {
  const std::int64_t width =
      text.optional_integer("hidden_size_per_layer_input", 0, kWidthMax).value_or(0);
  if (width == 0) {
    return;
  }
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  const std::int64_t vocab =
      text.optional_integer("vocab_size_per_layer_input", 1, kVocabMax).value_or(model.vocab_size);
  counter.plain(1, vocab, layers * width);
  counter.finish("embedding of the layers");
  counter.linear("per_layer_model_projection", 1, layers * width, model.hidden_size);
  counter.plain(1, width);
  counter.linear("per_layer_input_gate", layers, width, model.hidden_size);
  counter.linear("per_layer_projection", layers, model.hidden_size, width);
  counter.plain(layers, model.hidden_size);
  counter.finish("inputs of the layers");
}

}  // namespace

std::int64_t count_gemma4(const JsonFields& text,
                          const ModelConfig& model,
                          WeightCounter& counter) {
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  const std::int64_t hidden = model.hidden_size;
  count_ends(model, counter);
  count_gemma4_attention(text, model, counter);
  const std::int64_t width = text.integer("intermediate_size", 1, kWidthMax);
  const auto sharing = static_cast<std::int64_t>(
      std::count_if(model.layers.begin(), model.layers.end(),
                    [](const CacheLayer& layer) { return layer.kind == CacheKind::None; }));
  const std::int64_t wide = text.boolean("use_double_wide_mlp", false) ? sharing : 0;
  counter.gated_mlp("mlp", layers - wide, hidden, width);
  counter.gated_mlp("mlp", wide, hidden, 2 * width);
  counter.finish("MLP");
  std::int64_t norms = 4;
  if (text.boolean("enable_moe_block", false)) {
    const std::int64_t experts = text.integer("num_experts", 1, kExpertsMax);
    counter.gated_experts(layers * experts, hidden,
                          text.integer("moe_intermediate_size", 1, kWidthMax));
    counter.finish("experts");
    counter.plain(layers, experts, hidden);
    counter.plain(layers, hidden + experts);  // a scale of the inputs and one of each expert
    counter.finish("routers");
    norms += 3;
  }
  count_layer_inputs(text, model, counter);
  counter.plain(norms * layers + 1, hidden);
  counter.plain(layers, 1);  // the scale of a layer's output
  counter.finish("norms");
  const std::int64_t full_dim =
      text.optional_integer("global_head_dim", 1, kHeadDimMax).value_or(model.head_dim);
  return model.head_dim + full_dim;  // two tables
}

std::int64_t count_mimo(const JsonFields& text, const ModelConfig& model, WeightCounter& counter) {
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  const std::int64_t hidden = model.hidden_size;
  count_ends(model, counter);
  for (const CacheLayer& layer : model.layers) {
    const bool windowed = layer.window > 0;
    const std::int64_t heads = windowed
                                   ? text.optional_integer("swa_num_attention_heads", 1, kHeadsMax)
                                         .value_or(model.attention_heads)
                                   : model.attention_heads;
    count_projections(layer, heads, hidden, true, counter);
    if (text.boolean(windowed ? "add_swa_attention_sink_bias" : "add_full_attention_sink_bias",
                     false)) {
      counter.plain(1, heads);
    }
  }
  counter.finish("attention");
  const std::int64_t moe = number_of(text.integers("moe_layer_freq", 0, 1));
  if (moe > layers) {
    text.fail("moe_layer_freq", "has more entries than num_hidden_layers");
  }
  counter.gated_mlp("mlp", layers - moe, hidden, text.integer("intermediate_size", 1, kWidthMax));
  counter.finish("MLP");
  const std::int64_t experts = text.integer("n_routed_experts", 1, kExpertsMax);
  const std::int64_t width = text.integer("moe_intermediate_size", 1, kWidthMax);
  counter.gated_experts(moe * experts, hidden, width);
  counter.finish("experts");
  const std::int64_t shared = text.optional_integer("n_shared_experts", 0, kExpertsMax).value_or(0);
  counter.gated_mlp("mlp.shared_experts", shared > 0 ? moe : 0, hidden, shared * width);
  counter.finish("shared experts");
  counter.plain(moe, experts, hidden + 1);  // and the bias that balances the load
  counter.finish("routers");
  counter.plain(2 * layers + 1, hidden);
  counter.finish("norms");
  // Two tables, of the part of a head that turns.
  const double part =
      text.has("partial_rotary_factor") ? text.number("partial_rotary_factor", 0, 1) : 1;
  return 2 * static_cast<std::int64_t>(part * static_cast<double>(model.head_dim));
}

std::int64_t count_llama4(const JsonFields& text,
                          const ModelConfig& model,
                          WeightCounter& counter) {
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  const std::int64_t hidden = model.hidden_size;
  count_ends(model, counter);
  for (const CacheLayer& layer : model.layers) {
    count_projections(layer, model.attention_heads, hidden, true, counter);
    if (text.boolean("attention_bias", false)) {
      counter.plain(1, (model.attention_heads + 2 * model.kv_heads) * model.head_dim + hidden);
    }
  }
  counter.finish("attention");
  std::int64_t moe = 0;
  if (text.says("moe_layers")) {
    moe = static_cast<std::int64_t>(text.integers("moe_layers", 0, layers - 1).size());
  } else {
    moe = layers / text.optional_integer("interleave_moe_layer_step", 1, kLayersMax).value_or(1);
  }
  if (moe < layers) {
    counter.gated_mlp("feed_forward", layers - moe, hidden,
                      text.integer("intermediate_size_mlp", 1, kWidthMax));
    counter.finish("MLP");
  }
  const std::int64_t experts = text.integer("num_local_experts", 1, kExpertsMax);
  const std::int64_t width = text.integer("intermediate_size", 1, kWidthMax);
  counter.expert("feed_forward.experts.gate_up_proj", moe * experts, 2 * width, hidden);
  counter.expert("feed_forward.experts.down_proj", moe * experts, hidden, width);
  counter.finish("experts");
  counter.gated_mlp("feed_forward.shared_expert", moe, hidden, width);
  counter.finish("shared experts");
  counter.plain(moe, experts, hidden);
  counter.finish("routers");
  counter.plain(2 * layers + 1, hidden);
  counter.finish("norms");
  return model.head_dim;
}

std::int64_t count_nemotron_nas(const JsonFields& text,
                                const ModelConfig& model,
                                WeightCounter& counter) {
  const std::int64_t hidden = model.hidden_size;
  count_ends(model, counter);
  const std::vector<JsonFields> blocks = text.objects("block_configs");
  std::int64_t norms = 1;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const JsonFields attention = blocks[i].object("attention");
    norms += attention.boolean("no_op", false) ? 0 : 1;
    if (attention.boolean("replace_with_linear", false)) {
      counter.linear("self_attn.linear_attn", 1, hidden, hidden);
    } else if (model.layers[i].kind != CacheKind::None) {
      count_projections(model.layers[i], model.attention_heads, hidden, true, counter);
    }
  }
  counter.finish("attention");
  for (const JsonFields& block : blocks) {
    const JsonFields ffn = block.object("ffn");
    norms += ffn.boolean("no_op", false) ? 0 : 1;
    if (ffn.boolean("replace_with_linear", false)) {
      counter.linear("mlp.linear_mlp", 1, hidden, hidden);
    } else if (const std::int64_t width = nas_mlp_width(block, hidden); width > 0) {
      counter.gated_mlp("mlp", 1, hidden, width);
    }
  }
  counter.finish("MLP");
  counter.plain(norms, hidden);
  counter.finish("norms");
  return model.head_dim;
}

}  // namespace octavo::sim
