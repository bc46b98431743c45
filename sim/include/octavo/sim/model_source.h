// From what a user calls a model to its ModelConfig: a file, a folder, or a name of the catalogue.
//
// A path that exists stands above a name. Weights that lie beside the config are added up from the
// headers of their files, to the byte; else they are counted from the config.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/sim/model_config.h"

namespace octavo::sim {

/// `where` is a config.json; a folder with a config.json and perhaps safetensors files or their
/// index, or with one GGUF file; a .safetensors file with a config.json beside it; a .gguf file; or
/// a name of the catalogue ("llama-3.1-70b"). Raises InputError: whatever is wrong with the file;
/// for a name that is not known, the message lists the nearest ones.
ModelConfig load_model(const std::string& where);

/// A model of the catalogue: facts that its publisher states in the config, in our own words.
struct CatalogueModel {
  std::string_view name;    ///< "llama-3.1-70b".
  std::string_view config;  ///< The config.json that the reader gets, but for `layer_types`, which
                            ///< is a pattern to repeat: "sssssf" (sliding, full, linear).
};

/// In the order of their names.
std::span<const CatalogueModel> model_catalogue();

/// The model of the name, or nullptr. Case, '-', '_', '.', blanks, a vendor before '/' and
/// words like "Instruct", "Base", "it", "hf" make no difference.
const CatalogueModel* find_catalogue_model(std::string_view name);

/// What a list of the catalogue shows of a model. Bytes of the cache are those of bf16 on one GPU.
struct CatalogueRow {
  std::string name;
  std::int64_t parameters = 0;  ///< As counted from the config.
  std::int64_t layers = 0;
  std::int64_t token_bytes = 0;         ///< Of a token in all layers;
  std::int64_t window_token_bytes = 0;  ///< of them in layers with a window or chunk.
  std::int64_t sequence_bytes = 0;      ///< Whatever the length: states, an encoder's output.
};
std::vector<CatalogueRow> catalogue_rows();
/// The same as one JSON object: {"schema_version": 1, "models": [...]}.
std::string catalogue_json();

/// Reads the model's config.
ModelConfig read_catalogue_model(const CatalogueModel& model);

}  // namespace octavo::sim
