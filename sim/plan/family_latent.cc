// DeepSeek V2, V3, V3.2 and Kimi K2: multi-head latent attention. A layer keeps one latent of
// kv_lora_rank + qk_rope_head_dim elements a token, which all heads of all ranks read; V3.2 also
// keeps a key of index_head_dim elements for its sparse-attention indexer.
#include "special_families.h"
#include "text_tower.h"

namespace octavo::sim {

void read_latent_family(const JsonFields& text, ModelConfig& model) {
  const std::int64_t layers = text.integer("num_hidden_layers", 1, kLayersMax);
  const std::int64_t rank = text.integer("kv_lora_rank", 1, kWidthMax);
  const std::int64_t rotary = text.integer("qk_rope_head_dim", 1, kHeadDimMax);
  model.hidden_size = text.integer("hidden_size", 1, kWidthMax);
  model.attention_heads = text.integer("num_attention_heads", 1, kHeadsMax);
  model.kv_heads = 1;
  model.head_dim = rank + rotary;
  model.vocab_size = text.integer("vocab_size", 1, kVocabMax);
  model.max_positions = text.integer("max_position_embeddings", 1, kPositionsMax);
  model.mlp_width = widest_mlp(text);
  CacheLayer layer;
  layer.kind = CacheKind::Latent;
  layer.kv_heads = 1;
  layer.head_dim = rank + rotary;
  layer.indexer_dim = text.optional_integer("index_head_dim", 1, kHeadDimMax).value_or(0);
  model.layers.assign(static_cast<std::size_t>(layers), layer);
  model.notes.push_back(
      "the latent is stored whole by every tensor-parallel rank; num_key_value_heads is not what "
      "is cached");
  if (layer.indexer_dim > 0) {
    model.notes.push_back(
        "the indexer's keys are counted in fp8 with one F32 scale for 128 "
        "elements, as vLLM stores them");
  }
}

}  // namespace octavo::sim
