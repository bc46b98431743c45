#include "octavo/sim/kv_rows.h"

#include <algorithm>
#include <bit>

#include "number_text.h"
#include "octavo/error.h"
#include "octavo/kv_footprint.h"

namespace octavo::sim {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::InvalidArgument, message);
}

void require_in(std::string_view name, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value < min || value > max) {
    refuse(std::string(name) + " is " + grouped(value) + ", expected a whole number in [" +
           grouped(min) + ", " + grouped(max) + "]");
  }
}

void check_options(const RowOptions& options) {
  require_in("block size", options.block_size, 1, kMaxBlockSize);
  if (!std::has_single_bit(static_cast<std::uint64_t>(options.block_size))) {
    refuse("block size is " + grouped(options.block_size) + ", expected a power of two");
  }
  require_in("number of blocks", options.num_blocks, 1, kMaxBlocks);
  require_in("number of sequences", options.max_seqs, 1, kMaxSeqs);
  require_in("maximum length", options.max_len, 1, kMaxTokensPerSeq);
  require_in("tokens of a step", options.max_step_tokens, 1, kMaxTokensPerSeq);
}

KVLayerSpec make_spec(const CacheLayer& layer, std::int64_t heads, const KvFormat& format) {
  KVLayerSpec spec;
  spec.kv_heads = static_cast<int>(heads);
  spec.head_dim = static_cast<int>(layer.head_dim);
  spec.window = static_cast<int>(layer.window);
  if (format.quant.codec != KVCodec::None && format.quant.scale == KVScale::Static) {
    spec.k_scale = {1.0F};
    spec.v_scale = {1.0F};
  }
  return spec;
}

std::int64_t heads_per_rank(const ModelConfig& model, std::int64_t kv_heads, std::int64_t tp) {
  require_in("tp", tp, 1, model.attention_heads);
  const bool divides =
      model.attention_heads % tp == 0 && (kv_heads % tp == 0 || tp % kv_heads == 0);
  if (!divides) {
    refuse("tp is " + grouped(tp) + ", expected a divisor of the model's " +
           grouped(model.attention_heads) + " attention heads that divides its " +
           grouped(kv_heads) + " KV heads or is a multiple of them");
  }
  return std::max<std::int64_t>(1, kv_heads / tp);
}

}  // namespace

KvFormat parse_kv_format(std::string_view name) {
  const KVQuantSpec static_e4m3{KVCodec::E4M3, KVScale::Static};
  const KVQuantSpec static_e5m2{KVCodec::E5M2, KVScale::Static};
  const std::string per_layer = "one static F32 scale a layer for K and one for V";
  const std::string per_token = "one F32 scale per token and head for K and one for V";
  const KvFormat formats[] = {
      {"bf16", DType::BF16, {}, ""},
      {"f16", DType::F16, {}, ""},
      {"f32", DType::F32, {}, ""},
      {"fp8", DType::BF16, static_e4m3, per_layer},
      {"fp8_e5m2", DType::BF16, static_e5m2, per_layer},
      {"int8", DType::BF16, {KVCodec::Int8, KVScale::PerTokenHead}, per_token},
      {"int4", DType::BF16, {KVCodec::Int4, KVScale::PerTokenHead}, per_token},
  };
  std::string known;
  for (const KvFormat& format : formats) {
    if (format.name == name) {
      return format;
    }
    known += known.empty() ? format.name : ", " + format.name;
  }
  refuse("KV dtype is \"" + std::string(name) + "\", expected one of " + known);
}

std::int64_t kv_heads_per_rank(const ModelConfig& model, std::int64_t tp) {
  return heads_per_rank(model, model.kv_heads, tp);
}

KvRows make_kv_rows(const ModelConfig& model, const RowOptions& options) {
  check_options(options);
  KvRows rows;
  KVCacheConfig& config = rows.config;
  config.num_layers = static_cast<int>(model.layers.size());
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
  for (const CacheLayer& layer : model.layers) {
    const std::int64_t heads = heads_per_rank(model, layer.kv_heads, options.tp);
    rows.specs.push_back(make_spec(layer, heads, options.format));
  }
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
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    CacheLayer layer = model.layers[i];
    layer.kv_heads = one.specs[i].kv_heads;
    auto it = std::find_if(classes.begin(), classes.end(),
                           [&](const KvClass& known) { return known.layer == layer; });
    if (it == classes.end()) {
      classes.push_back({layer, 0, 0, model.all_windowed()});
      it = classes.end() - 1;
    }
    ++it->layers;
    it->bytes_per_token += (bytes_of_two[i] - bytes_of_one[i]) / options.block_size;
  }
  return classes;
}

}  // namespace octavo::sim
