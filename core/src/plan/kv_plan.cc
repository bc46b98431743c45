#include "plan/kv_plan.h"

#include "plan/lay_out.h"
#include "plan/resolve_rows.h"

namespace octavo {

KVPlan make_kv_plan(const KVCacheConfig& config, std::span<const KVLayerSpec> layer_specs) {
  KVPlan plan = resolve_rows(config, layer_specs);
  lay_out(plan);
  add_up_footprint(plan);
  return plan;
}

KVCacheFootprint footprint(const KVCacheConfig& config, std::span<const KVLayerSpec> layer_specs) {
  return make_kv_plan(config, layer_specs).footprint;
}

}  // namespace octavo
