// Which layers look at a window: from `layer_types` where there is one, else by the family's rule.
#include <algorithm>

#include "text_tower.h"

namespace octavo::sim {
namespace {

/// Whether each layer is windowed, from the list. Any other layer type is refused by name.
std::vector<bool> windowed_by_list(const JsonFields& text, const TextTower& tower) {
  const std::vector<std::string> types = text.strings("layer_types");
  if (static_cast<std::int64_t>(types.size()) != tower.num_layers) {
    text.fail("layer_types", "has " + std::to_string(types.size()) +
                                 " entries, expected num_hidden_layers (" +
                                 std::to_string(tower.num_layers) + ")");
  }
  std::vector<bool> windowed;
  for (const std::string& type : types) {
    if (type != "full_attention" && type != "sliding_attention") {
      text.fail("layer_types", "contains \"" + type +
                                   "\", which is not supported; full_attention and "
                                   "sliding_attention are");
    }
    windowed.push_back(type == "sliding_attention");
  }
  return windowed;
}

std::int64_t window_pattern(const JsonFields& text,
                            const TextTower& tower,
                            std::vector<std::string>& notes) {
  // transformers renamed the field to keep it out of saved configs; both spellings are in the wild.
  for (const std::string_view name : {"sliding_window_pattern", "_sliding_window_pattern"}) {
    if (text.has(name)) {
      return text.integer(name, 1, kLayersMax);
    }
  }
  const std::int64_t fallback = tower.family->default_window_pattern;
  notes.push_back("sliding_window_pattern is absent: the family's default, every layer but each " +
                  std::to_string(fallback) + "th is windowed");
  return fallback;
}

std::vector<bool> windowed_by_rule(const JsonFields& text,
                                   const TextTower& tower,
                                   std::vector<std::string>& notes) {
  const auto count = static_cast<std::size_t>(tower.num_layers);
  std::vector<bool> windowed(count, false);
  switch (tower.family->windows) {
    case WindowRule::None:
      if (text.has("sliding_window")) {
        text.fail("sliding_window", "is set, but model_type " +
                                        std::string(tower.family->model_type) +
                                        " does not say which layers have a window (layer_types)");
      }
      break;
    case WindowRule::AllLayers: {
      const bool absent = !text.mentions("sliding_window");
      const bool any = text.has("sliding_window") || (absent && tower.family->default_window > 0);
      windowed.assign(count, any);
      break;
    }
    case WindowRule::FromLayer: {
      if (!text.boolean("use_sliding_window", false)) {
        break;
      }
      const std::int64_t first = text.integer("max_window_layers", 0, kLayersMax);
      for (std::size_t i = 0; i < count; ++i) {
        windowed[i] = static_cast<std::int64_t>(i) >= first;
      }
      break;
    }
    case WindowRule::LayerTypesOnly:
      text.fail("layer_types", "is missing, expected one entry a layer");
    case WindowRule::EvenLayers:
      for (std::size_t i = 0; i < count; ++i) {
        windowed[i] = i % 2 == 0;
      }
      break;
    case WindowRule::AllButEveryNth: {
      const auto pattern = static_cast<std::size_t>(window_pattern(text, tower, notes));
      for (std::size_t i = 0; i < count; ++i) {
        windowed[i] = (i + 1) % pattern != 0;
      }
      break;
    }
  }
  return windowed;
}

}  // namespace

std::vector<CacheLayer> read_attention_layers(const JsonFields& text,
                                              const TextTower& tower,
                                              std::vector<std::string>& notes) {
  const bool listed = text.has("layer_types");
  const std::vector<bool> windowed =
      listed ? windowed_by_list(text, tower) : windowed_by_rule(text, tower, notes);
  std::int64_t window = 0;
  if (std::find(windowed.begin(), windowed.end(), true) != windowed.end()) {
    if (!text.boolean("use_sliding_window", true)) {
      text.fail("use_sliding_window", "is false, but layer_types names sliding_attention layers");
    }
    const std::int64_t fallback = tower.family->default_window;
    if (fallback > 0 && !text.mentions("sliding_window")) {
      window = fallback;
      notes.push_back("sliding_window is absent: the family's default, " +
                      std::to_string(fallback));
    } else {
      window = text.integer("sliding_window", 1, kPositionsMax);
    }
  }
  std::vector<CacheLayer> layers;
  for (const bool has_window : windowed) {
    layers.push_back({tower.kv_heads, tower.head_dim, has_window ? window : 0});
  }
  return layers;
}

}  // namespace octavo::sim
