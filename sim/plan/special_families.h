// Families whose layers keep more, or other things, than K and V of equal heads: latents, states,
// chunks, heads of their own in some layers, an encoder's output.
//
// Each has a reader that fills in what the planner needs. Facts come from the families' modelling
// code in the transformers library.
#pragma once

#include <span>
#include <string_view>

#include "json_fields.h"
#include "octavo/sim/model_config.h"
#include "weight_counter.h"

namespace octavo::sim {

/// Fills `model` from the fields of the decoder. Raises InputError.
using SpecialReader = void (*)(const JsonFields& text, ModelConfig& model);

/// Counts the decoder's weights; returns the rotary elements of one position (0 without rotary
/// positions). `model` is what the reader filled in. Raises InputError.
using SpecialCounter = std::int64_t (*)(const JsonFields& text,
                                        const ModelConfig& model,
                                        WeightCounter& counter);

enum class Nesting {
  None,           ///< The fields of the decoder are the config's own.
  TextConfig,     ///< The decoder lies under text_config; the vision tower is only bounded.
  WithQwenVision  ///< The same, beside a vision tower that is counted.
};

struct SpecialFamily {
  std::string_view model_type;
  Nesting nesting = Nesting::None;
  SpecialReader read = nullptr;
  SpecialCounter count = nullptr;
  bool tied_by_default = false;
};

/// The family of the name, or nullptr.
const SpecialFamily* find_special_family(std::string_view model_type);
/// All of them, in the order of their names.
std::span<const SpecialFamily> special_families();

// The readers, by what they read.
void read_latent_family(const JsonFields& text, ModelConfig& model);  // family_latent.cc
void read_gemma4(const JsonFields& text, ModelConfig& model);         // family_layers.cc
void read_mimo(const JsonFields& text, ModelConfig& model);           // family_layers.cc
void read_llama4(const JsonFields& text, ModelConfig& model);         // family_layers.cc
void read_nemotron_nas(const JsonFields& text, ModelConfig& model);   // family_layers.cc
void read_delta_net(const JsonFields& text, ModelConfig& model);      // family_hybrid.cc
void read_nemotron_h(const JsonFields& text, ModelConfig& model);     // family_hybrid.cc
void read_jamba(const JsonFields& text, ModelConfig& model);          // family_hybrid.cc
void read_falcon_h1(const JsonFields& text, ModelConfig& model);      // family_hybrid.cc
void read_mamba(const JsonFields& text, ModelConfig& model);          // family_hybrid.cc
void read_mamba2(const JsonFields& text, ModelConfig& model);         // family_hybrid.cc
void read_whisper(const JsonFields& text, ModelConfig& model);        // family_encoder.cc
void read_t5(const JsonFields& text, ModelConfig& model);             // family_encoder.cc

// The counters of their weights.
std::int64_t count_latent_family(const JsonFields& text,
                                 const ModelConfig& model,
                                 WeightCounter& counter);  // weights_latent.cc
std::int64_t count_gemma4(const JsonFields& text, const ModelConfig& model, WeightCounter& counter);
std::int64_t count_mimo(const JsonFields& text, const ModelConfig& model, WeightCounter& counter);
std::int64_t count_llama4(const JsonFields& text, const ModelConfig& model, WeightCounter& counter);
std::int64_t count_nemotron_nas(const JsonFields& text,
                                const ModelConfig& model,
                                WeightCounter& counter);  // so far weights_layers.cc
std::int64_t count_delta_net(const JsonFields& text,
                             const ModelConfig& model,
                             WeightCounter& counter);
std::int64_t count_nemotron_h(const JsonFields& text,
                              const ModelConfig& model,
                              WeightCounter& counter);  // so far weights_hybrid.cc
std::int64_t count_jamba(const JsonFields& text, const ModelConfig& model, WeightCounter& counter);
std::int64_t count_falcon_h1(const JsonFields& text,
                             const ModelConfig& model,
                             WeightCounter& counter);
std::int64_t count_mamba(const JsonFields& text, const ModelConfig& model, WeightCounter& counter);
std::int64_t count_mamba2(const JsonFields& text,
                          const ModelConfig& model,
                          WeightCounter& counter);  // so far weights_mamba.cc
std::int64_t count_whisper(const JsonFields& text,
                           const ModelConfig& model,
                           WeightCounter& counter);
std::int64_t count_t5(const JsonFields& text,
                      const ModelConfig& model,
                      WeightCounter& counter);  // so far weights_encoder.cc

// What most of them share.

/// Counts Mamba 2 layers into the open part; `norm` is the gated one before the output projection.
void count_mamba2_layers(std::int64_t layers,
                         std::int64_t hidden,
                         const StateShape& state,
                         bool conv_bias,
                         bool norm,
                         WeightCounter& counter);

/// Closes the embedding and the output head, which are one where the config ties them.
void count_ends(const ModelConfig& model, WeightCounter& counter);

/// The intermediate width of an MLP of a Nemotron NAS block; 0 where the block has none.
std::int64_t nas_mlp_width(const JsonFields& block, std::int64_t hidden_size);

/// hidden_size, attention heads, KV heads, head_dim, vocab_size and max_position_embeddings.
void read_common(const JsonFields& text, ModelConfig& model);

/// How many routed experts there are, and how many of them a token visits; 0 without any.
void read_expert_counts(const JsonFields& text, ModelConfig& model);

/// The width of the MLP that one token passes through: of the dense one, or of the experts that it
/// is routed to and the shared ones, whichever is larger.
std::int64_t widest_mlp(const JsonFields& text);

}  // namespace octavo::sim
