// Families with layers that keep a state of fixed size: gated delta nets (Qwen3-Next, Qwen3.5) and
// Mamba (Jamba, Nemotron-H, Falcon-H1, Mamba, Mamba 2).
#include "special_families.h"
#include "text_tower.h"

namespace octavo::sim {
namespace {

/// Whether the recurrent state is kept in F32: what the config says, else `fallback`.
bool state_is_f32(const JsonFields& text, bool fallback) {
  for (const char* name : {"mamba_ssm_dtype", "mamba_ssm_cache_dtype"}) {
    if (const auto dtype = text.optional_string(name)) {
      return *dtype == "float32";
    }
  }
  return fallback;
}

CacheLayer state_layer(const StateShape& state) {
  CacheLayer layer;
  layer.kind = CacheKind::State;
  layer.state = state;
  return layer;
}

/// A Mamba 2 layer: `heads` states of [state_size, head_dim], and a convolution over the inner
/// channels and the B and C of every group.
StateShape mamba2_shape(std::int64_t heads,
                        std::int64_t head_dim,
                        std::int64_t groups,
                        std::int64_t state_size,
                        std::int64_t kernel,
                        bool f32) {
  StateShape state;
  state.heads = heads;
  state.k_dim = state_size;
  state.v_dim = head_dim;
  state.groups = groups;
  state.conv_channels = heads * head_dim + 2 * groups * state_size;
  state.conv_width = kernel - 1;
  state.state_is_f32 = f32;
  return state;
}

/// A Mamba 1 layer: a state of `state_size` numbers for every inner channel.
StateShape mamba_shape(std::int64_t inner, std::int64_t state_size, std::int64_t kernel, bool f32) {
  StateShape state;
  state.heads = inner;
  state.k_dim = 1;
  state.v_dim = state_size;
  state.conv_channels = inner;
  state.conv_width = kernel - 1;
  state.state_is_f32 = f32;
  return state;
}

std::int64_t size(const JsonFields& text, std::string_view name) {
  return text.integer(name, 1, kWidthMax);
}

std::int64_t size_or(const JsonFields& text, std::string_view name, std::int64_t fallback) {
  return text.optional_integer(name, 1, kWidthMax).value_or(fallback);
}

void read_pure_state_sizes(const JsonFields& text, ModelConfig& model) {
  model.hidden_size = size(text, "hidden_size");
  model.vocab_size = text.integer("vocab_size", 1, kVocabMax);
  model.kv_heads = 1;
  model.head_dim = 1;
  // Nothing in the model numbers positions; a length must be named all the same.
  constexpr std::int64_t kNoLimit = 1 << 20;
  model.max_positions =
      text.optional_integer("max_position_embeddings", 1, kPositionsMax).value_or(kNoLimit);
}

}  // namespace

void read_delta_net(const JsonFields& text, ModelConfig& model) {
  read_common(text, model);
  const std::int64_t layers = text.integer("num_hidden_layers", 1, kLayersMax);
  StateShape state;
  state.heads = text.integer("linear_num_value_heads", 1, kHeadsMax);
  state.groups = text.integer("linear_num_key_heads", 1, kHeadsMax);
  state.k_dim = text.integer("linear_key_head_dim", 1, kHeadDimMax);
  state.v_dim = text.integer("linear_value_head_dim", 1, kHeadDimMax);
  state.conv_channels = 2 * state.groups * state.k_dim + state.heads * state.v_dim;
  state.conv_width = text.integer("linear_conv_kernel_dim", 2, 1024) - 1;
  state.state_is_f32 = state_is_f32(text, true);
  std::vector<std::string> types;
  if (text.has("layer_types")) {
    types = text.strings("layer_types");
    if (static_cast<std::int64_t>(types.size()) != layers) {
      text.fail("layer_types", "has " + std::to_string(types.size()) +
                                   " entries, expected num_hidden_layers (" +
                                   std::to_string(layers) + ")");
    }
  } else {
    const std::int64_t every = text.integer("full_attention_interval", 1, kLayersMax);
    for (std::int64_t i = 0; i < layers; ++i) {
      types.emplace_back((i + 1) % every == 0 ? "full_attention" : "linear_attention");
    }
  }
  for (const std::string& type : types) {
    if (type == "full_attention") {
      model.layers.push_back({model.kv_heads, model.head_dim, 0});
    } else if (type == "linear_attention") {
      model.layers.push_back(state_layer(state));
    } else {
      text.fail("layer_types",
                "contains \"" + type + "\", expected full_attention or linear_attention");
    }
  }
}

void read_nemotron_h(const JsonFields& text, ModelConfig& model) {
  read_common(text, model);
  const std::string pattern = text.string("hybrid_override_pattern");
  const std::int64_t layers = text.integer("num_hidden_layers", 1, kLayersMax);
  if (static_cast<std::int64_t>(pattern.size()) != layers) {
    text.fail("hybrid_override_pattern", "has " + std::to_string(pattern.size()) +
                                             " letters, expected num_hidden_layers (" +
                                             std::to_string(layers) + ")");
  }
  const StateShape state =
      mamba2_shape(text.integer("mamba_num_heads", 1, kHeadsMax), size(text, "mamba_head_dim"),
                   text.integer("n_groups", 1, kHeadsMax), size(text, "ssm_state_size"),
                   text.integer("conv_kernel", 2, 1024), state_is_f32(text, false));
  for (const char letter : pattern) {
    switch (letter) {
      case 'M':
        model.layers.push_back(state_layer(state));
        break;
      case '*':
        model.layers.push_back({model.kv_heads, model.head_dim, 0});
        break;
      case '-':
      case 'E':
        model.layers.push_back({.kind = CacheKind::None});  // an MLP, or experts
        break;
      default:
        text.fail("hybrid_override_pattern", std::string("contains '") + letter +
                                                 "', expected M (Mamba), * (attention), - (MLP) "
                                                 "and E (experts)");
    }
  }
}

void read_jamba(const JsonFields& text, ModelConfig& model) {
  read_common(text, model);
  const std::int64_t layers = text.integer("num_hidden_layers", 1, kLayersMax);
  const std::int64_t period = text.integer("attn_layer_period", 1, kLayersMax);
  const std::int64_t offset = text.integer("attn_layer_offset", 0, period - 1);
  const std::int64_t inner = size_or(text, "mamba_expand", 2) * model.hidden_size;
  const StateShape state = mamba_shape(inner, size_or(text, "mamba_d_state", 16),
                                       text.optional_integer("mamba_d_conv", 2, 1024).value_or(4),
                                       state_is_f32(text, false));
  for (std::int64_t i = 0; i < layers; ++i) {
    if (i % period == offset) {
      model.layers.push_back({model.kv_heads, model.head_dim, 0});
    } else {
      model.layers.push_back(state_layer(state));
    }
  }
}

void read_falcon_h1(const JsonFields& text, ModelConfig& model) {
  read_common(text, model);
  const std::int64_t layers = text.integer("num_hidden_layers", 1, kLayersMax);
  const StateShape state = mamba2_shape(
      text.integer("mamba_n_heads", 1, kHeadsMax), size(text, "mamba_d_head"),
      text.optional_integer("mamba_n_groups", 1, kHeadsMax).value_or(1),
      size(text, "mamba_d_state"), text.optional_integer("mamba_d_conv", 2, 1024).value_or(4),
      state_is_f32(text, false));
  // Every layer runs attention and Mamba side by side.
  for (std::int64_t i = 0; i < layers; ++i) {
    model.layers.push_back({model.kv_heads, model.head_dim, 0});
    model.layers.push_back(state_layer(state));
  }
  model.notes.push_back("each layer keeps K and V and a state; they count as two layers here");
}

void read_mamba(const JsonFields& text, ModelConfig& model) {
  read_pure_state_sizes(text, model);
  const std::int64_t layers = text.integer("num_hidden_layers", 1, kLayersMax);
  const std::int64_t inner =
      size_or(text, "intermediate_size", size_or(text, "expand", 2) * model.hidden_size);
  model.attention_heads = inner;
  model.mlp_width = inner;
  const StateShape state = mamba_shape(inner, size_or(text, "state_size", 16),
                                       text.optional_integer("conv_kernel", 2, 1024).value_or(4),
                                       state_is_f32(text, false));
  model.layers.assign(static_cast<std::size_t>(layers), state_layer(state));
}

void read_mamba2(const JsonFields& text, ModelConfig& model) {
  read_pure_state_sizes(text, model);
  const std::int64_t layers = text.integer("num_hidden_layers", 1, kLayersMax);
  const std::int64_t heads = text.integer("num_heads", 1, kHeadsMax);
  const std::int64_t head_dim = size_or(text, "head_dim", 64);
  model.attention_heads = heads;
  model.mlp_width = heads * head_dim;
  const StateShape state = mamba2_shape(
      heads, head_dim, text.optional_integer("n_groups", 1, kHeadsMax).value_or(1),
      size_or(text, "state_size", 128), text.optional_integer("conv_kernel", 2, 1024).value_or(4),
      state_is_f32(text, false));
  model.layers.assign(static_cast<std::size_t>(layers), state_layer(state));
}

}  // namespace octavo::sim
