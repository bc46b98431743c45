// What `octavo simulate` says of a run: a table for people, one JSON object for machines.
#pragma once

#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "octavo/sim/capacity.h"
#include "octavo/sim/serve/roofline_cost.h"
#include "octavo/sim/serve/serving.h"
#include "octavo/sim/serve/serving_metrics.h"

namespace octavo::tools {

/// A run and what it was made of.
struct SimulatedRun {
  std::string trace;
  std::string trace_format;
  std::int64_t trace_block = 0;
  sim::TraceTraits traits;
  std::optional<sim::CapacityPlan> plan;  ///< What sized the pool; none with --blocks.
  std::string model;                      ///< Empty without one, as the next.
  std::string gpu;
  std::int64_t tp = 1;
  std::string kv_dtype;
  std::string cost;  ///< "roofline", "table FILE", "linear FILE".
  std::optional<sim::RooflineFigures> roofline;
  sim::ServingConfig config;
  sim::ServiceLimits limits;
  sim::ServingResult result;
  sim::ServingSummary summary;
  std::span<const sim::StepSeries> series;
  std::vector<std::string> remarks;
};

void print_text(const SimulatedRun& run, std::ostream& out);
std::string to_json(const SimulatedRun& run);

}  // namespace octavo::tools
