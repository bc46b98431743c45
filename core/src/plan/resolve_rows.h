// First half of planning: check a configuration and resolve every row on its own.
#pragma once

#include <span>

#include "octavo/kv_config.h"
#include "plan/kv_plan.h"

namespace octavo {

/// Fills everything of a plan but pools, allocations, places, tables and footprint.
/// Raises InvalidArgument for every composition that breaks its contract.
KVPlan resolve_rows(const KVCacheConfig& config, std::span<const KVLayerSpec> layer_specs);

}  // namespace octavo
