#include "octavo/sim/kv_rows.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "number_text.h"
#include "octavo/error.h"
#include "octavo/kv_footprint.h"
#include "rank_layers.h"

namespace octavo::sim {
namespace {

[[noreturn]] void refuse_rows(const std::string& message) {
  throw Error(ErrorCode::InvalidArgument, message);
}

void require_in(std::string_view name, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value < min || value > max) {
    refuse_rows(std::string(name) + " is " + grouped(value) + ", expected a whole number in [" +
                grouped(min) + ", " + grouped(max) + "]");
  }
}

void check_options(const RowOptions& options) {
  require_in("block size", options.block_size, 1, kMaxBlockSize);
  if (!std::has_single_bit(static_cast<std::uint64_t>(options.block_size))) {
    refuse_rows("block size is " + grouped(options.block_size) + ", expected a power of two");
  }
  require_in("number of blocks", options.num_blocks, 1, kMaxBlocks);
  require_in("number of sequences", options.max_seqs, 1, kMaxSeqs);
  require_in("maximum length", options.max_len, 1, kMaxTokensPerSeq);
  require_in("tokens of a step", options.max_step_tokens, 1, kMaxTokensPerSeq);
}

// The number of a dimension in a row of the library, which counts in int.
int to_int(std::int64_t value, const char* what) {
  require_in(what, value, 0, std::numeric_limits<int>::max());
  return static_cast<int>(value);
}

KVLayerSpec make_spec(const CacheLayer& layer, const RowOptions& options) {
  KVLayerSpec spec;
  if (layer.kind == CacheKind::State) {
    const StateShape& state = layer.state;
    spec.kind = KVLayerKind::State;
    if (state.conv_channels > 0) {
      spec.conv = {
          {to_int(state.conv_channels, "conv channels"), to_int(state.conv_width, "conv width")}};
      spec.conv_dtype = DType::BF16;
    }
    spec.recurrent = {to_int(state.heads, "state heads"), to_int(state.k_dim, "state k_dim"),
                      to_int(state.v_dim, "state v_dim")};
    spec.state_dtype = options.state_dtype.value_or(state.state_is_f32 ? DType::F32 : DType::BF16);
    return spec;
  }
  spec.kv_heads = to_int(layer.kv_heads, "KV heads");
  spec.head_dim = to_int(layer.head_dim, "head dim");
  spec.window = to_int(layer.window, "window");
  if (layer.kind == CacheKind::Cross) {
    spec.kind = KVLayerKind::CrossAttentionKV;
    spec.v_head_dim = to_int(layer.v_head_dim, "V head dim");
  }
  const KVQuantSpec& quant = options.format.quant;
  if (quant.codec != KVCodec::None && quant.scale == KVScale::Static) {
    spec.k_scale = {1.0F};
    spec.v_scale = {1.0F};
  }
  return spec;
}

}  // namespace

KvFormat parse_kv_format(std::string_view name) {
  const KVQuantSpec static_e4m3{KVCodec::E4M3, KVScale::Static};
  const KVQuantSpec static_e5m2{KVCodec::E5M2, KVScale::Static};
  const KVQuantSpec int8{KVCodec::Int8, KVScale::PerTokenHead};
  const KVQuantSpec int4{KVCodec::Int4, KVScale::PerTokenHead};
  const std::string per_layer = "one static F32 scale a layer for K and one for V";
  const std::string per_token = "one F32 scale per token and head for K and one for V";
  const KvFormat formats[] = {
      {.name = "bf16"},
      {.name = "f16", .dtype = DType::F16},
      {.name = "f32", .dtype = DType::F32, .element_bits = 32},
      {.name = "fp8", .quant = static_e4m3, .scales = per_layer, .element_bits = 8},
      {.name = "fp8_e5m2", .quant = static_e5m2, .scales = per_layer, .element_bits = 8},
      {.name = "int8",
       .quant = int8,
       .scales = per_token,
       .element_bits = 8,
       .head_scale_bytes = 4},
      {.name = "int4",
       .quant = int4,
       .scales = per_token,
       .element_bits = 4,
       .head_scale_bytes = 4},
      {.name = "nvfp4",
       .scales = "one fp8 scale for 16 elements",
       .element_bits = 4,
       .scale_group = 16,
       .in_octavo = false},
      {.name = "fp8_ds_mla",
       .scales = "four F32 scales a token, and the rotary part in bf16",
       .element_bits = 8,
       .latent_token_bytes = 656,
       .in_octavo = false},
  };
  std::string known;
  for (const KvFormat& format : formats) {
    if (format.name == name) {
      return format;
    }
    known += known.empty() ? format.name : ", " + format.name;
  }
  refuse_rows("KV dtype is \"" + std::string(name) + "\", expected one of " + known);
}

std::int64_t kv_heads_per_rank(const ModelConfig& model, std::int64_t tp) {
  return heads_per_rank(model, model.kv_heads, tp);
}

KvRows make_kv_rows(const ModelConfig& model, const RowOptions& options) {
  check_options(options);
  if (const std::string refusal = octavo_refusal(model, options.format); !refusal.empty()) {
    refuse_rows(refusal);
  }
  KvRows rows;
  KVCacheConfig& config = rows.config;
  config.max_seqs = static_cast<int>(options.max_seqs);
  config.max_tokens_per_seq = options.max_len;
  config.max_step_tokens = options.max_step_tokens;
  config.kv_dtype = options.format.dtype;
  config.k_quant = options.format.quant;
  config.v_quant = options.format.quant;
  config.mode = options.mode;
  if (options.mode == KVCacheMode::Paged) {
    PagedParams paged;
    paged.num_blocks = options.num_blocks;
    paged.block_size = static_cast<int>(options.block_size);
    if (model.all_windowed()) {
      paged.window = static_cast<int>(model.largest_window());
    }
    config.paged = paged;
  }
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (model.layers[i].kind != CacheKind::None) {
      rows.specs.push_back(make_spec(rank_layer(model, model.layers[i], options.tp), options));
      rows.layer_of.push_back(i);
    }
  }
  config.num_layers = static_cast<int>(rows.specs.size());
  return rows;
}

std::vector<KvClass> kv_classes(const ModelConfig& model, const RowOptions& options) {
  // What one more block adds to each row is exact for every storage, fixed scales left aside.
  RowOptions sized = options;
  sized.mode = KVCacheMode::Paged;
  sized.num_blocks = 1;
  const KvRows one = make_kv_rows(model, sized);
  sized.num_blocks = 2;
  const KvRows two = make_kv_rows(model, sized);
  const std::vector<std::int64_t> bytes_of_one = footprint(one.config, one.specs).per_layer;
  const std::vector<std::int64_t> bytes_of_two = footprint(two.config, two.specs).per_layer;
  std::vector<KvClass> classes;
  for (std::size_t row = 0; row < one.specs.size(); ++row) {
    const CacheLayer layer = rank_layer(model, model.layers[one.layer_of[row]], options.tp);
    auto it = std::find_if(classes.begin(), classes.end(),
                           [&](const KvClass& known) { return known.layer == layer; });
    if (it == classes.end()) {
      classes.push_back({.layer = layer, .window_bounds = model.all_windowed()});
      it = classes.end() - 1;
    }
    ++it->layers;
    it->bytes_per_token += (bytes_of_two[row] - bytes_of_one[row]) / options.block_size;
    if (layer.kind == CacheKind::State || layer.kind == CacheKind::Cross) {
      it->bytes_per_sequence += bytes_of_one[row] / options.max_seqs;
    }
  }
  return classes;
}

}  // namespace octavo::sim
