// Which deployment serves a recorded workload within its limits, and at what price: the plan of a
// pool and the simulation of its traffic, put together.
//
// A deployment is so many replicas of one model on so many GPUs each. It *meets* the objective when
// at least the wanted share of all requests of the trace finishes within the limits; a request that
// is rejected or cancelled does not. Deterministic: the same question gives the same answer
// whatever the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "octavo/sim/capacity.h"
#include "octavo/sim/serve/roofline_cost.h"
#include "octavo/sim/serve/serving_config.h"
#include "octavo/sim/serve/serving_metrics.h"
#include "octavo/sim/trace.h"

namespace octavo::sim {

/// Opens the trace anew; each simulation reads it once. Called from several threads at a time.
using TraceSource = std::function<std::unique_ptr<TraceReader>()>;

/// Limits that a share of all requests must keep. Unset limits are kept by all.
struct ServiceObjective {
  std::optional<double> ttft_ms = {};
  std::optional<double> tpot_ms = {};
  double percentile = 99;  ///< Of the requests, (0, 100].
};

/// Percentiles over the finished requests, in milliseconds.
struct Latency {
  double p50_ms = 0;
  double p90_ms = 0;
  double p99_ms = 0;
};

/// What one deployment did with the trace.
struct Deployment {
  // The question.
  Gpu gpu = {};
  std::int64_t tp = 1;
  std::int64_t replicas = 1;
  std::string kv_dtype = {};
  std::int64_t block_size = 16;
  // The answer.
  std::int64_t blocks = 0;  ///< Of one replica's pool.
  bool meets = false;
  double good_share = 0;  ///< Of all requests.
  Latency ttft = {};
  Latency tpot = {};
  double offered_per_s = 0;   ///< Requests that came a second.
  double requests_per_s = 0;  ///< Requests that finished a second, to the last end.
  double output_tokens_per_s = 0;
  double hit_rate = 0;
  std::int64_t preemptions = 0;
  std::int64_t served_tokens = 0;  ///< Prompt and output, of requests that were scheduled.
  double seconds = 0;              ///< From the first arrival to the last end.
  std::optional<double> usd_per_hour = {};
  std::optional<double> usd_per_million_tokens = {};  ///< Of served tokens, over those seconds.
  bool on_pareto_front =
      false;  ///< None tried is as good in cost, TTFT and TPOT and better in one.

  std::int64_t gpus() const noexcept { return tp * replicas; }
};

struct DeploymentQuestion {
  /// Model, utilisation, lengths and limits; gpu, tp, dp, format and block size are replaced by the
  /// candidates'. pp and dcp must be 1: the simulation does not model them.
  PlanRequest plan;
  std::vector<Gpu> gpus = {};
  std::vector<std::int64_t> tps = {};  ///< Those that do not divide the heads are left out.
  std::vector<std::string> kv_dtypes = {};
  std::vector<std::int64_t> block_sizes = {};
  std::int64_t replicas_max = 16;  ///< [1, 1024].
  ServiceObjective objective = {};
  std::optional<double> gpu_hour_usd = {};  ///< Of one GPU of every kind.
  ServingConfig serving = {};               ///< Router, order, policy, seed, ...
  RooflineOptions roofline = {};            ///< Efficiencies; tp, format and weights are set.
  double speed = 1;                         ///< Arrivals come so many times as fast.
  int threads = 0;                          ///< 0: one a core.
};

struct DeploymentAnswer {
  /// For every candidate that fits: the fewest replicas that meet the objective, or replicas_max of
  /// them when those do not either. In the order of the candidates.
  std::vector<Deployment> tried = {};
  std::vector<std::string> left_out = {};  ///< Candidates that do not fit, and why.
  std::optional<std::size_t> best = {};    ///< The cheapest that meets it; then the fewest GPUs.
};

/// Called with the number of simulations done, from one thread at a time.
using DeploymentProgress = std::function<void(std::int64_t)>;

/// More replicas are taken to be no worse; the fewest are found by doubling and halving. Raises
/// InvalidArgument for a question without candidates or out of range, and what the parts raise.
DeploymentAnswer find_deployment(const TraceSource& trace,
                                 const DeploymentQuestion& question,
                                 const DeploymentProgress& progress = {});

/// One deployment, as it is: `plan` of one replica (gpu, tp, format and block size count), so many
/// replicas. `metrics` receives the run's figures when not null; a new one, with the objective's
/// limits. Raises as above, and when the plan does not fit.
Deployment simulate_deployment(const TraceSource& trace,
                               const CapacityPlan& plan,
                               std::int64_t replicas,
                               const DeploymentQuestion& question,
                               ServingMetrics* metrics = nullptr);

/// Limits as the metrics count them.
ServiceLimits service_limits(const ServiceObjective& objective);

/// One point of latency against load.
struct LoadPoint {
  double speed = 1;
  Deployment deployment = {};
};
/// The deployment under arrivals of these speeds.
std::vector<LoadPoint> load_curve(const TraceSource& trace,
                                  const CapacityPlan& plan,
                                  std::int64_t replicas,
                                  const DeploymentQuestion& question,
                                  const std::vector<double>& speeds,
                                  const DeploymentProgress& progress = {});

/// Marks who is on the front of cost (dollars, else GPUs), p99 TTFT and p99 TPOT.
void mark_pareto_front(std::vector<Deployment>& deployments);

}  // namespace octavo::sim
