#include "octavo/sim/footprint_report.h"

#include <algorithm>

#include "checked.h"
#include "number_text.h"
#include "octavo/error.h"
#include "rank_layers.h"
#include <nlohmann/json.hpp>

namespace octavo::sim {
namespace {

void check(const FootprintRequest& request) {
  if (request.num_blocks && request.budget_bytes) {
    throw Error(ErrorCode::InvalidArgument,
                "the number of blocks and the bytes to fill were both given, expected one");
  }
  if (request.num_blocks && request.rows.mode == KVCacheMode::Continuous) {
    throw Error(ErrorCode::InvalidArgument,
                "the number of blocks was given, but a continuous cache has none");
  }
  if (request.rows.max_len > request.model.max_positions) {
    throw Error(ErrorCode::InvalidArgument,
                "max-len is " + grouped(request.rows.max_len) + ", but " + request.model.name +
                    " has max_position_embeddings " + grouped(request.model.max_positions));
  }
}

/// Fills in blocks and slots.
void resolve_sizes(FootprintRequest& request) {
  RowOptions& rows = request.rows;
  if (rows.max_len == 0) {
    rows.max_len = request.model.max_positions;
  }
  if (rows.mode == KVCacheMode::Paged) {
    rows.num_blocks = 1;
    KvRows one = make_kv_rows(request.model, rows);
    rows.num_blocks = request.num_blocks.value_or(ceil_div(rows.max_len, rows.block_size));
    if (request.budget_bytes) {
      rows.num_blocks = largest_num_blocks(one.config, one.specs, *request.budget_bytes);
    }
  } else if (request.budget_bytes) {
    rows.max_seqs = 1;
    const KvRows one = make_kv_rows(request.model, rows);
    rows.max_seqs = largest_max_seqs(one.config, one.specs, *request.budget_bytes);
  }
}

std::vector<LayerGroup> group_layers(const ModelConfig& model,
                                     const KvRows& rows,
                                     std::int64_t tp,
                                     const std::vector<std::int64_t>& bytes) {
  std::vector<LayerGroup> groups;
  for (std::size_t row = 0; row < rows.specs.size(); ++row) {
    const std::size_t i = rows.layer_of[row];
    const CacheLayer layer = rank_layer(model, model.layers[i], tp);
    auto it = std::find_if(groups.begin(), groups.end(), [&](const LayerGroup& group) {
      return group.layer == layer && group.bytes_per_layer == bytes[row];
    });
    if (it == groups.end()) {
      groups.push_back({layer, {}, bytes[row]});
      it = groups.end() - 1;
    }
    it->layers.push_back(static_cast<std::int64_t>(i));
  }
  return groups;
}

/// What one more position of one sequence adds to the K, V and scales of a continuous cache whose
/// rows all grow: the difference between two capacities. Windowed rows do not grow.
std::int64_t continuous_bytes_per_token(const ModelConfig& model, RowOptions options) {
  options.max_seqs = 1;
  options.max_len = 1;
  const KvRows one = make_kv_rows(model, options);
  options.max_len = 2;
  const KvRows two = make_kv_rows(model, options);
  const std::vector<std::int64_t> bytes_of_one = footprint(one.config, one.specs).per_layer;
  const std::vector<std::int64_t> bytes_of_two = footprint(two.config, two.specs).per_layer;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < bytes_of_one.size(); ++i) {
    const CacheLayer& layer = model.layers[one.layer_of[i]];
    if (layer.grows() && layer.window == 0) {
      sum += bytes_of_two[i] - bytes_of_one[i];
    }
  }
  return sum;
}

}  // namespace

std::string LayerGroup::layers_text() const {
  const std::size_t count = layers.size();
  if (count > 2) {
    const std::int64_t step = layers[1] - layers[0];
    bool even = true;
    for (std::size_t i = 1; i < count; ++i) {
      even = even && layers[i] - layers[i - 1] == step;
    }
    if (even && step > 1) {
      return std::to_string(layers.front()) + "-" + std::to_string(layers.back()) + " by " +
             std::to_string(step);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < count;) {
    std::size_t last = i;
    while (last + 1 < count && layers[last + 1] == layers[last] + 1) {
      ++last;
    }
    if (i > 0) {
      text += ", ";
    }
    text += std::to_string(layers[i]);
    if (last > i) {
      text += "-" + std::to_string(layers[last]);
    }
    i = last + 1;
  }
  return text;
}

FootprintReport report_footprint(const FootprintRequest& request) {
  check(request);
  FootprintReport report;
  report.request = request;
  resolve_sizes(report.request);
  const RowOptions& options = report.request.rows;
  const KvRows rows = make_kv_rows(request.model, options);
  report.bytes = footprint(rows.config, rows.specs);
  report.groups = group_layers(request.model, rows, options.tp, report.bytes.per_layer);
  report.bytes_per_token = options.mode == KVCacheMode::Paged
                               ? report.bytes.bytes_per_block / options.block_size
                               : continuous_bytes_per_token(request.model, options);
  return report;
}

std::string to_json(const FootprintReport& report) {
  using Json = nlohmann::ordered_json;
  const RowOptions& rows = report.request.rows;
  const bool paged = rows.mode == KVCacheMode::Paged;
  const KVCacheFootprint& bytes = report.bytes;
  Json json;
  json["schema_version"] = 1;
  json["model"] = report.request.model.name;
  json["config"] = {{"mode", paged ? "paged" : "continuous"},
                    {"tp", rows.tp},
                    {"kv_dtype", rows.format.name},
                    {"block_size", paged ? Json(rows.block_size) : Json(nullptr)},
                    {"num_blocks", paged ? Json(rows.num_blocks) : Json(nullptr)},
                    {"max_seqs", rows.max_seqs},
                    {"max_len", rows.max_len},
                    {"max_step_tokens", rows.max_step_tokens}};
  json["bytes"] = {{"continuous_kv", bytes.continuous_kv},
                   {"paged_pools", bytes.paged_pools},
                   {"quant_scales", bytes.quant_scales},
                   {"cross_kv", bytes.cross_kv},
                   {"conv", bytes.conv},
                   {"recurrent", bytes.recurrent},
                   {"tables", bytes.tables},
                   {"total", bytes.total()}};
  json["per_token_bytes"] = report.bytes_per_token;
  json["per_block_bytes"] = bytes.bytes_per_block;
  json["per_slot_bytes"] = bytes.bytes_per_slot;
  json["layer_groups"] = Json::array();
  for (const LayerGroup& group : report.groups) {
    json["layer_groups"].push_back(
        {{"layers", group.layers},
         {"kind", kind_name(group.layer)},
         {"window", group.layer.window > 0 ? Json(group.layer.window) : Json(nullptr)},
         {"kv_heads_per_rank", group.layer.kv_heads},
         {"head_dim", group.layer.head_dim},
         {"bytes_per_layer", group.bytes_per_layer}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace octavo::sim
