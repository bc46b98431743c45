// Weights added up from the tensors of files, by the part of the model that their names tell.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/sim/model_config.h"

namespace octavo::sim {

struct Tensor {
  std::string name;
  std::string type;  ///< As the file calls it: "BF16", "Q4_K".
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
};

/// The part that a tensor belongs to, by the names of count_weights: "attention", "experts", ...;
/// "other" where the name tells nothing; "multi-token prediction" for what engines load for
/// speculation only. `layers` is the number of layers of the model.
std::string tensor_part(std::string_view name, std::int64_t layers);

/// Adds the tensors up. `kind` says what files they are from ("safetensors"). Tensors for
/// multi-token prediction are left out, with a note.
ModelWeights add_up_tensors(const std::vector<Tensor>& tensors,
                            std::int64_t layers,
                            std::string_view kind,
                            std::vector<std::string>& notes);

}  // namespace octavo::sim
