// The fields of a decoder, as read and checked, before layers and weights are derived from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json_fields.h"
#include "model_families.h"
#include "octavo/sim/model_config.h"

namespace octavo::sim {

struct TextTower {
  const Family* family = nullptr;
  std::int64_t num_layers = 0;
  std::int64_t hidden_size = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t intermediate_size =
      0;  ///< Of dense MLPs; of the experts too where no other is named.
  std::int64_t vocab_size = 0;
  std::int64_t max_positions = 0;
  bool tied = false;
  bool attention_bias = false;
  bool mlp_bias = false;
  // Mixture of experts; experts = 0 without one.
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t expert_intermediate = 0;
  std::int64_t shared_intermediate = 0;
  std::vector<bool> moe_layers = {};  ///< One a layer.
};

/// Numbers beyond these are no model but a mistake; they keep every product within reach of a
/// check.
inline constexpr std::int64_t kLayersMax = 4096;
inline constexpr std::int64_t kWidthMax = std::int64_t{1} << 20;
inline constexpr std::int64_t kHeadsMax = 16384;
inline constexpr std::int64_t kHeadDimMax = 16384;
inline constexpr std::int64_t kVocabMax = std::int64_t{1} << 26;
inline constexpr std::int64_t kPositionsMax = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t kExpertsMax = 65536;

/// Reads the decoder's fields. `notes` receives what was taken from the family. Raises InputError.
TextTower read_text_tower(const JsonFields& text,
                          const JsonFields& outer,
                          const Family& family,
                          std::vector<std::string>& notes);

/// One entry a layer. Raises InputError for windows that the config does not settle.
std::vector<CacheLayer> read_attention_layers(const JsonFields& text,
                                              const TextTower& tower,
                                              std::vector<std::string>& notes);

/// Counts the weights. `wrapper` says what wraps the decoder: nothing, or a vision tower that is
/// counted when the wrapper says so, and bounded otherwise.
ModelWeights count_weights(const JsonFields& text,
                           const JsonFields& outer,
                           const TextTower& tower,
                           const Wrapper* wrapper);

}  // namespace octavo::sim
