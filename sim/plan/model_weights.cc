// Parameters and bytes of the plain families, counted from the config as their modelling code
// builds them; and what is said of the towers beside the language model.
#include <algorithm>

#include "checked.h"
#include "text_tower.h"
#include "vision_weights.h"
#include "weight_counter.h"

namespace octavo::sim {
namespace {

void count_attention(const TextTower& tower, WeightCounter& counter) {
  const std::int64_t layers = tower.num_layers;
  const std::int64_t q_width = checked_mul(tower.heads, tower.head_dim, kParameterCount);
  const std::int64_t kv_width = checked_mul(tower.kv_heads, tower.head_dim, kParameterCount);
  counter.linear("self_attn.q_proj", layers, q_width, tower.hidden_size);
  counter.linear("self_attn.k_proj", layers, kv_width, tower.hidden_size);
  counter.linear("self_attn.v_proj", layers, kv_width, tower.hidden_size);
  counter.linear("self_attn.o_proj", layers, tower.hidden_size, q_width);
  if (tower.family->bias == BiasRule::QkvAlways || tower.attention_bias) {
    counter.plain(layers, q_width + 2 * kv_width);
  }
  if (tower.family->bias == BiasRule::FromConfig && tower.attention_bias) {
    counter.plain(layers, tower.hidden_size);
  }
  if (tower.family->attention_sinks) {
    counter.plain(layers, tower.heads);
  }
}

void count_dense_mlp(const TextTower& tower, std::int64_t layers, WeightCounter& counter) {
  const std::int64_t width = tower.intermediate_size;
  counter.gated_mlp("mlp", layers, tower.hidden_size, width);
  if (tower.mlp_bias) {
    counter.plain(layers, 2 * width + tower.hidden_size);
  }
}

void count_experts(const TextTower& tower, std::int64_t layers, WeightCounter& counter) {
  const std::int64_t all = checked_mul(layers, tower.experts, kParameterCount);
  counter.gated_experts(all, tower.hidden_size, tower.expert_intermediate);
  if (tower.family->mlp == MlpKind::GptOss) {
    counter.plain(all, 2 * tower.expert_intermediate + tower.hidden_size);
  }
}

void count_router(const TextTower& tower, std::int64_t layers, WeightCounter& counter) {
  counter.plain(layers, tower.experts, tower.hidden_size);
  if (tower.family->mlp == MlpKind::GptOss) {
    counter.plain(layers, tower.experts);
  }
}

void count_shared_experts(const TextTower& tower, std::int64_t layers, WeightCounter& counter) {
  if (tower.shared_intermediate == 0) {
    return;
  }
  counter.gated_mlp("mlp.shared_expert", layers, tower.hidden_size, tower.shared_intermediate);
  counter.plain(layers, tower.hidden_size);  // the sigmoid gate before it
}

void count_decoder(const TextTower& tower, WeightCounter& counter) {
  const auto moe =
      static_cast<std::int64_t>(std::count(tower.moe_layers.begin(), tower.moe_layers.end(), true));
  const std::int64_t dense = tower.num_layers - moe;
  counter.plain(1, tower.vocab_size, tower.hidden_size);
  counter.finish(tower.tied ? "embedding (also the output head)" : "embedding");
  count_attention(tower, counter);
  counter.finish("attention");
  if (dense > 0) {
    count_dense_mlp(tower, dense, counter);
  }
  counter.finish("MLP");
  if (moe > 0) {
    count_experts(tower, moe, counter);
  }
  counter.finish("experts");
  if (moe > 0) {
    count_shared_experts(tower, moe, counter);
  }
  counter.finish("shared experts");
  if (moe > 0) {
    count_router(tower, moe, counter);
  }
  counter.finish("routers");
  counter.plain(tower.num_layers, tower.family->norms_per_layer, tower.hidden_size);
  if (tower.family->qk_norm) {
    counter.plain(2 * tower.num_layers, tower.head_dim);
  }
  counter.plain(1, tower.hidden_size);
  counter.finish("norms");
  if (!tower.tied) {
    counter.head(tower.vocab_size, tower.hidden_size);
  }
  counter.finish("output head");
}

}  // namespace

std::int64_t ModelWeights::parameters() const {
  std::int64_t sum = 0;
  for (const WeightPart& part : parts) {
    sum = checked_add(sum, part.parameters, kParameterCount);
  }
  return sum;
}

std::int64_t ModelWeights::bytes() const {
  std::int64_t sum = 0;
  for (const WeightPart& part : parts) {
    sum = checked_add(sum, part.bytes, kWeightBytes);
  }
  return sum;
}

ModelWeights count_weights(const JsonFields& text,
                           const JsonFields& outer,
                           const TextTower& tower,
                           const Wrapper* wrapper) {
  const WeightFormat format =
      read_weight_format(text, outer, tower.family->bfloat16_by_default ? "bfloat16" : "");
  WeightCounter counter(format);
  count_decoder(tower, counter);
  ModelWeights weights;
  if (wrapper != nullptr && wrapper->vision_counted && outer.has("vision_config")) {
    count_qwen_vision(outer.object("vision_config"), counter);
    counter.finish("vision tower");
  } else if (wrapper != nullptr) {
    bound_vision(outer, wrapper->model_type, format, tower.hidden_size, weights);
  }
  weights.format = format.name;
  weights.parts = counter.parts();
  weights.unknown = counter.unknown();
  // Engines keep cos and sin of every position for half a head each, in the dtype of the
  // activations.
  weights.rotary_bytes =
      checked_mul(checked_mul(tower.max_positions, tower.head_dim, kWeightBytes), 2, kWeightBytes);
  return weights;
}

}  // namespace octavo::sim
