// Weights of DeepSeek V2, V3, V3.2 and Kimi K2: queries and the latent through low-rank
// projections, a few dense layers, then experts beside shared ones.
#include <algorithm>

#include "checked.h"
#include "special_families.h"
#include "text_tower.h"

namespace octavo::sim {
namespace {

void count_latent_attention(const JsonFields& text,
                            const ModelConfig& model,
                            WeightCounter& counter) {
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t heads = model.attention_heads;
  const std::int64_t rank = text.integer("kv_lora_rank", 1, kWidthMax);
  const std::int64_t rotary = text.integer("qk_rope_head_dim", 1, kHeadDimMax);
  const std::int64_t plain_dim = text.integer("qk_nope_head_dim", 1, kHeadDimMax);
  const std::int64_t v_dim = text.integer("v_head_dim", 1, kHeadDimMax);
  const std::int64_t q_rank = text.optional_integer("q_lora_rank", 1, kWidthMax).value_or(0);
  const std::int64_t q_width = heads * (plain_dim + rotary);
  if (q_rank > 0) {
    counter.linear("self_attn.q_a_proj", layers, q_rank, hidden);
    counter.linear("self_attn.q_b_proj", layers, q_width, q_rank);
    counter.plain(layers, q_rank);  // the norm between them
  } else {
    counter.linear("self_attn.q_proj", layers, q_width, hidden);
  }
  counter.linear("self_attn.kv_a_proj_with_mqa", layers, rank + rotary, hidden);
  counter.plain(layers, rank);
  counter.linear("self_attn.kv_b_proj", layers, heads * (plain_dim + v_dim), rank);
  counter.linear("self_attn.o_proj", layers, hidden, heads * v_dim);
  if (text.has("index_head_dim")) {
    const std::int64_t index_dim = text.integer("index_head_dim", 1, kHeadDimMax);
    const std::int64_t index_heads = text.integer("index_n_heads", 1, kHeadsMax);
    counter.linear("self_attn.indexer.wq_b", layers, index_heads * index_dim,
                   q_rank > 0 ? q_rank : hidden);
    counter.linear("self_attn.indexer.wk", layers, index_dim, hidden);
    counter.plain(layers, index_heads, hidden);
    counter.plain(2 * layers, index_dim);  // a layer norm with bias
  }
  counter.finish("attention");
}

}  // namespace

std::int64_t count_latent_family(const JsonFields& text,
                                 const ModelConfig& model,
                                 WeightCounter& counter) {
  count_ends(model, counter);
  count_latent_attention(text, model, counter);
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t experts =
      text.optional_integer("n_routed_experts", 0, kExpertsMax).value_or(0);
  std::int64_t moe = 0;
  if (experts > 0) {
    const std::int64_t first = text.integer("first_k_dense_replace", 0, kLayersMax);
    const std::int64_t every = text.optional_integer("moe_layer_freq", 1, kLayersMax).value_or(1);
    for (std::int64_t i = first; i < layers; ++i) {
      moe += i % every == 0 ? 1 : 0;
    }
  }
  if (moe < layers) {
    counter.gated_mlp("mlp", layers - moe, hidden, text.integer("intermediate_size", 1, kWidthMax));
    counter.finish("MLP");
  }
  if (moe > 0) {
    const std::int64_t width = text.integer("moe_intermediate_size", 1, kWidthMax);
    counter.gated_experts(moe * experts, hidden, width);
    counter.finish("experts");
    const std::int64_t shared =
        text.optional_integer("n_shared_experts", 0, kExpertsMax).value_or(0);
    counter.gated_mlp("mlp.shared_experts", shared > 0 ? moe : 0, hidden, shared * width);
    counter.finish("shared experts");
    counter.plain(moe, experts, hidden);
    if (text.optional_string("topk_method").value_or("") == "noaux_tc") {
      counter.plain(moe, experts);  // the bias that balances the load
    }
    counter.finish("routers");
  }
  counter.plain(2 * layers + 1, hidden);
  counter.finish("norms");
  return text.integer("qk_rope_head_dim", 1, kHeadDimMax);
}

}  // namespace octavo::sim
