#include "random_composition.h"

namespace octavo::testing {
namespace {

KVQuantSpec random_quant(Random& random) {
  constexpr KVCodec kCodecs[] = {KVCodec::None, KVCodec::Int8, KVCodec::Int4, KVCodec::E4M3,
                                 KVCodec::E5M2};
  KVQuantSpec quant{.codec = kCodecs[random.between(0, 4)]};
  if ((quant.codec == KVCodec::E4M3 || quant.codec == KVCodec::E5M2) && random.one_in(2)) {
    quant.scale = KVScale::Static;
  }
  return quant;
}

DType random_floating(Random& random) {
  constexpr DType kTypes[] = {DType::F32, DType::F16, DType::BF16};
  return kTypes[random.between(0, 2)];
}

std::vector<float> scales_for(Random& random, const KVQuantSpec& quant, int kv_heads) {
  if (quant.codec == KVCodec::None || quant.scale != KVScale::Static) {
    return {};
  }
  return std::vector<float>(random.one_in(2) ? 1 : static_cast<std::size_t>(kv_heads), 0.5F);
}

KVLayerSpec random_state(Random& random) {
  KVLayerSpec spec{.kind = KVLayerKind::State};
  const int windows = random.between(0, 3);
  for (int i = 0; i < windows; ++i) {
    spec.conv.push_back({.dim = random.magnitude(13), .width = random.between(1, 4)});
  }
  if (windows == 0 || random.one_in(2)) {
    spec.recurrent = {random.magnitude(6), random.magnitude(8), random.magnitude(8)};
  }
  if (random.one_in(2)) {
    spec.conv_dtype = random_floating(random);
  }
  spec.state_dtype = random_floating(random);
  return spec;
}

KVLayerSpec random_attention(Random& random, const KVCacheConfig& config, int window) {
  KVLayerSpec spec;
  if (random.one_in(6)) {
    spec.kind = KVLayerKind::CrossAttentionKV;
  } else {
    constexpr Layout kLayouts[] = {Layout::Auto, Layout::Continuous, Layout::Paged};
    spec.layout = kLayouts[random.between(0, 2)];
    spec.window = random.one_in(2) ? window : 0;
  }
  spec.kv_heads = random.one_in(2) ? 0 : random.magnitude(4);
  spec.head_dim = random.one_in(2) ? 0 : 2 * random.magnitude(7);
  if (random.one_in(2)) {
    spec.k_quant = random_quant(random);
  }
  if (random.one_in(2)) {
    spec.v_quant = random_quant(random);
  }
  const bool is_paged = spec.kind == KVLayerKind::AttentionKV &&
                        (spec.layout == Layout::Paged ||
                         (spec.layout == Layout::Auto && config.mode == KVCacheMode::Paged));
  if (!is_paged && random.one_in(3)) {
    spec.v_head_dim = 2 * random.magnitude(7);
  }
  const int kv_heads = spec.kv_heads != 0 ? spec.kv_heads : config.kv_heads;
  spec.k_scale = scales_for(random, spec.k_quant.value_or(config.k_quant), kv_heads);
  spec.v_scale = scales_for(random, spec.v_quant.value_or(config.v_quant), kv_heads);
  return spec;
}

}  // namespace

Composition random_composition(Random& random, int size_bits) {
  Composition composition;
  KVCacheConfig& config = composition.config;
  config.num_layers = random.between(1, 7);
  config.max_seqs = random.magnitude(size_bits);
  config.max_tokens_per_seq = random.magnitude(2 * size_bits);
  config.max_step_tokens = random.magnitude(size_bits);
  config.kv_heads = random.magnitude(4);
  config.head_dim = 2 * random.magnitude(7);
  config.kv_dtype = random_floating(random);
  config.k_quant = random_quant(random);
  config.v_quant = random_quant(random);
  config.mode = random.one_in(2) ? KVCacheMode::Paged : KVCacheMode::Continuous;
  config.paged = PagedParams{.num_blocks = random.magnitude(2 * size_bits),
                             .block_size = 1 << random.between(0, 8),
                             .max_blocks_per_seq = random.one_in(2) ? 0 : random.magnitude(8),
                             .prefix_caching = random.one_in(2)};
  const int window = random.magnitude(size_bits);
  for (int layer = 0; layer < config.num_layers; ++layer) {
    composition.specs.push_back(random.one_in(4) ? random_state(random)
                                                 : random_attention(random, config, window));
  }
  return composition;
}

}  // namespace octavo::testing
