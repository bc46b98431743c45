#include "text_tower.h"

#include <algorithm>

namespace octavo::sim {
namespace {

/// A field whose absence means the family's own default; without one the field is required.
std::int64_t integer_or_default(const JsonFields& text,
                                std::string_view name,
                                std::int64_t max,
                                std::int64_t fallback,
                                std::vector<std::string>& notes) {
  if (fallback > 0 && !text.has(name)) {
    notes.push_back(std::string(name) + " is absent: the family's default, " +
                    std::to_string(fallback));
    return fallback;
  }
  return text.integer(name, 1, max);
}

void read_heads(const JsonFields& text, TextTower& tower, std::vector<std::string>& notes) {
  const Family& family = *tower.family;
  tower.heads =
      integer_or_default(text, "num_attention_heads", kHeadsMax, family.default_heads, notes);
  if (family.kv_heads_default_to_heads && !text.has("num_key_value_heads")) {
    tower.kv_heads = tower.heads;
    notes.push_back("num_key_value_heads is absent: every attention head has its own K and V");
  } else {
    tower.kv_heads =
        integer_or_default(text, "num_key_value_heads", kHeadsMax, family.default_kv_heads, notes);
  }
  if (tower.heads % tower.kv_heads != 0) {
    text.fail("num_key_value_heads", "is " + std::to_string(tower.kv_heads) +
                                         ", expected a divisor of num_attention_heads (" +
                                         std::to_string(tower.heads) + ")");
  }
  if (text.has("head_dim") || family.default_head_dim > 0) {
    tower.head_dim =
        integer_or_default(text, "head_dim", kHeadDimMax, family.default_head_dim, notes);
  } else if (family.head_dim_required) {
    text.fail("head_dim", "is missing, and in this family it is not hidden_size / heads");
  } else if (tower.hidden_size % tower.heads == 0) {
    tower.head_dim = tower.hidden_size / tower.heads;
  } else {
    text.fail("head_dim", "is missing, and hidden_size (" + std::to_string(tower.hidden_size) +
                              ") is no multiple of num_attention_heads (" +
                              std::to_string(tower.heads) + ")");
  }
  const auto v_head_dim = text.optional_integer("v_head_dim", 1, kHeadDimMax);
  if (v_head_dim && *v_head_dim != tower.head_dim) {
    text.fail("v_head_dim", "is " + std::to_string(*v_head_dim) + ", expected head_dim (" +
                                std::to_string(tower.head_dim) +
                                "): paged rows need K and V heads of one size");
  }
}

void read_experts(const JsonFields& text, TextTower& tower) {
  const MlpKind kind = tower.family->mlp;
  tower.moe_layers.assign(static_cast<std::size_t>(tower.num_layers), false);
  if (kind == MlpKind::Dense) {
    return;
  }
  const bool qwen = kind == MlpKind::Qwen2Moe || kind == MlpKind::Qwen3Moe;
  tower.experts = text.integer(qwen ? "num_experts" : "num_local_experts", 1, kExpertsMax);
  tower.experts_per_token = text.integer("num_experts_per_tok", 1, tower.experts);
  tower.expert_intermediate =
      qwen ? text.integer("moe_intermediate_size", 1, kWidthMax) : tower.intermediate_size;
  if (kind == MlpKind::Qwen2Moe) {
    tower.shared_intermediate = text.integer("shared_expert_intermediate_size", 1, kWidthMax);
  }
  std::vector<std::int64_t> dense_layers;
  std::int64_t sparse_step = 1;
  if (qwen) {
    sparse_step = text.optional_integer("decoder_sparse_step", 1, kLayersMax).value_or(1);
    if (text.has("mlp_only_layers")) {
      dense_layers = text.integers("mlp_only_layers", 0, tower.num_layers - 1);
    }
  }
  for (std::int64_t i = 0; i < tower.num_layers; ++i) {
    const bool listed =
        std::find(dense_layers.begin(), dense_layers.end(), i) != dense_layers.end();
    tower.moe_layers[static_cast<std::size_t>(i)] = !listed && (i + 1) % sparse_step == 0;
  }
}

}  // namespace

TextTower read_text_tower(const JsonFields& text,
                          const JsonFields& outer,
                          const Family& family,
                          std::vector<std::string>& notes) {
  for (const ForeignField& field : foreign_fields()) {
    if (text.says(field.name)) {
      text.fail(field.name, "is set, which means " + std::string(field.meaning) +
                                ", but model_type " + std::string(family.model_type) +
                                " is not known to have that; the model is not supported");
    }
  }
  TextTower tower;
  tower.family = &family;
  tower.num_layers = text.integer("num_hidden_layers", 1, kLayersMax);
  tower.hidden_size = text.integer("hidden_size", 1, kWidthMax);
  read_heads(text, tower, notes);
  tower.intermediate_size = text.integer("intermediate_size", 1, kWidthMax);
  tower.vocab_size =
      integer_or_default(text, "vocab_size", kVocabMax, family.default_vocab_size, notes);
  tower.max_positions = integer_or_default(text, "max_position_embeddings", kPositionsMax,
                                           family.default_max_positions, notes);
  // A wrapper keeps tie_word_embeddings beside its text_config, not in it.
  const JsonFields& tie_owner = text.has("tie_word_embeddings") ? text : outer;
  tower.tied = tie_owner.boolean("tie_word_embeddings", family.tied_by_default);
  tower.attention_bias = text.boolean("attention_bias", false);
  tower.mlp_bias = text.boolean("mlp_bias", false);
  read_experts(text, tower);
  return tower;
}

}  // namespace octavo::sim
