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

namespace octavo::sim {

/// Fills `model` from the fields of the decoder. Raises InputError.
using SpecialReader = void (*)(const JsonFields& text, ModelConfig& model);

struct SpecialFamily {
  std::string_view model_type;
  bool nested = false;  ///< The decoder lies under text_config.
  SpecialReader read = nullptr;
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

// What most of them share.

/// hidden_size, attention heads, KV heads, head_dim, vocab_size and max_position_embeddings.
void read_common(const JsonFields& text, ModelConfig& model);

/// How many routed experts there are, and how many of them a token visits; 0 without any.
void read_expert_counts(const JsonFields& text, ModelConfig& model);

/// The width of the MLP that one token passes through: of the dense one, or of the experts that it
/// is routed to and the shared ones, whichever is larger.
std::int64_t widest_mlp(const JsonFields& text);

}  // namespace octavo::sim
