#include "plan_workload.h"

#include <algorithm>
#include <memory>

#include "octavo/sim/mrc.h"
#include "octavo/sim/replay.h"
#include "progress.h"
#include "table.h"
#include "validate.h"

namespace octavo::tools {
namespace {

constexpr int kCurvePoints = 24;
constexpr double kSpeeds[] = {0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4};

std::int64_t pool_blocks(const sim::CapacityPlan& plan) {
  return plan.groups.size() > 1 ? plan.expected.tokens / plan.block_size : plan.expected.blocks;
}

/// What the planned pool would have served, one request at a time.
sim::PoolHits replay_trace(const std::string& path,
                           const sim::CapacityPlan& plan,
                           Context& context) {
  const auto trace = sim::open_trace(path);
  sim::ReplayOptions options;
  options.block_size = plan.block_size;
  options.blocks = {pool_blocks(plan)};
  Progress progress(context, "plan", "requests");
  const sim::ReplayResult result =
      sim::replay(*trace, options, [&progress](std::int64_t done) { progress.update(done, 0); });
  const sim::ReplayRun& run = result.runs.front();
  return {trace->name(), run.requests, run.rejected_requests, run.prompt_tokens, run.hit_tokens};
}

double pool_bytes(const sim::CapacityPlan& plan, std::int64_t blocks) {
  return static_cast<double>(blocks) * static_cast<double>(plan.bytes_per_block) *
         static_cast<double>(plan.request.tp * plan.request.pp);
}

CurvePoint curve_point(const WorkloadOptions& options,
                       const sim::CapacityPlan& plan,
                       const sim::MrcPoint& point) {
  CurvePoint result;
  result.blocks = point.blocks;
  result.tokens = point.blocks * plan.block_size;
  result.gib = pool_bytes(plan, point.blocks) / kGib;
  result.hit_rate = point.hit_rate();
  if (options.gpu_hour_usd && plan.request.gpu.total_gib > 0) {
    result.usd_per_hour = *options.gpu_hour_usd * result.gib / plan.request.gpu.total_gib;
  }
  return result;
}

std::vector<CurvePoint> curve_of(const WorkloadOptions& options, const sim::CapacityPlan& plan) {
  const auto trace = sim::open_trace(options.trace);
  sim::MrcOptions mrc_options;
  mrc_options.block_size = plan.block_size;
  mrc_options.at = {pool_blocks(plan)};
  const sim::Mrc mrc = sim::compute_mrc(*trace, mrc_options);
  std::vector<std::int64_t> sizes = mrc.spread_sizes(kCurvePoints);
  sizes.push_back(pool_blocks(plan));
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<CurvePoint> curve;
  for (const std::int64_t blocks : sizes) {
    curve.push_back(curve_point(options, plan, mrc.at(blocks)));
  }
  return curve;
}

sim::DeploymentQuestion question_of(const WorkloadOptions& options, const sim::CapacityPlan& plan) {
  sim::DeploymentQuestion question;
  question.plan = plan.request;
  // Lengths and limits of the plan hold for every candidate; its figures of one GPU do not.
  for (const std::string& name : options.try_gpus) {
    question.gpus.push_back(sim::find_gpu(name));
  }
  if (question.gpus.empty()) {
    question.gpus = {plan.request.gpu};
  }
  question.tps = options.try_tps;
  if (question.tps.empty()) {
    for (std::int64_t tp = 1; tp <= std::max<std::int64_t>(8, plan.request.tp); tp *= 2) {
      question.tps.push_back(tp);
    }
  }
  question.kv_dtypes = options.try_kv_dtypes.empty()
                           ? std::vector<std::string>{plan.request.format.name}
                           : options.try_kv_dtypes;
  question.block_sizes = options.try_block_sizes.empty()
                             ? std::vector<std::int64_t>{plan.request.block_size}
                             : options.try_block_sizes;
  question.replicas_max = options.replicas_max;
  question.objective = {options.slo_ttft_ms, options.slo_tpot_ms, options.slo_percentile};
  question.gpu_hour_usd = options.gpu_hour_usd;
  question.speed = options.speedup;
  question.serving.router = sim::RouterKind::LongestPrefix;
  return question;
}

/// Whose figures of load and of blocks over time are shown: the best deployment's, or that of the
/// one that comes closest; none when nothing fits.
const sim::Deployment* shown_deployment(const sim::DeploymentAnswer& answer) {
  if (answer.best) {
    return &answer.tried[*answer.best];
  }
  const auto closest =
      std::max_element(answer.tried.begin(), answer.tried.end(),
                       [](const auto& a, const auto& b) { return a.good_share < b.good_share; });
  return closest == answer.tried.end() ? nullptr : &*closest;
}

sim::CapacityPlan plan_of(const sim::Deployment& deployment, const sim::CapacityPlan& plan) {
  sim::PlanRequest request = plan.request;
  request.gpu = deployment.gpu;
  request.tp = deployment.tp;
  request.dp = 1;
  request.format = sim::parse_kv_format(deployment.kv_dtype);
  request.block_size = deployment.block_size;
  return sim::plan_capacity(request);
}

void search(const WorkloadOptions& options,
            const sim::CapacityPlan& plan,
            WorkloadAnswer& answer,
            Context& context) {
  const sim::TraceSource source = [path = options.trace] { return sim::open_trace(path); };
  const sim::DeploymentQuestion question = question_of(options, plan);
  answer.objective = question.objective;
  Progress progress(context, "plan", "simulations");
  const auto report = [&progress](std::int64_t done) { progress.update(done, 0); };
  answer.deployments = sim::find_deployment(source, question, report);
  const sim::Deployment* deployment = shown_deployment(answer.deployments);
  if (deployment == nullptr) {
    return;
  }
  const sim::CapacityPlan shown = plan_of(*deployment, plan);
  const std::int64_t replicas = deployment->replicas;
  answer.loads = sim::load_curve(source, shown, replicas, question,
                                 {std::begin(kSpeeds), std::end(kSpeeds)}, report);
  sim::ServingMetrics metrics(sim::service_limits(question.objective));
  sim::simulate_deployment(source, shown, replicas, question, &metrics);
  answer.series = metrics.series();
}

}  // namespace

void add_workload_options(CLI::App& command, WorkloadOptions& options) {
  command.add_option("--trace", options.trace,
                     "a trace: the hit rate of such a pool, and the curve around it");
  command
      .add_option("--slo-ttft-ms", options.slo_ttft_ms,
                  "with --trace: the smallest deployment that keeps time to first token below")
      ->check(number_range(0, 1e9, true));
  command.add_option("--slo-tpot-ms", options.slo_tpot_ms, "and time per output token below")
      ->check(number_range(0, 1e9, true));
  command
      .add_option("--slo-percentile", options.slo_percentile,
                  "for that share of all requests (default: 99)")
      ->check(number_range(0, 100, true));
  command.add_option("--gpu-hour-usd", options.gpu_hour_usd, "the price of one GPU for an hour")
      ->check(number_range(0, 1e6));
  command.add_option("--try-gpus", options.try_gpus, "GPUs to search over (default: --gpu)")
      ->delimiter(',');
  add_integer_list(command, "--try-tp", options.try_tps, 1, 1024,
                   "tp to search over (default: 1,2,4,8)");
  command
      .add_option("--try-kv-dtypes", options.try_kv_dtypes,
                  "KV dtypes to search over (default: --kv-dtype)")
      ->delimiter(',');
  add_integer_list(command, "--try-block-sizes", options.try_block_sizes, 1, kMaxBlockSize,
                   "block sizes to search over (default: --block-size)");
  command
      .add_option("--replicas-max", options.replicas_max, "replicas tried at most (default: 16)")
      ->check(integer_range(1, 1024));
  command
      .add_option("--speedup", options.speedup, "arrivals come so many times as fast (default: 1)")
      ->check(number_range(0, 1e6, true));
}

WorkloadAnswer answer_workload(const WorkloadOptions& options,
                               const sim::CapacityPlan& plan,
                               Context& context) {
  WorkloadAnswer answer;
  if (options.trace.empty()) {
    if (options.searches()) {
      throw UsageError("--slo-ttft-ms and --slo-tpot-ms need a workload: give --trace");
    }
    return answer;
  }
  if (options.searches() && options.trace == "-") {
    throw UsageError("--trace -: the search reads the trace many times; give a file");
  }
  const bool keeps_prefixes = !plan.request.model.all_windowed() &&
                              !(plan.engine == sim::Engine::Octavo && plan.bytes_per_sequence > 0);
  if (!keeps_prefixes && !options.searches()) {
    throw UsageError("--trace: the cache of " + plan.request.model.name +
                     " keeps no prefixes that could be hit (windows in every layer, or states)");
  }
  const bool has_ids = options.trace == "-" || sim::open_trace(options.trace)->traits().prefix_ids;
  if (keeps_prefixes && pool_blocks(plan) > 0 && (has_ids || !options.searches())) {
    answer.hits = replay_trace(options.trace, plan, context);
    if (options.trace != "-") {
      answer.curve = curve_of(options, plan);
    }
  }
  if (options.searches()) {
    search(options, plan, answer, context);
  }
  return answer;
}

}  // namespace octavo::tools
