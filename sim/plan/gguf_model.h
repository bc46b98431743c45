// A model from the metadata of a GGUF file.
#pragma once

#include <string>

#include "octavo/sim/model_config.h"

namespace octavo::sim {

/// Reads the architecture, says it in the fields of a config.json, has the config reader judge it
/// and adds up the tensors. Raises InputError: what GgufFile and the config reader raise, an
/// architecture that is not supported (the message names those that are), a file that is one of
/// several parts.
ModelConfig read_gguf_model(const std::string& path);

}  // namespace octavo::sim
