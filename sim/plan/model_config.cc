#include "octavo/sim/model_config.h"

#include <algorithm>
#include <filesystem>

#include "checked.h"
#include "octavo/sim/input_error.h"
#include "special_families.h"
#include "text_tower.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kFileBytesMax = std::int64_t{16} << 20;

[[noreturn]] void refuse(const JsonFields& fields, const std::string& model_type) {
  if (const Refusal* refusal = find_refusal(model_type)) {
    fields.fail("model_type", model_type + " is not supported: " + std::string(refusal->reason) +
                                  "; that would need " + std::string(refusal->needed));
  }
  std::string known;
  for (const std::string& name : supported_model_types()) {
    known += known.empty() ? name : ", " + name;
  }
  fields.fail(
      "model_type",
      model_type + " is not known, so what its layers cache is not either; supported: " + known);
}

/// Elements of the widest hidden layer that one token passes through, over dense and expert layers.
std::int64_t mlp_width(const TextTower& tower) {
  std::int64_t width = 0;
  for (const bool moe : tower.moe_layers) {
    const std::int64_t routed = checked_mul(tower.experts_per_token, tower.expert_intermediate,
                                            "the width of the routed experts");
    width = std::max(width, moe ? routed + tower.shared_intermediate : tower.intermediate_size);
  }
  return width;
}

ModelConfig build(const JsonFields& text,
                  const JsonFields& outer,
                  const Family& family,
                  const Wrapper* wrapper) {
  ModelConfig model;
  const TextTower tower = read_text_tower(text, outer, family, model.notes);
  model.name = std::filesystem::path(outer.file()).stem().string();
  model.model_type = family.model_type;
  model.hidden_size = tower.hidden_size;
  model.attention_heads = tower.heads;
  model.kv_heads = tower.kv_heads;
  model.head_dim = tower.head_dim;
  model.vocab_size = tower.vocab_size;
  model.max_positions = tower.max_positions;
  model.mlp_width = mlp_width(tower);
  model.experts = tower.experts;
  model.experts_per_token = tower.experts_per_token;
  model.layers = read_attention_layers(text, tower, model.notes);
  model.weights = count_weights(text, outer, tower, wrapper);
  if (model.weights.format.starts_with("mxfp4")) {
    model.notes.push_back(
        "the mxfp4 experts are counted as the checkpoint packs them; engines pad them (a start-up "
        "log "
        "of gpt-oss-20b shows 13.47 GiB of weights where the checkpoint has 12.8)");
  }
  return model;
}

ModelConfig build_special(const JsonFields& outer, const SpecialFamily& family) {
  ModelConfig model;
  const JsonFields text = family.nested ? outer.object("text_config") : outer;
  model.name = std::filesystem::path(outer.file()).stem().string();
  model.model_type = family.model_type;
  family.read(text, model);
  read_expert_counts(text, model);
  model.weights.unknown = "the weights of model_type " + std::string(family.model_type) +
                          " are not counted from the config";
  return model;
}

}  // namespace

bool ModelConfig::all_windowed() const {
  return std::all_of(layers.begin(), layers.end(), [](const auto& l) { return l.window > 0; });
}

bool ModelConfig::any_windowed() const {
  return std::any_of(layers.begin(), layers.end(), [](const auto& l) { return l.window > 0; });
}

std::int64_t ModelConfig::largest_window() const {
  std::int64_t window = 0;
  for (const CacheLayer& layer : layers) {
    window = std::max(window, layer.window);
  }
  return window;
}

ModelConfig parse_model_config(std::string_view text, const std::string& file) {
  const nlohmann::json document = parse_json_object(text, file);
  const JsonFields outer(document, file);
  const std::string model_type = outer.string("model_type");
  if (const Wrapper* wrapper = find_wrapper(model_type)) {
    return build(outer.object("text_config"), outer, *find_family(wrapper->text_model_type),
                 wrapper);
  }
  if (const SpecialFamily* special = find_special_family(model_type)) {
    return build_special(outer, *special);
  }
  const Family* family = find_family(model_type);
  if (family == nullptr) {
    refuse(outer, model_type);
  }
  if (outer.has("text_config")) {
    outer.fail("text_config",
               "is set, but model_type " + model_type + " is not known to nest its language model");
  }
  return build(outer, outer, *family, nullptr);
}

ModelConfig read_model_config(const std::string& path) {
  return parse_model_config(read_text_file(path, kFileBytesMax), path);
}

}  // namespace octavo::sim
