// What the planner needs to know of a model, read from a Hugging Face config.json.
//
// A ModelConfig is plain data: it owns everything and is safe to read from any thread. The reader
// takes a model only when its fields leave no doubt about what its KV cache stores; everything else
// is refused by name, with the reason, since a wrong capacity is worse than none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/sim/cache_layer.h"

namespace octavo::sim {

/// One line of the weight count, over the whole model (all ranks).
struct WeightPart {
  std::string name;
  std::int64_t parameters = 0;
  std::int64_t bytes = 0;
};

/// The weights as the config implies them. `unknown` says why the bytes cannot be told from the
/// config (a quantization whose layout it does not fix, a tower it does not describe); it is empty
/// when `parts` is complete.
struct ModelWeights {
  std::vector<WeightPart> parts;
  std::string format;             ///< e.g. "bfloat16", "fp8 linear layers, the rest bfloat16".
  std::int64_t rotary_bytes = 0;  ///< The cosine/sine table that engines keep beside the weights.
  std::string unknown;
  /// What stands beside the language model and is not in `parts` (a vision tower that the config
  /// does not describe in full), and the most bytes that its widths allow; empty and 0 without one.
  std::string uncounted;
  std::int64_t uncounted_bytes_max = 0;
  bool from_file = false;  ///< Added up from the tensors of a file, not counted from the config.

  std::int64_t parameters() const;
  std::int64_t bytes() const;  ///< Without the rotary table.
};

struct ModelConfig {
  std::string name;        ///< The file's name without folder and extension.
  std::string model_type;  ///< Of the text tower, e.g. "llama".
  std::int64_t hidden_size = 0;
  std::int64_t attention_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_positions = 0;
  std::int64_t mlp_width = 0;  ///< Intermediate elements a token passes through in one layer.
  std::int64_t experts = 0;    ///< Routed ones of an expert layer; 0 without any.
  std::int64_t experts_per_token = 0;
  bool tied_embeddings = false;  ///< The output head is the embedding.
  std::vector<CacheLayer> layers;
  ModelWeights weights;
  std::vector<std::string> notes;  ///< What the reader had to take from the family, not the file.

  /// True when every layer has a window; the largest one then bounds what a sequence holds.
  bool all_windowed() const;
  bool any_windowed() const;
  std::int64_t largest_window() const;
};

/// Reads `path`. Raises InputError: a file that is missing, a directory, empty, larger than 16 MiB
/// or no JSON; a field that is missing, of the wrong type or out of range; a model family that this
/// reader does not support (the message names it, the reason and what would be needed).
ModelConfig read_model_config(const std::string& path);

/// The same of a text; `file` stands for the path in messages and gives the model its name.
ModelConfig parse_model_config(std::string_view text, const std::string& file);

/// The model types that the reader supports, in alphabetical order.
std::vector<std::string> supported_model_types();

}  // namespace octavo::sim
