// The header of a safetensors file: an 8-byte length, a JSON object of that length with one entry a
// tensor, then the data, which is not read.
#pragma once

#include <string>
#include <vector>

#include "tensor_weights.h"

namespace octavo::sim {

/// The tensors of `path`, in the order of their data. Raises InputError: a length beyond the file
/// or 100 MB, no JSON object, a type that is not known, a shape that does not give the bytes,
/// offsets that overlap, leave holes or end elsewhere than the file.
std::vector<Tensor> read_safetensors(const std::string& path);

/// The tensors of every file that the index (model.safetensors.index.json) names, each once; the
/// files lie beside it. Raises InputError, also for a tensor that its file does not hold.
std::vector<Tensor> read_safetensors_index(const std::string& path);

}  // namespace octavo::sim
