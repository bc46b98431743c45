// The bytes of a layer on one rank:
//
//     K and V     heads of the rank x (bytes of K's head + bytes of V's head)
//     latent      (kv_lora_rank + qk_rope_head_dim) elements, and the indexer's key in fp8 with an
//                 F32 scale for 128 elements
//     state       conv channels x (kernel - 1) x 2 + heads x k_dim x v_dim x state bytes
#include "rank_layers.h"

#include <algorithm>

#include "checked.h"
#include "number_text.h"
#include "octavo/error.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kConvBytes = 2;       // engines keep the convolution in bf16
constexpr std::int64_t kIndexerGroup = 128;  // elements of an indexer key a scale
constexpr std::int64_t kDeepseekLatent = 576;

[[noreturn]] void refuse_ranks(const std::string& text) {
  throw Error(ErrorCode::InvalidArgument, text);
}

std::int64_t head_bytes(std::int64_t elements, const KvFormat& format) {
  const std::int64_t bits = elements * format.element_bits;
  const std::int64_t groups = format.scale_group > 0 ? ceil_div(elements, format.scale_group) : 0;
  return ceil_div(bits, 8) + groups + format.head_scale_bytes;
}

std::int64_t latent_bytes(const CacheLayer& layer, const KvFormat& format) {
  std::int64_t bytes = ceil_div(layer.head_dim * format.element_bits, 8);
  if (format.latent_token_bytes > 0) {
    if (layer.head_dim != kDeepseekLatent) {
      refuse_ranks("KV dtype " + format.name + " is laid out for latents of " +
                   grouped(kDeepseekLatent) + " elements, the model has " +
                   grouped(layer.head_dim));
    }
    bytes = format.latent_token_bytes;
  } else if (format.head_scale_bytes > 0 || format.scale_group > 0) {
    refuse_ranks("KV dtype " + format.name +
                 " has no layout for a latent; bf16, fp8 and fp8_ds_mla do");
  }
  return bytes + layer.indexer_dim + 4 * ceil_div(layer.indexer_dim, kIndexerGroup);
}

std::int64_t token_bytes(const CacheLayer& layer, const KvFormat& format) {
  if (layer.kind == CacheKind::Latent) {
    return latent_bytes(layer, format);
  }
  if (layer.elements_per_token() == 0) {
    return 0;
  }
  if (format.latent_token_bytes > 0) {
    refuse_ranks("KV dtype " + format.name + " is for latents (MLA), the model has K and V heads");
  }
  const std::int64_t v_dim = layer.v_head_dim > 0 ? layer.v_head_dim : layer.head_dim;
  return checked_mul(layer.kv_heads, head_bytes(layer.head_dim, format) + head_bytes(v_dim, format),
                     "the bytes of a token");
}

std::int64_t state_bytes(const StateShape& state, const RowOptions& options) {
  const DType dtype = options.state_dtype.value_or(state.state_is_f32 ? DType::F32 : DType::BF16);
  const std::int64_t element = dtype == DType::F32 ? 4 : 2;
  const std::int64_t conv = checked_mul(state.conv_channels, state.conv_width, "a state's bytes");
  const std::int64_t elements = checked_mul(
      checked_mul(state.heads, state.k_dim, "a state's bytes"), state.v_dim, "a state's bytes");
  return checked_add(conv * kConvBytes, checked_mul(elements, element, "a state's bytes"),
                     "a state's bytes");
}

std::int64_t sequence_bytes(const CacheLayer& layer, const RowOptions& options) {
  if (layer.kind == CacheKind::State) {
    return state_bytes(layer.state, options);
  }
  if (layer.kind == CacheKind::Cross) {
    return checked_mul(token_bytes(layer, options.format), layer.encoder_len,
                       "the bytes of a sequence");
  }
  return 0;
}

StateShape rank_state(StateShape state, std::int64_t tp) {
  if (state.heads % tp != 0) {
    refuse_ranks("tp is " + grouped(tp) + ", expected a divisor of the " + grouped(state.heads) +
                 " heads of the state layers");
  }
  // What the key heads (or groups) have of the channels is divided with them; fewer groups than
  // ranks are stored by several ranks.
  const std::int64_t own = state.heads * state.v_dim;
  const std::int64_t shared = std::max<std::int64_t>(state.conv_channels - own, 0);
  if (state.groups > 0 && shared > 0) {
    if (state.groups % tp != 0 && tp % state.groups != 0) {
      refuse_ranks("tp is " + grouped(tp) + ", expected a divisor or a multiple of the " +
                   grouped(state.groups) + " key groups of the state layers");
    }
    const std::int64_t groups = std::max<std::int64_t>(state.groups / tp, 1);
    state.conv_channels = own / tp + shared / state.groups * groups;
    state.groups = groups;
  } else {
    state.conv_channels /= tp;
  }
  state.heads /= tp;
  return state;
}

}  // namespace

std::int64_t heads_per_rank(const ModelConfig& model, std::int64_t kv_heads, std::int64_t tp) {
  if (tp < 1 || tp > model.attention_heads) {
    refuse_ranks("tp is " + grouped(tp) + ", expected a whole number in [1, " +
                 grouped(model.attention_heads) + "]");
  }
  const bool divides =
      model.attention_heads % tp == 0 && (kv_heads % tp == 0 || tp % kv_heads == 0);
  if (!divides) {
    refuse_ranks("tp is " + grouped(tp) + ", expected a divisor of the model's " +
                 grouped(model.attention_heads) + " attention heads that divides its " +
                 grouped(kv_heads) + " KV heads or is a multiple of them");
  }
  return std::max<std::int64_t>(1, kv_heads / tp);
}

CacheLayer rank_layer(const ModelConfig& model, const CacheLayer& layer, std::int64_t tp) {
  CacheLayer result = layer;
  switch (layer.kind) {
    case CacheKind::Attention:
    case CacheKind::Chunked:
    case CacheKind::Cross:
      result.kv_heads = heads_per_rank(model, layer.kv_heads, tp);
      break;
    case CacheKind::Latent:
      heads_per_rank(model, model.attention_heads, tp);  // the heads that read it are divided
      break;
    case CacheKind::State:
      result.state = rank_state(layer.state, tp);
      break;
    case CacheKind::None:
      break;
  }
  return result;
}

std::string_view kind_name(const CacheLayer& layer) noexcept {
  if (layer.kind == CacheKind::Attention) {
    return layer.window > 0 ? "window" : "full";
  }
  return to_string(layer.kind);
}

std::vector<KvClass> rank_classes(const ModelConfig& model,
                                  const RowOptions& options,
                                  std::size_t first,
                                  std::size_t last) {
  std::vector<KvClass> classes;
  for (std::size_t i = first; i < last; ++i) {
    if (model.layers[i].kind == CacheKind::None) {
      continue;
    }
    const CacheLayer layer = rank_layer(model, model.layers[i], options.tp);
    auto it = std::find_if(classes.begin(), classes.end(),
                           [&](const KvClass& known) { return known.layer == layer; });
    if (it == classes.end()) {
      classes.push_back({.layer = layer, .window_bounds = model.all_windowed()});
      it = classes.end() - 1;
    }
    ++it->layers;
    const bool once = layer.kind == CacheKind::Cross;  // written once, not token by token
    it->bytes_per_token += once ? 0 : token_bytes(layer, options.format);
    it->bytes_per_sequence += sequence_bytes(layer, options);
  }
  return classes;
}

std::string octavo_refusal(const ModelConfig& model, const KvFormat& format) {
  if (!format.in_octavo) {
    return "Octavo has no KV dtype " + format.name + "; other engines have (--engine vllm)";
  }
  for (const CacheLayer& layer : model.layers) {
    if (layer.kind == CacheKind::Latent) {
      return "Octavo has no rows for a latent that all heads share (MLA); --engine vllm plans it";
    }
    if (layer.kind == CacheKind::Chunked) {
      return "Octavo has no rows that attend in chunks; --engine vllm plans them";
    }
    if (layer.kind == CacheKind::Attention && layer.v_head_dim > 0 &&
        layer.v_head_dim != layer.head_dim) {
      return "Octavo's paged rows need V heads as wide as K heads (" + grouped(layer.head_dim) +
             " and " + grouped(layer.v_head_dim) + " here); --engine vllm plans them";
    }
  }
  return {};
}

}  // namespace octavo::sim
