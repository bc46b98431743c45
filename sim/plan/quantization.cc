// What a quantization_config says: fp8, MXFP4, AWQ, GPTQ, compressed-tensors and ModelOpt, and the
// modules that it leaves out. What is not settled by the config alone makes the weights unknown,
// with the reason.
#include <algorithm>
#include <array>
#include <optional>

#include "text_tower.h"
#include "weight_format.h"

namespace octavo::sim {
namespace {

bool is_number(std::string_view word) {
  return !word.empty() &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Modules that the count never packs, whatever the lists say; and those it does not count.
bool is_plain_anyway(std::string_view module) {
  static constexpr std::array kParts = {"lm_head",
                                        "embed",
                                        "norm",
                                        "router",
                                        "visual",
                                        "vision",
                                        "projector",
                                        "audio",
                                        "mtp",
                                        "conv1d",
                                        "shared_expert_gate"};
  for (const std::string_view part : kParts) {
    if (module.find(part) != std::string_view::npos) {
      return true;
    }
  }
  while (!module.empty() && (module.back() == '*' || module.back() == '$')) {
    module.remove_suffix(1);
  }
  return module.ends_with(".gate");
}

struct ModulePath {
  std::string below_layer;
  bool every_layer = false;
};

/// "model.layers.3.mlp.experts.5.up_proj" -> "mlp.experts.up_proj"; nullopt for what is no module
/// below a layer.
std::optional<ModulePath> module_path(std::string_view module) {
  constexpr std::string_view kLayers = "layers.";
  const std::size_t start = module.find(kLayers);
  if (start == std::string_view::npos || module.starts_with("re:")) {
    return std::nullopt;
  }
  std::string_view rest = module.substr(start + kLayers.size());
  const std::string_view number = rest.substr(0, rest.find('.'));
  ModulePath path;
  path.every_layer = number == "*";
  if (!path.every_layer && !is_number(number)) {
    return std::nullopt;
  }
  rest.remove_prefix(std::min(rest.size(), number.size() + 1));
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    if (is_number(word)) {
      continue;
    }
    if (word.find('*') != std::string_view::npos) {
      return std::nullopt;
    }
    path.below_layer += path.below_layer.empty() ? "" : ".";
    path.below_layer += word;
  }
  return path;
}

void list_module(const std::string& module, const MatrixFormat& as, WeightFormat& format) {
  if (module == "lm_head" && as.packing != Packing::Plain) {
    format.listed[module] = {as, 1};
    return;
  }
  if (is_plain_anyway(module)) {
    return;
  }
  const std::optional<ModulePath> path = module_path(module);
  if (!path) {
    format.unknown = "quantization treats " + module +
                     " in its own way, whose size the reader "
                     "does not single out";
    return;
  }
  const auto [entry, added] = format.listed.try_emplace(path->below_layer, ListedModules{as, 0});
  if (!added && entry->second.format.packing != as.packing) {
    format.unknown = "quantization packs " + path->below_layer + " in more than one way";
  }
  std::int64_t& number = entry->second.number;
  number = path->every_layer || number == kAllModules ? kAllModules : number + 1;
}

void read_left_out(const JsonFields& fields, WeightFormat& format) {
  for (const char* name :
       {"modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules"}) {
    if (fields.has(name)) {
      for (const std::string& module : fields.strings(name)) {
        list_module(module, {}, format);
      }
    }
  }
}

void set_linear(const MatrixFormat& matrix, const std::string& name, WeightFormat& format) {
  format.linear = matrix;
  format.experts = matrix;
  format.name = name + " linear layers, the rest " + format.name;
}

MatrixFormat fp8_matrix(const JsonFields& fields) {
  MatrixFormat matrix;
  matrix.packing = Packing::Fp8;
  if (fields.has("weight_block_size")) {
    const auto block = fields.integers("weight_block_size", 1, kWidthMax);
    if (block.size() != 2) {
      fields.fail("weight_block_size",
                  "has " + std::to_string(block.size()) + " entries, expected 2");
    }
    matrix.block_rows = block[0];
    matrix.block_columns = block[1];
  }
  return matrix;
}

/// AWQ and GPTQ: integers in 32-bit words along the outputs or the inputs.
void read_integers(const JsonFields& fields, const std::string& method, WeightFormat& format) {
  const bool awq = method == "awq";
  for (const char* name : {"dynamic", "modules_in_block_to_quantize", "lm_head"}) {
    if (fields.says(name)) {
      format.unknown = method + " with " + name + " does not pack every linear layer alike";
      return;
    }
  }
  if (!fields.has("bits") || !fields.mentions("group_size")) {
    format.unknown = method + " without bits and group_size does not fix the bytes";
    return;
  }
  MatrixFormat matrix;
  matrix.packing = Packing::Integer;
  matrix.bits = fields.integer("bits", 2, 8);
  if (fields.is_negative("group_size")) {
    matrix.group_columns = 0;  // -1: one group
  } else {
    matrix.group_columns = fields.integer("group_size", 1, kWidthMax);
  }
  matrix.scale_bytes = 2;
  matrix.packs_rows = awq;
  matrix.input_index = !awq;
  matrix.zero_points = !awq || fields.boolean("zero_point", true);
  set_linear(matrix, method + " " + std::to_string(matrix.bits) + "-bit", format);
}

std::optional<MatrixFormat> modelopt_matrix(const std::string& algorithm) {
  constexpr std::int64_t kScalar = 4;
  MatrixFormat matrix;
  if (algorithm == "FP8") {
    matrix.packing = Packing::Fp8;
    matrix.matrix_bytes = kScalar;  // of the input, beside the weight's own
  } else if (algorithm == "NVFP4") {
    matrix.packing = Packing::Nvfp4;
    matrix.matrix_bytes = 2 * kScalar;
  } else if (algorithm == "W4A16_NVFP4") {
    matrix.packing = Packing::Nvfp4;
    matrix.matrix_bytes = kScalar;
  } else {
    return std::nullopt;
  }
  return matrix;
}

void read_modelopt(const JsonFields& fields, WeightFormat& format) {
  const std::string algorithm = fields.optional_string("quant_algo").value_or("");
  if (algorithm != "MIXED_PRECISION") {
    const auto matrix = modelopt_matrix(algorithm);
    if (!matrix) {
      format.unknown = "modelopt with quant_algo \"" + algorithm + "\" is not known";
      return;
    }
    set_linear(*matrix, algorithm, format);
    return;
  }
  const JsonFields layers = fields.object("quantized_layers");
  for (const std::string& module : layers.names()) {
    const std::string own = layers.object(module).string("quant_algo");
    const auto matrix = modelopt_matrix(own);
    if (!matrix) {
      format.unknown = "modelopt with quant_algo \"" + own + "\" of " + module + " is not known";
      return;
    }
    list_module(module, *matrix, format);
  }
  format.name = "mixed precision (ModelOpt), the rest " + format.name;
}

/// The scales of one group of a compressed-tensors config; false when they are not settled.
bool read_strategy(const JsonFields& weights, MatrixFormat& matrix) {
  const std::string strategy = weights.optional_string("strategy").value_or("tensor");
  if (strategy == "channel") {
    matrix.block_rows = 1;
  } else if (strategy == "group" || strategy == "tensor_group") {
    matrix.group_columns = weights.integer("group_size", 1, kWidthMax);
  } else if (strategy == "block") {
    const auto block = weights.integers("block_structure", 1, kWidthMax);
    if (block.size() != 2) {
      weights.fail("block_structure", "has other than 2 entries");
    }
    matrix.block_rows = block[0];
    matrix.block_columns = block[1];
  } else if (strategy != "tensor") {
    return false;
  }
  return true;
}

void read_compressed(const JsonFields& fields, WeightFormat& format) {
  const JsonFields groups = fields.object("config_groups");
  const std::vector<std::string> names = groups.names();
  const std::string unclear = "compressed-tensors with ";
  if (names.size() != 1) {
    format.unknown = unclear + std::to_string(names.size()) + " config_groups is not settled";
    return;
  }
  const JsonFields group = groups.object(names[0]);
  if (group.strings("targets") != std::vector<std::string>{"Linear"}) {
    format.unknown = unclear + "targets other than Linear is not settled";
    return;
  }
  const JsonFields weights = group.object("weights");
  std::string packed = fields.optional_string("format").value_or("");
  if (const auto own = group.optional_string("format")) {
    packed = *own;
  }
  MatrixFormat matrix;
  matrix.scale_bytes = format.plain_bytes;
  if (!read_strategy(weights, matrix)) {
    format.unknown = unclear + "an unknown strategy is not settled";
    return;
  }
  const std::int64_t bits = weights.integer("num_bits", 1, 64);
  if ((packed == "float-quantized" || packed == "int-quantized") && bits == 8 &&
      matrix.group_columns == 0) {
    matrix.packing = Packing::Fp8;
  } else if (packed == "pack-quantized" && bits <= 8) {
    matrix.packing = Packing::Integer;
    matrix.bits = bits;
    matrix.zero_points = !weights.boolean("symmetric", true);
    matrix.matrix_bytes = 16;  // its shape, two 64-bit numbers
  } else if (packed == "nvfp4-pack-quantized" && bits == 4) {
    matrix.packing = Packing::Nvfp4;
    matrix.matrix_bytes = group.has("input_activations") ? 8 : 4;
  } else {
    format.unknown = unclear + "format \"" + packed + "\" is not known";
    return;
  }
  set_linear(matrix, packed + " " + std::to_string(bits) + "-bit", format);
}

}  // namespace

void read_quantization(const JsonFields& quantization, WeightFormat& format) {
  const std::string method = quantization.string("quant_method");
  if (method == "fp8") {
    set_linear(fp8_matrix(quantization), "fp8", format);
  } else if (method == "mxfp4") {
    format.experts.packing = Packing::Mxfp4;
    format.name = "mxfp4 experts, the rest " + format.name;
  } else if (method == "awq" || method == "gptq") {
    read_integers(quantization, method, format);
  } else if (method == "modelopt") {
    read_modelopt(quantization, format);
  } else if (method == "compressed-tensors") {
    read_compressed(quantization, format);
  } else {
    format.unknown =
        "quant_method " + method + " does not fix which layers are packed how in the config alone";
  }
  if (format.unknown.empty()) {
    read_left_out(quantization, format);
  }
}

}  // namespace octavo::sim
