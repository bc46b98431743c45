#include "vision_weights.h"

#include <algorithm>

#include "checked.h"
#include "text_tower.h"

namespace octavo::sim {

void count_qwen_vision(const JsonFields& vision, WeightCounter& counter) {
  const std::int64_t depth = vision.integer("depth", 1, kLayersMax);
  const std::int64_t width = vision.integer("hidden_size", 1, kWidthMax);
  const std::int64_t inner = vision.integer("intermediate_size", 1, kWidthMax);
  const std::int64_t out = vision.integer("out_hidden_size", 1, kWidthMax);
  const std::int64_t positions = vision.integer("num_position_embeddings", 1, kPositionsMax);
  const std::int64_t channels = vision.integer("in_channels", 1, 1024);
  const std::int64_t patch = vision.integer("patch_size", 1, 4096);
  const std::int64_t frames = vision.integer("temporal_patch_size", 1, 1024);
  const std::int64_t merge = vision.integer("spatial_merge_size", 1, 64);
  const auto deepstack =
      static_cast<std::int64_t>(vision.integers("deepstack_visual_indexes", 0, depth - 1).size());
  counter.plain(1, channels * frames * patch * patch + 1, width);
  counter.plain(1, positions, width);
  counter.plain(4 * depth, width);             // two layer norms with bias
  counter.plain(depth, 3 * width, width + 1);  // q, k, v
  counter.plain(depth, width, width + 1);      // output projection
  counter.plain(depth, inner, width + 1);
  counter.plain(depth, width, inner + 1);
  const std::int64_t merged = checked_mul(width, merge * merge, "the parameter count");
  const std::int64_t mergers = 1 + deepstack;
  counter.plain(mergers, merged, merged + 1);
  counter.plain(mergers, out, merged + 1);
  counter.plain(2, width);               // the last merger norms before merging,
  counter.plain(2 * deepstack, merged);  // the others after
}

std::int64_t vision_parameters_bound(const JsonFields& vision, std::int64_t text_width) {
  const auto field = [&](const char* name, std::int64_t max) {
    return vision.optional_integer(name, 1, max).value_or(0);
  };
  const std::int64_t width = field("hidden_size", kWidthMax);
  const std::int64_t inner = field("intermediate_size", kWidthMax);
  const std::int64_t layers =
      std::max(field("num_hidden_layers", kLayersMax), field("depth", kLayersMax));
  if (width == 0 || inner == 0 || layers == 0) {
    return 0;
  }
  constexpr std::int64_t kPositions = 16384;
  const std::string_view what = "the bound of the vision tower";
  const std::int64_t block = checked_mul(width, 4 * width + 3 * inner, what);
  const std::int64_t ends = checked_mul(width, kPositions + 4 * text_width, what);
  const std::int64_t projector = checked_mul(text_width, text_width, what);
  std::int64_t sum = checked_add(checked_mul(block, layers, what), ends, what);
  sum = checked_add(sum, projector, what);
  return checked_add(sum, sum / 4, what);
}

void bound_vision(const JsonFields& outer,
                  std::string_view model_type,
                  const WeightFormat& format,
                  std::int64_t hidden_size,
                  ModelWeights& weights) {
  const std::string tower = "the vision tower of " + std::string(model_type);
  if (!outer.has("vision_config")) {
    weights.uncounted = tower + " is not described by the config: only the language model counts";
    return;
  }
  const std::int64_t bound = vision_parameters_bound(outer.object("vision_config"), hidden_size);
  if (bound == 0) {
    weights.uncounted = tower + " is not counted: its config names no widths";
    return;
  }
  weights.uncounted = tower + " is not counted from the config, only bounded by its widths";
  weights.uncounted_bytes_max = checked_mul(bound, format.plain_bytes, "the bytes of the weights");
}

}  // namespace octavo::sim
