// Well-known models by name, as the fields of their published config.json that the reader needs.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "catalogue_entries.h"
#include "json_fields.h"
#include "octavo/sim/kv_rows.h"
#include "octavo/sim/model_source.h"

namespace octavo::sim {
namespace {

bool is_separator(char c) {
  return c == '-' || c == '_' || c == '.' || c == ' ';
}

/// Words that name a training or a packaging, never other layers.
bool says_nothing(const std::string& word) {
  static constexpr std::array kWords = {"instruct", "base", "it",   "pt",     "hf",
                                        "chat",     "bf16", "meta", "nvidia", "2507"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

/// "meta-llama/Meta-Llama-3.1-70B-Instruct" -> "llama3170b".
std::string name_key(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  std::string key;
  std::string word;
  const auto flush = [&] {
    if (!says_nothing(word)) {
      key += word;
    }
    word.clear();
  };
  for (const char c : name) {
    if (is_separator(c)) {
      flush();
    } else {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  flush();
  return key;
}

/// Writes out the pattern of layer_types, once a layer.
void expand_layer_types(nlohmann::json& fields) {
  if (!fields.contains("layer_types")) {
    return;
  }
  const auto pattern = fields["layer_types"].get<std::string>();
  const auto layers = fields.at("num_hidden_layers").get<std::size_t>();
  nlohmann::json types = nlohmann::json::array();
  for (std::size_t i = 0; i < layers; ++i) {
    const char letter = pattern[i % pattern.size()];
    types.push_back(letter == 's'   ? "sliding_attention"
                    : letter == 'l' ? "linear_attention"
                                    : "full_attention");
  }
  fields["layer_types"] = types;
}

}  // namespace

std::span<const CatalogueModel> model_catalogue() {
  return catalogue_models();
}

const CatalogueModel* find_catalogue_model(std::string_view name) {
  const std::string key = name_key(name);
  for (const CatalogueModel& model : catalogue_models()) {
    if (name_key(model.name) == key) {
      return &model;
    }
  }
  // "Scout-17B-16E" and "1.5-mini" go by shorter names too.
  for (const CatalogueAlias& alias : catalogue_aliases()) {
    if (name_key(alias.name) == key) {
      return find_catalogue_model(alias.of);
    }
  }
  return nullptr;
}

ModelConfig read_catalogue_model(const CatalogueModel& model) {
  const std::string name(model.name);
  nlohmann::json fields = parse_json_object(model.config, name);
  expand_layer_types(fields);
  if (fields.contains("text_config")) {
    expand_layer_types(fields["text_config"]);
  }
  ModelConfig config = parse_model_config(fields.dump(), name);
  config.name = name;
  return config;
}

std::vector<CatalogueRow> catalogue_rows() {
  std::vector<CatalogueRow> rows;
  for (const CatalogueModel& model : catalogue_models()) {
    const ModelConfig config = read_catalogue_model(model);
    CatalogueRow row;
    row.name = model.name;
    row.parameters = config.weights.parameters();
    row.layers = static_cast<std::int64_t>(config.layers.size());
    for (const KvClass& rows_of : rank_classes(config, {}, 0, config.layers.size())) {
      row.token_bytes += rows_of.bytes_per_token;
      row.window_token_bytes += rows_of.layer.window > 0 ? rows_of.bytes_per_token : 0;
      row.sequence_bytes += rows_of.bytes_per_sequence;
    }
    rows.push_back(row);
  }
  return rows;
}

std::string catalogue_json() {
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (const CatalogueRow& row : catalogue_rows()) {
    models.push_back({{"name", row.name},
                      {"parameters", row.parameters},
                      {"layers", row.layers},
                      {"per_token_bytes", row.token_bytes},
                      {"window_per_token_bytes", row.window_token_bytes},
                      {"per_sequence_bytes", row.sequence_bytes}});
  }
  const nlohmann::ordered_json document = {{"schema_version", 1}, {"models", models}};
  return document.dump(2);
}

}  // namespace octavo::sim
