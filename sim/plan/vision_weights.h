// The weights of vision towers: counted where the config describes the tower in full, bounded
// where it only gives its widths.
#pragma once

#include <cstdint>
#include <string_view>

#include "json_fields.h"
#include "weight_counter.h"

namespace octavo::sim {

/// The tower of Qwen3-VL and Qwen3.5: patch and position embeddings, pre-norm blocks, one merger
/// after the last block and one after each "deepstack" block. Never quantized.
void count_qwen_vision(const JsonFields& vision, WeightCounter& counter);

/// Parameters that a tower of these widths, depth and MLP will hardly exceed: blocks with a gated
/// MLP, embeddings of patches and positions, and a projector to `text_width`, with a quarter more.
/// 0 when the fields are not there.
std::int64_t vision_parameters_bound(const JsonFields& vision, std::int64_t text_width);

/// Says in `weights` what the config leaves open of the vision tower beside a language model of
/// `hidden_size`: `uncounted`, and the most bytes that it can be.
void bound_vision(const JsonFields& outer,
                  std::string_view model_type,
                  const WeightFormat& format,
                  std::int64_t hidden_size,
                  ModelWeights& weights);

}  // namespace octavo::sim
