// The model families that the reader knows, and why it refuses the others.
//
// Facts come from the families' public modelling code in the transformers library: which
// projections carry a bias, how many norms a layer has, what a field means when it is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::sim {

/// How a family says which layers look at a window only. A `layer_types` list stands above all
/// rules.
enum class WindowRule {
  None,       ///< No windows.
  AllLayers,  ///< `sliding_window` holds for every layer (Mistral, Mixtral).
  FromLayer,  ///< With `use_sliding_window`, layers from `max_window_layers` on (Qwen2, Qwen3).
  LayerTypesOnly,  ///< `layer_types` is required (gpt-oss).
  EvenLayers,      ///< Layers 0, 2, 4, ... (Gemma 2).
  AllButEveryNth,  ///< Every `sliding_window_pattern`-th layer is full (Gemma 3).
};

enum class MlpKind { Dense, Mixtral, Qwen2Moe, Qwen3Moe, GptOss };
enum class BiasRule { FromConfig, QkvAlways };  ///< FromConfig: `attention_bias`, on q, k, v and o.

struct Family {
  std::string_view model_type;
  WindowRule windows = WindowRule::None;
  MlpKind mlp = MlpKind::Dense;
  BiasRule bias = BiasRule::FromConfig;
  bool qk_norm = false;  ///< One norm of head_dim weights for q and one for k in each layer.
  bool attention_sinks = false;  ///< One learned logit an attention head.
  int norms_per_layer = 2;
  bool tied_by_default = false;
  bool head_dim_required = false;  ///< The family's default is not hidden_size / heads.
  bool kv_heads_default_to_heads = false;
  bool bfloat16_by_default = false;  ///< The configs of this family name no weight dtype.
  /// What the family takes for absent fields; 0 = the field is required.
  std::int64_t default_heads = 0;
  std::int64_t default_kv_heads = 0;
  std::int64_t default_head_dim = 0;
  std::int64_t default_vocab_size = 0;
  std::int64_t default_max_positions = 0;
  std::int64_t default_window = 0;
  std::int64_t default_window_pattern = 0;
};

/// A config whose language model is nested under `text_config`.
struct Wrapper {
  std::string_view model_type;
  std::string_view text_model_type;
  bool vision_counted = false;  ///< The reader can count the vision tower's weights.
};

struct Refusal {
  std::string_view model_type;
  std::string_view reason;  ///< What its cache stores that this reader cannot describe.
  std::string_view needed;
};

/// A field that changes what the cache stores, in a family whose code does not read it.
struct ForeignField {
  std::string_view name;
  std::string_view meaning;
};

const Family* find_family(std::string_view model_type);
const Wrapper* find_wrapper(std::string_view model_type);
const Refusal* find_refusal(std::string_view model_type);
const std::vector<ForeignField>& foreign_fields();

}  // namespace octavo::sim
