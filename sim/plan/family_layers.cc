// Families whose attention layers differ in more than their window: Gemma 4, MiMo V2, Llama 4 and
// the Nemotron models of neural architecture search.
#include <algorithm>

#include "special_families.h"
#include "text_tower.h"

namespace octavo::sim {
namespace {

std::int64_t layer_count(const JsonFields& text) {
  return text.integer("num_hidden_layers", 1, kLayersMax);
}

std::vector<std::string> layer_types(const JsonFields& text, std::int64_t layers) {
  const std::vector<std::string> types = text.strings("layer_types");
  if (static_cast<std::int64_t>(types.size()) != layers) {
    text.fail("layer_types", "has " + std::to_string(types.size()) +
                                 " entries, expected num_hidden_layers (" + std::to_string(layers) +
                                 ")");
  }
  return types;
}

/// A pattern of one whole number a layer.
std::vector<std::int64_t> layer_pattern(const JsonFields& text,
                                        std::string_view name,
                                        std::int64_t layers) {
  const std::vector<std::int64_t> pattern = text.integers(name, 0, 1);
  if (static_cast<std::int64_t>(pattern.size()) != layers) {
    text.fail(name, "has " + std::to_string(pattern.size()) +
                        " entries, expected num_hidden_layers (" + std::to_string(layers) + ")");
  }
  return pattern;
}

}  // namespace

void read_gemma4(const JsonFields& text, ModelConfig& model) {
  read_common(text, model);
  const std::int64_t layers = layer_count(text);
  const std::int64_t window = text.integer("sliding_window", 1, kPositionsMax);
  const std::int64_t full_heads =
      text.optional_integer("num_global_key_value_heads", 1, kHeadsMax).value_or(model.kv_heads);
  const std::int64_t full_dim =
      text.optional_integer("global_head_dim", 1, kHeadDimMax).value_or(model.head_dim);
  const std::int64_t shared = text.optional_integer("num_kv_shared_layers", 0, layers).value_or(0);
  const std::vector<std::string> types = layer_types(text, layers);
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string& type = types[static_cast<std::size_t>(i)];
    if (type != "full_attention" && type != "sliding_attention") {
      text.fail("layer_types",
                "contains \"" + type + "\", expected full_attention or sliding_attention");
    }
    CacheLayer layer = type == "full_attention"
                           ? CacheLayer{full_heads, full_dim, 0}
                           : CacheLayer{model.kv_heads, model.head_dim, window};
    if (i >= layers - shared) {
      layer = {.kind = CacheKind::None};  // reads the rows of an earlier layer of its type
    }
    model.layers.push_back(layer);
  }
  if (text.boolean("attention_k_eq_v", false)) {
    model.notes.push_back(
        "K and V of the full layers are equal (attention_k_eq_v), but engines "
        "store both, as a start-up log shows");
  }
  if (shared > 0) {
    model.notes.push_back("the last " + std::to_string(shared) +
                          " layers keep nothing: they read the rows of earlier ones");
  }
}

void read_mimo(const JsonFields& text, ModelConfig& model) {
  read_common(text, model);
  const std::int64_t layers = layer_count(text);
  const std::vector<std::int64_t> windowed = layer_pattern(text, "hybrid_layer_pattern", layers);
  CacheLayer full{model.kv_heads, model.head_dim, 0};
  full.v_head_dim = text.optional_integer("v_head_dim", 1, kHeadDimMax).value_or(model.head_dim);
  CacheLayer window;
  window.kv_heads =
      text.optional_integer("swa_num_key_value_heads", 1, kHeadsMax).value_or(model.kv_heads);
  window.head_dim = text.optional_integer("swa_head_dim", 1, kHeadDimMax).value_or(model.head_dim);
  window.v_head_dim =
      text.optional_integer("swa_v_head_dim", 1, kHeadDimMax).value_or(full.v_head_dim);
  window.window = text.integer("sliding_window", 1, kPositionsMax);
  for (const std::int64_t one : windowed) {
    model.layers.push_back(one != 0 ? window : full);
  }
  if (text.has("attention_chunk_size")) {
    model.notes.push_back("attention_chunk_size is not read: the layers have windows");
  }
}

void read_llama4(const JsonFields& text, ModelConfig& model) {
  read_common(text, model);
  const std::int64_t layers = layer_count(text);
  const std::int64_t chunk = text.integer("attention_chunk_size", 1, kPositionsMax);
  // A layer without rotary positions attends to everything, the others in chunks.
  std::vector<bool> chunked(static_cast<std::size_t>(layers));
  if (text.says("no_rope_layers")) {
    const std::vector<std::int64_t> rotary = layer_pattern(text, "no_rope_layers", layers);
    std::transform(rotary.begin(), rotary.end(), chunked.begin(), [](auto r) { return r != 0; });
  } else if (text.has("layer_types")) {
    const std::vector<std::string> types = layer_types(text, layers);
    std::transform(types.begin(), types.end(), chunked.begin(),
                   [](const auto& type) { return type == "chunked_attention"; });
  } else {
    constexpr std::int64_t kFullEvery = 4;
    const std::int64_t every =
        text.optional_integer("no_rope_layer_interval", 1, kLayersMax).value_or(kFullEvery);
    for (std::int64_t i = 0; i < layers; ++i) {
      chunked[static_cast<std::size_t>(i)] = (i + 1) % every != 0;
    }
    model.notes.push_back(
        "which layers attend in chunks is not listed: the family's default, all "
        "but every " +
        std::to_string(every) + "th");
  }
  for (const bool in_chunks : chunked) {
    CacheLayer layer{model.kv_heads, model.head_dim, in_chunks ? chunk : 0};
    layer.kind = in_chunks ? CacheKind::Chunked : CacheKind::Attention;
    model.layers.push_back(layer);
  }
}

void read_nemotron_nas(const JsonFields& text, ModelConfig& model) {
  const std::int64_t layers = layer_count(text);
  model.hidden_size = text.integer("hidden_size", 1, kWidthMax);
  model.attention_heads = text.integer("num_attention_heads", 1, kHeadsMax);
  model.vocab_size = text.integer("vocab_size", 1, kVocabMax);
  model.max_positions = text.integer("max_position_embeddings", 1, kPositionsMax);
  model.head_dim = text.optional_integer("head_dim", 1, kHeadDimMax)
                       .value_or(model.hidden_size / model.attention_heads);
  const std::vector<JsonFields> blocks = text.objects("block_configs");
  if (static_cast<std::int64_t>(blocks.size()) != layers) {
    text.fail("block_configs", "has " + std::to_string(blocks.size()) +
                                   " entries, expected num_hidden_layers (" +
                                   std::to_string(layers) + ")");
  }
  for (const JsonFields& block : blocks) {
    model.mlp_width = std::max(model.mlp_width, nas_mlp_width(block, model.hidden_size));
    const JsonFields attention = block.object("attention");
    if (attention.boolean("no_op", false) || attention.boolean("replace_with_linear", false)) {
      model.layers.push_back({.kind = CacheKind::None});
      continue;
    }
    const std::int64_t group = attention.integer("n_heads_in_group", 1, model.attention_heads);
    if (model.attention_heads % group != 0) {
      attention.fail("n_heads_in_group", "is " + std::to_string(group) +
                                             ", expected a divisor of num_attention_heads (" +
                                             std::to_string(model.attention_heads) + ")");
    }
    const std::int64_t window =
        attention.optional_integer("window_length", 1, kPositionsMax).value_or(0);
    model.layers.push_back({model.attention_heads / group, model.head_dim, window});
    model.kv_heads = std::max(model.kv_heads, model.attention_heads / group);
  }
  if (model.kv_heads == 0) {
    text.fail("block_configs", "names no layer with attention");
  }
  if (model.mlp_width == 0) {
    // Blocks that give no widths: the widest of published models is near six times hidden_size.
    constexpr std::int64_t kWidestMultiple = 6;
    model.mlp_width = kWidestMultiple * model.hidden_size;
  }
}

std::int64_t nas_mlp_width(const JsonFields& block, std::int64_t hidden_size) {
  if (!block.has("ffn")) {
    return 0;
  }
  const JsonFields ffn = block.object("ffn");
  if (ffn.boolean("no_op", false) || ffn.boolean("replace_with_linear", false)) {
    return 0;
  }
  // Two thirds of the multiple, as of an MLP without a gate, rounded up to 256.
  constexpr double kMultipleMax = 1000;
  constexpr std::int64_t kRounding = 256;
  const double wanted =
      2 * ffn.number("ffn_mult", 0.001, kMultipleMax) * static_cast<double>(hidden_size) / 3;
  return (static_cast<std::int64_t>(wanted) + kRounding - 1) / kRounding * kRounding;
}

}  // namespace octavo::sim
