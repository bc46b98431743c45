// Step costs that come from a file: a table, fitted coefficients, or options of the roofline.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "octavo/sim/serve/roofline_cost.h"
#include "octavo/sim/serve/step_cost.h"

namespace octavo::sim {

/// What a file says of the cost of a step: a complete model, or what the roofline is to take as
/// given in place of its defaults.
using StepCostFile = std::variant<std::unique_ptr<StepCost>, RooflineOptions>;

/// Reads a CSV of measured steps (table_cost.h), or a JSON object with "step_cost": "linear"
/// (linear_cost.h) or "roofline". The latter may set memory_efficiency, compute_efficiency,
/// attention_efficiency, link_efficiency, overhead_us, reduce_us, tb_per_s, tflops, link_gb_per_s
/// and weights_gib; what it does not set stays as in `defaults`. Raises InputError.
StepCostFile read_step_cost(const std::string& path, const RooflineOptions& defaults = {});

}  // namespace octavo::sim
