#include "octavo/sim/model_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "gguf_model.h"
#include "octavo/sim/input_error.h"
#include "safetensors_file.h"
#include "tensor_weights.h"

namespace octavo::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexName = "model.safetensors.index.json";

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Of the config: some families keep two kinds of rows in one layer, and list them as two.
std::int64_t layer_number(const ModelConfig& model) {
  const auto rows = static_cast<std::int64_t>(model.layers.size());
  const bool doubled =
      model.model_type == "falcon_h1" || model.model_type == "whisper" || model.model_type == "t5";
  return doubled ? rows / 2 : rows;
}

void set_weights(const std::vector<Tensor>& tensors, ModelConfig& model) {
  const std::int64_t rotary_bytes = model.weights.rotary_bytes;
  model.weights = add_up_tensors(tensors, layer_number(model), "safetensors", model.notes);
  model.weights.rotary_bytes = rotary_bytes;
}

/// Files of the folder that end so, in the order of their names.
std::vector<fs::path> files_ending(const fs::path& folder, std::string_view ending) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) {
    throw InputError(folder.string(), 0, "", "cannot be read: " + error.message());
  }
  for (const auto& entry : entries) {
    if (entry.path().filename().string().ends_with(ending)) {
      found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// The files that hold the weights once. Some folders hold them a second time in a "consolidated"
/// file of another naming.
std::vector<fs::path> weight_files(const fs::path& folder) {
  std::vector<fs::path> files = files_ending(folder, ".safetensors");
  const auto is_other = [](const fs::path& path) {
    return path.filename().string().starts_with("consolidated");
  };
  if (!std::all_of(files.begin(), files.end(), is_other)) {
    files.erase(std::remove_if(files.begin(), files.end(), is_other), files.end());
  }
  return files;
}

ModelConfig load_folder(const fs::path& folder) {
  const fs::path config = folder / "config.json";
  if (!is_there(config)) {
    const std::vector<fs::path> gguf = files_ending(folder, ".gguf");
    if (gguf.size() == 1) {
      return read_gguf_model(gguf.front().string());
    }
    throw InputError(folder.string(), 0, "",
                     "is a folder without a config.json and with " + std::to_string(gguf.size()) +
                         " GGUF files, expected a config.json or one GGUF file");
  }
  ModelConfig model = read_model_config(config.string());
  const fs::path named = folder.filename().empty() ? folder.parent_path() : folder;
  model.name = named.filename().string();
  if (is_there(folder / kIndexName)) {
    set_weights(read_safetensors_index((folder / kIndexName).string()), model);
    return model;
  }
  std::vector<Tensor> tensors;
  for (const fs::path& file : weight_files(folder)) {
    const std::vector<Tensor> more = read_safetensors(file.string());
    tensors.insert(tensors.end(), more.begin(), more.end());
  }
  if (!tensors.empty()) {
    set_weights(tensors, model);
  }
  return model;
}

ModelConfig load_safetensors(const fs::path& file) {
  if (file.filename().string().find("-of-") != std::string::npos) {
    throw InputError(file.string(), 0, "",
                     "is one of several parts, expected their folder or a whole model");
  }
  const fs::path config = file.parent_path() / "config.json";
  if (!is_there(config)) {
    throw InputError(file.string(), 0, "",
                     "has no config.json beside it, which says what its layers cache");
  }
  ModelConfig model = read_model_config(config.string());
  model.name = file.stem().string();
  set_weights(read_safetensors(file.string()), model);
  return model;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

[[noreturn]] void refuse_name(const std::string& where) {
  constexpr std::size_t kLengthMax = 100;
  constexpr std::size_t kNamed = 5;
  const std::string key = where.substr(where.rfind('/') + 1, kLengthMax);
  std::vector<std::pair<std::size_t, std::string_view>> order;
  for (const CatalogueModel& model : model_catalogue()) {
    const bool begins = key.size() > 2 && model.name.starts_with(key);
    order.emplace_back(begins ? 0 : edit_distance(key, model.name), model.name);
  }
  std::sort(order.begin(), order.end());
  std::string nearest;
  for (std::size_t i = 0; i < std::min(kNamed, order.size()); ++i) {
    nearest += (i == 0 ? "" : ", ") + std::string(order[i].second);
  }
  throw InputError(where, 0, "",
                   "does not exist as a file, and no model of the catalogue has this name; the "
                   "nearest: " +
                       nearest);
}

}  // namespace

ModelConfig load_model(const std::string& where) {
  const fs::path path(where);
  if (is_there(path)) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      return load_folder(path);
    }
    if (path.extension() == ".gguf") {
      return read_gguf_model(where);
    }
    if (path.extension() == ".safetensors") {
      return load_safetensors(path);
    }
    return read_model_config(where);
  }
  if (const CatalogueModel* model = find_catalogue_model(where)) {
    return read_catalogue_model(*model);
  }
  if (path.extension() == ".json" || path.extension() == ".gguf" ||
      path.extension() == ".safetensors" || where.empty()) {
    throw InputError(where, 0, "", "does not exist, expected a file");
  }
  refuse_name(where);
}

}  // namespace octavo::sim
