// What `octavo plan` says of a recorded workload: hits of the planned pool, the miss-ratio curve
// around it, the smallest deployment within the service limits, latency against load.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "command.h"
#include "octavo/sim/deploy/deployment.h"
#include <nlohmann/json_fwd.hpp>

namespace octavo::tools {

struct WorkloadOptions {
  std::string trace;
  std::optional<double> slo_ttft_ms;
  std::optional<double> slo_tpot_ms;
  double slo_percentile = 99;
  std::optional<double> gpu_hour_usd;
  std::vector<std::string> try_gpus;
  std::vector<std::int64_t> try_tps;
  std::vector<std::string> try_kv_dtypes;
  std::vector<std::int64_t> try_block_sizes;
  std::int64_t replicas_max = 16;
  double speedup = 1;

  bool searches() const { return slo_ttft_ms || slo_tpot_ms; }
};

/// One point of the curve, on every axis.
struct CurvePoint {
  std::int64_t blocks = 0;
  std::int64_t tokens = 0;
  double gib = 0;                           ///< Of all ranks of one replica.
  std::optional<double> usd_per_hour = {};  ///< The share of the GPUs' price that the pool takes.
  double hit_rate = 0;
};

struct WorkloadAnswer {
  std::optional<sim::PoolHits> hits = {};
  std::vector<CurvePoint> curve = {};
  std::optional<sim::ServiceObjective> objective = {};
  sim::DeploymentAnswer deployments = {};
  std::vector<sim::LoadPoint> loads = {};    ///< Of the best deployment, or the closest.
  std::vector<sim::StepSeries> series = {};  ///< The same, as recorded.
};

void add_workload_options(CLI::App& command, WorkloadOptions& options);

/// Raises UsageError for options that make no sense together, and what the parts raise.
WorkloadAnswer answer_workload(const WorkloadOptions& options,
                               const sim::CapacityPlan& plan,
                               Context& context);

void print_workload(const WorkloadAnswer& answer, const sim::CapacityPlan& plan, std::ostream& out);

/// Adds the members "mrc", "deployments", "loads" and "series", those that there are.
void add_workload_json(const WorkloadAnswer& answer,
                       const sim::CapacityPlan& plan,
                       nlohmann::ordered_json& json);

}  // namespace octavo::tools
