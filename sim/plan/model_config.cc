#include "octavo/sim/model_config.h"

#include <algorithm>
#include <filesystem>

#include "checked.h"
#include "octavo/sim/input_error.h"
#include "special_families.h"
#include "text_tower.h"
#include "vision_weights.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kConfigBytesMax = std::int64_t{16} << 20;

[[noreturn]] void refuse(const JsonFields& fields,
                         const std::string& model_type,
                         const std::string& reason) {
  if (const Refusal* refusal = find_refusal(model_type)) {
    fields.fail("model_type", model_type + " is not supported: " + std::string(refusal->reason) +
                                  "; that would need " + std::string(refusal->needed));
  }
  std::string known;
  for (const std::string& name : supported_model_types()) {
    known += known.empty() ? name : ", " + name;
  }
  fields.fail("model_type",
              model_type +
                  " is not known, so what its layers cache is not either; to read it as plain "
                  "attention would need a config without other kinds of rows, but " +
                  reason + "; supported: " + known);
}

/// Pieces of field names that speak of more than K and V of equal heads in every layer.
constexpr std::string_view kSuspicious[] = {"window",
                                            "chunk",
                                            "mamba",
                                            "ssm",
                                            "conv",
                                            "linear_",
                                            "lora_rank",
                                            "latent",
                                            "cross",
                                            "encoder",
                                            "state",
                                            "recurrent",
                                            "compress",
                                            "index_",
                                            "shared_layers",
                                            "share_kv",
                                            "kv_share",
                                            "block_config",
                                            "layer_pattern",
                                            "override_pattern",
                                            "interval",
                                            "global_",
                                            "sparse_attention",
                                            "v_head_dim",
                                            "layers_block_type",
                                            "rwkv",
                                            "retention",
                                            "text_config",
                                            "vision_config",
                                            "audio_config",
                                            "swa_",
                                            "attn_type",
                                            "attention_type",
                                            "k_eq_v"};

/// The first field that keeps a config from being a plain decoder, or empty. A field that says
/// nothing (null, false, 0) is no obstacle.
std::string obstacle(const JsonFields& fields) {
  for (const char* name :
       {"num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads",
        "intermediate_size", "vocab_size", "max_position_embeddings"}) {
    if (!fields.has(name)) {
      return std::string(name) + " is missing";
    }
  }
  for (const std::string& name : fields.names()) {
    const bool suspicious =
        std::any_of(std::begin(kSuspicious), std::end(kSuspicious),
                    [&](std::string_view piece) { return name.find(piece) != std::string::npos; });
    if (suspicious && fields.says(name) && name != "use_sliding_window") {
      return name + " is set";
    }
  }
  for (const ForeignField& field : foreign_fields()) {
    if (fields.says(field.name)) {
      return std::string(field.name) + " is set";
    }
  }
  if (fields.has("layer_types")) {
    for (const std::string& type : fields.strings("layer_types")) {
      if (type != "full_attention") {
        return "layer_types names " + type;
      }
    }
  }
  return {};
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
  model.tied_embeddings = tower.tied;
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

/// An unknown family whose fields leave no doubt about its rows: K and V of every layer. What else
/// its layers hold is not known, so the weights are not counted.
ModelConfig build_unknown(const JsonFields& outer, const std::string& model_type) {
  const std::string reason = obstacle(outer);
  if (!reason.empty() || find_refusal(model_type) != nullptr) {
    refuse(outer, model_type, reason);
  }
  const Family plain{.model_type = model_type};
  ModelConfig model = build(outer, outer, plain, nullptr);
  model.weights.parts.clear();
  model.weights.format.clear();
  model.weights.unknown =
      "model_type " + model_type + " is not known, and with it what its layers hold";
  model.notes.push_back("model_type " + model_type +
                        " is not known; its fields are those of plain attention, and it is read "
                        "as such");
  return model;
}

/// What the family's counter makes of the fields. A field that only the weights need and that is
/// not there leaves them unknown.
ModelWeights count_special(const JsonFields& text,
                           const JsonFields& outer,
                           const SpecialFamily& family,
                           const ModelConfig& model) {
  const WeightFormat format = read_weight_format(text, outer, "");
  WeightCounter counter(format);
  ModelWeights weights;
  try {
    const std::int64_t rotary = family.count(text, model, counter);
    weights.rotary_bytes = checked_mul(rotary * 2, model.max_positions, "the rotary table");
    const bool has_vision = outer.has("vision_config");
    if (family.nesting == Nesting::WithQwenVision && has_vision) {
      count_qwen_vision(outer.object("vision_config"), counter);
      counter.finish("vision tower");
    } else if (family.nesting != Nesting::None) {
      bound_vision(outer, family.model_type, format, model.hidden_size, weights);
    }
  } catch (const InputError& error) {
    weights.unknown = std::string("a field to count them by is not there: ") + error.what();
    return weights;
  }
  weights.format = format.name;
  weights.parts = counter.parts();
  weights.unknown = counter.unknown();
  return weights;
}

ModelConfig build_special(const JsonFields& outer, const SpecialFamily& family) {
  ModelConfig model;
  const bool nested = family.nesting != Nesting::None;
  const JsonFields text = nested ? outer.object("text_config") : outer;
  model.name = std::filesystem::path(outer.file()).stem().string();
  model.model_type = family.model_type;
  const JsonFields& tie_owner = text.mentions("tie_word_embeddings") ? text : outer;
  model.tied_embeddings = tie_owner.boolean("tie_word_embeddings", family.tied_by_default);
  family.read(text, model);
  read_expert_counts(text, model);
  model.weights = count_special(text, outer, family, model);
  for (const char* name : {"num_nextn_predict_layers", "mtp_num_hidden_layers"}) {
    if (text.says(name)) {
      model.notes.push_back(std::string("the layers for multi-token prediction (") + name +
                            ") are not counted: engines load them for speculation only");
    }
  }
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
    return build_unknown(outer, model_type);
  }
  if (outer.has("text_config")) {
    outer.fail("text_config",
               "is set, but model_type " + model_type + " is not known to nest its language model");
  }
  return build(outer, outer, *family, nullptr);
}

ModelConfig read_model_config(const std::string& path) {
  return parse_model_config(read_text_file(path, kConfigBytesMax), path);
}

}  // namespace octavo::sim
