// The bytes of a cache for a model: by storage class, by layer, per token, block and slot.
//
// Pure functions over plain data; every figure is the library's own footprint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "octavo/kv_footprint.h"
#include "octavo/sim/kv_rows.h"
#include "octavo/sim/model_config.h"

namespace octavo::sim {

struct FootprintRequest {
  ModelConfig model;
  RowOptions rows = {
      .max_len = 0};  ///< max_len 0: the model's max_positions. Sizes below override theirs.
  /// Paged rows: neither this nor `budget_bytes` means one request of max_len.
  std::optional<std::int64_t> num_blocks = {};
  /// The most that fits into so many bytes, tables included: blocks of a paged cache, slots of a
  /// continuous one.
  std::optional<std::int64_t> budget_bytes = {};
};

/// Layers that store the same.
struct LayerGroup {
  CacheLayer layer;  ///< With the heads of one rank.
  std::vector<std::int64_t> layers = {};
  std::int64_t bytes_per_layer = 0;

  /// "0-31", or "0-34 by 2", or "0-4, 6-10".
  std::string layers_text() const;
};

struct FootprintReport {
  FootprintRequest request;  ///< With blocks, slots and max_len filled in.
  KVCacheFootprint bytes;
  std::int64_t bytes_per_token =
      0;  ///< Paged: of a block's share; continuous: of the rows that grow.
  std::vector<LayerGroup> groups = {};
};

/// Raises InvalidArgument for values out of range (see make_kv_rows, plan_capacity), for num_blocks
/// and budget_bytes at once and for num_blocks of a continuous cache; ResourceExhausted when not
/// even one block or slot fits into budget_bytes.
FootprintReport report_footprint(const FootprintRequest& request);

/// One JSON object, schema_version 1, without a trailing newline.
std::string to_json(const FootprintReport& report);

}  // namespace octavo::sim
