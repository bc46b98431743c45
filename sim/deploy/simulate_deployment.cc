#include <algorithm>
#include <cmath>
#include <string>

#include "octavo/error.h"
#include "octavo/sim/deploy/deployment.h"
#include "octavo/sim/serve/arrival_times.h"
#include "octavo/sim/serve/serving.h"

namespace octavo::sim {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kSecondsPerHour = 3600;
constexpr double kMillionTokens = 1e6;

std::int64_t ns_of_ms(double ms) {
  return std::llround(ms * kNsPerMs);
}

Latency latency_of(const TimeSummary& summary) {
  const auto ms = [](std::int64_t ns) { return static_cast<double>(ns) / kNsPerMs; };
  return {ms(summary.p50_ns), ms(summary.p90_ns), ms(summary.p99_ns)};
}

/// Blocks of one pool: an engine with several groups holds as many tokens as it says.
std::int64_t pool_blocks(const CapacityPlan& plan) {
  return plan.groups.size() > 1 ? plan.expected.tokens / plan.block_size : plan.expected.blocks;
}

ServingConfig serving_config(const CapacityPlan& plan,
                             std::int64_t replicas,
                             const DeploymentQuestion& question) {
  ServingConfig config = question.serving;
  config.replicas = static_cast<int>(replicas);
  config.num_blocks = pool_blocks(plan);
  config.block_size = static_cast<int>(plan.block_size);
  config.max_num_seqs = static_cast<int>(plan.request.max_num_seqs);
  config.max_num_batched_tokens = plan.request.max_num_batched_tokens;
  config.max_model_len = plan.request.max_len;
  // A pool that gives blocks back behind a window, or whose states cannot be restored, serves none.
  const bool states = plan.bytes_per_sequence > 0 && plan.engine == Engine::Octavo;
  config.prefix_caching = config.prefix_caching && !plan.request.model.all_windowed() && !states;
  return config;
}

RooflineCost step_cost(const CapacityPlan& plan, const DeploymentQuestion& question) {
  RooflineOptions options = question.roofline;
  options.tp = plan.request.tp;
  options.format = plan.request.format;
  if (plan.request.weights_gib) {
    options.weights_gib = plan.request.weights_gib;
  }
  return RooflineCost(roofline_figures(plan.request.model, plan.request.gpu, options));
}

/// The last arrival, for the load that was offered.
class Arrivals final : public ServingObserver {
 public:
  explicit Arrivals(ServingMetrics& metrics) : metrics_(metrics) {}

  void on_arrival(std::int64_t request, int replica, std::int64_t now_ns) override {
    first_ns_ = count_ == 0 ? now_ns : std::min(first_ns_, now_ns);
    last_ns_ = std::max(last_ns_, now_ns);
    ++count_;
    metrics_.on_arrival(request, replica, now_ns);
  }
  void on_preempted(std::int64_t request, int replica, std::int64_t now_ns) override {
    metrics_.on_preempted(request, replica, now_ns);
  }
  void on_step(const ServingStep& step) override { metrics_.on_step(step); }
  void on_request_end(const ServedRequest& request) override { metrics_.on_request_end(request); }

  double per_second() const {
    return last_ns_ > first_ns_
               ? static_cast<double>(count_ - 1) * 1e9 / static_cast<double>(last_ns_ - first_ns_)
               : 0;
  }
  std::int64_t count() const { return count_; }

 private:
  ServingMetrics& metrics_;
  std::int64_t count_ = 0;
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
};

void set_price(Deployment& result, const std::optional<double>& gpu_hour_usd) {
  if (!gpu_hour_usd) {
    return;
  }
  result.usd_per_hour = *gpu_hour_usd * static_cast<double>(result.gpus());
  if (result.served_tokens > 0) {
    const double dollars = *result.usd_per_hour * result.seconds / kSecondsPerHour;
    result.usd_per_million_tokens =
        dollars * kMillionTokens / static_cast<double>(result.served_tokens);
  }
}

}  // namespace

ServiceLimits service_limits(const ServiceObjective& objective) {
  ServiceLimits limits;
  if (objective.ttft_ms) {
    limits.ttft_ns = ns_of_ms(*objective.ttft_ms);
  }
  if (objective.tpot_ms) {
    limits.tpot_ns = ns_of_ms(*objective.tpot_ms);
  }
  return limits;
}

Deployment simulate_deployment(const TraceSource& trace,
                               const CapacityPlan& plan,
                               std::int64_t replicas,
                               const DeploymentQuestion& question,
                               ServingMetrics* metrics) {
  if (!plan.fits) {
    throw Error(ErrorCode::InvalidArgument, does_not_fit_text(plan));
  }
  ServingMetrics own(service_limits(question.objective));
  ServingMetrics& measured = metrics != nullptr ? *metrics : own;
  Arrivals arrivals(measured);
  const std::unique_ptr<TraceReader> reader = trace();
  ArrivalPace pace;
  pace.speed_millionths = std::llround(question.speed * 1e6);
  const std::unique_ptr<TraceReader> paced = with_arrivals(*reader, pace);
  const RooflineCost cost = step_cost(plan, question);
  simulate(*paced, serving_config(plan, replicas, question), cost, &arrivals);

  const ServingSummary summary = measured.summary();
  Deployment result;
  result.gpu = plan.request.gpu;
  result.tp = plan.request.tp;
  result.replicas = replicas;
  result.kv_dtype = plan.request.format.name;
  result.block_size = plan.block_size;
  result.blocks = pool_blocks(plan);
  result.good_share = arrivals.count() > 0 ? static_cast<double>(summary.good_requests) /
                                                 static_cast<double>(arrivals.count())
                                           : 0;
  result.meets = result.good_share * 100 >= question.objective.percentile;
  result.ttft = latency_of(summary.ttft);
  result.tpot = latency_of(summary.tpot);
  result.offered_per_s = arrivals.per_second();
  result.requests_per_s = summary.per_second(summary.finished_requests);
  result.output_tokens_per_s = summary.per_second(summary.output_tokens);
  result.hit_rate = summary.hit_rate();
  result.preemptions = summary.preemptions;
  result.served_tokens = summary.input_tokens + summary.output_tokens;
  result.seconds = summary.seconds();
  set_price(result, question.gpu_hour_usd);
  return result;
}

std::vector<LoadPoint> load_curve(const TraceSource& trace,
                                  const CapacityPlan& plan,
                                  std::int64_t replicas,
                                  const DeploymentQuestion& question,
                                  const std::vector<double>& speeds,
                                  const DeploymentProgress& progress) {
  std::vector<LoadPoint> points;
  for (const double speed : speeds) {
    DeploymentQuestion paced = question;
    paced.speed = question.speed * speed;
    points.push_back({speed, simulate_deployment(trace, plan, replicas, paced)});
    if (progress) {
      progress(static_cast<std::int64_t>(points.size()));
    }
  }
  return points;
}

}  // namespace octavo::sim
