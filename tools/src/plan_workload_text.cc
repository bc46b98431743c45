// The workload's part of `octavo plan`, for people and for machines.
#include <algorithm>
#include <string>

#include "plan_workload.h"
#include "table.h"
#include <nlohmann/json.hpp>

namespace octavo::tools {
namespace {

using Align = Table::Align;
using Json = nlohmann::ordered_json;

constexpr double kNsPerS = 1e9;

std::string or_blank(const std::optional<double>& value, int decimals) {
  return value ? fixed(*value, decimals) : "";
}

void print_curve(const WorkloadAnswer& answer, const sim::CapacityPlan& plan, std::ostream& out) {
  const bool priced = answer.curve.front().usd_per_hour.has_value();
  Table table({{"pool, blocks"},
               {"tokens"},
               {"GiB"},
               {priced ? "$ an hour" : ""},
               {"hit rate"},
               {"", Align::Left}});
  const std::int64_t planned =
      plan.groups.size() > 1 ? plan.expected.tokens / plan.block_size : plan.expected.blocks;
  // Every third point and the planned one are enough for the eye; JSON has them all.
  for (std::size_t i = 0; i < answer.curve.size(); ++i) {
    const CurvePoint& point = answer.curve[i];
    const bool is_planned = point.blocks == planned;
    if (i % 3 == 0 || is_planned || i + 1 == answer.curve.size()) {
      table.add_row({grouped(point.blocks), grouped(point.tokens), fixed(point.gib, 2),
                     or_blank(point.usd_per_hour, 2), fixed(point.hit_rate, 4),
                     is_planned ? "<- this plan" : ""});
    }
  }
  out << "\nLRU hit rate against the size of one replica's pool (whole blocks)\n" << table;
}

std::string objective_text(const sim::ServiceObjective& objective) {
  std::string text;
  if (objective.ttft_ms) {
    text += "first token within " + fixed(*objective.ttft_ms, 0) + " ms";
  }
  if (objective.tpot_ms) {
    text += (text.empty() ? "" : ", ") + fixed(*objective.tpot_ms, 1) + " ms an output token";
  }
  return text + ", for " + fixed(objective.percentile, 1) + " % of the requests";
}

void print_deployments(const WorkloadAnswer& answer, std::ostream& out) {
  out << "\nDeployments: " << objective_text(*answer.objective) << '\n';
  Table table({{"", Align::Left},
               {"GPUs"},
               {"GPU", Align::Left},
               {"tp"},
               {"replicas"},
               {"KV dtype", Align::Left},
               {"TTFT p99 ms"},
               {"TPOT p99 ms"},
               {"good %"},
               {"tokens/s"},
               {"hit rate"},
               {"$/M tokens"}});
  for (std::size_t i = 0; i < answer.deployments.tried.size(); ++i) {
    const sim::Deployment& one = answer.deployments.tried[i];
    const bool best = answer.deployments.best == i;
    table.add_row({best        ? "best"
                   : one.meets ? "meets"
                               : "misses",
                   grouped(one.gpus()), one.gpu.name, grouped(one.tp), grouped(one.replicas),
                   one.kv_dtype, fixed(one.ttft.p99_ms, 0), fixed(one.tpot.p99_ms, 1),
                   fixed(one.good_share * 100, 2), fixed(one.output_tokens_per_s, 0),
                   fixed(one.hit_rate, 3), or_blank(one.usd_per_million_tokens, 3)});
  }
  out << table;
  if (!answer.deployments.best) {
    out << "None of them meets it; more replicas (--replicas-max) or other GPUs might.\n";
  }
  for (const std::string& reason : answer.deployments.left_out) {
    out << "  - left out: " << reason.substr(0, reason.find(", so ")) << '\n';
  }
}

void print_loads(const WorkloadAnswer& answer, std::ostream& out) {
  Table table({{"requests/s"},
               {"TTFT p50 ms"},
               {"p90"},
               {"p99"},
               {"TPOT p50 ms"},
               {"p90"},
               {"p99"},
               {"good %"}});
  for (const sim::LoadPoint& point : answer.loads) {
    const sim::Deployment& one = point.deployment;
    table.add_row({fixed(one.offered_per_s, 2), fixed(one.ttft.p50_ms, 0),
                   fixed(one.ttft.p90_ms, 0), fixed(one.ttft.p99_ms, 0), fixed(one.tpot.p50_ms, 1),
                   fixed(one.tpot.p90_ms, 1), fixed(one.tpot.p99_ms, 1),
                   fixed(one.good_share * 100, 2)});
  }
  const bool best = answer.deployments.best.has_value();
  out << "\nLatency against load, " << (best ? "the best deployment" : "the one that comes closest")
      << '\n'
      << table;
}

Json latency_json(const sim::Latency& latency) {
  return {{"p50", latency.p50_ms}, {"p90", latency.p90_ms}, {"p99", latency.p99_ms}};
}

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json deployment_json(const sim::Deployment& one) {
  return {{"gpu", one.gpu.name},
          {"gpus", one.gpus()},
          {"tp", one.tp},
          {"replicas", one.replicas},
          {"kv_dtype", one.kv_dtype},
          {"block_size", one.block_size},
          {"blocks", one.blocks},
          {"meets_slo", one.meets},
          {"good_share", one.good_share},
          {"ttft_ms", latency_json(one.ttft)},
          {"tpot_ms", latency_json(one.tpot)},
          {"requests_per_s", one.requests_per_s},
          {"output_tokens_per_s", one.output_tokens_per_s},
          {"hit_rate", one.hit_rate},
          {"preemptions", one.preemptions},
          {"usd_per_hour", number_or_null(one.usd_per_hour)},
          {"usd_per_million_tokens", number_or_null(one.usd_per_million_tokens)},
          {"on_pareto_front", one.on_pareto_front}};
}

Json deployments_json(const WorkloadAnswer& answer) {
  Json tried = Json::array();
  for (const sim::Deployment& one : answer.deployments.tried) {
    tried.push_back(deployment_json(one));
  }
  return {{"slo",
           {{"ttft_ms", number_or_null(answer.objective->ttft_ms)},
            {"tpot_ms", number_or_null(answer.objective->tpot_ms)},
            {"percentile", answer.objective->percentile}}},
          {"tried", tried},
          {"left_out", answer.deployments.left_out},
          {"best", answer.deployments.best ? Json(*answer.deployments.best) : Json(nullptr)}};
}

Json curve_json(const WorkloadAnswer& answer, const sim::CapacityPlan& plan) {
  Json points = Json::array();
  for (const CurvePoint& point : answer.curve) {
    points.push_back({{"blocks", point.blocks},
                      {"tokens", point.tokens},
                      {"gib", point.gib},
                      {"usd_per_hour", number_or_null(point.usd_per_hour)},
                      {"hit_rate", point.hit_rate}});
  }
  return {{"policy", "lru"},
          {"block_size", plan.block_size},
          {"planned_blocks", plan.expected.blocks},
          {"points", points}};
}

Json series_json(const sim::StepSeries& series) {
  Json points = Json::array();
  const auto mean = [](const sim::StepBucket& bucket, sim::Gauge gauge) {
    return static_cast<double>(bucket.mean_thousandths(gauge)) / 1000;
  };
  for (std::size_t i = 0; i < series.buckets().size(); ++i) {
    const sim::StepBucket& bucket = series.buckets()[i];
    if (bucket.steps == 0) {
      continue;
    }
    const double begin = static_cast<double>(series.width_ns()) * static_cast<double>(i);
    points.push_back({{"t_s", begin / kNsPerS},
                      {"live_blocks", mean(bucket, sim::Gauge::LiveBlocks)},
                      {"parked_blocks", mean(bucket, sim::Gauge::ParkedBlocks)},
                      {"free_blocks", mean(bucket, sim::Gauge::FreeBlocks)},
                      {"running", mean(bucket, sim::Gauge::Running)},
                      {"waiting", mean(bucket, sim::Gauge::Waiting)}});
  }
  return {{"replica", 0}, {"points", points}};
}

}  // namespace

void print_workload(const WorkloadAnswer& answer,
                    const sim::CapacityPlan& plan,
                    std::ostream& out) {
  if (!answer.curve.empty()) {
    print_curve(answer, plan, out);
  }
  if (answer.objective) {
    print_deployments(answer, out);
  }
  if (!answer.loads.empty()) {
    print_loads(answer, out);
  }
}

void add_workload_json(const WorkloadAnswer& answer, const sim::CapacityPlan& plan, Json& json) {
  if (!answer.curve.empty()) {
    json["mrc"] = curve_json(answer, plan);
  }
  if (answer.objective) {
    json["deployments"] = deployments_json(answer);
  }
  if (!answer.loads.empty()) {
    json["loads"] = Json::array();
    for (const sim::LoadPoint& point : answer.loads) {
      const sim::Deployment& one = point.deployment;
      json["loads"].push_back({{"speed", point.speed},
                               {"requests_per_s", one.offered_per_s},
                               {"ttft_ms", latency_json(one.ttft)},
                               {"tpot_ms", latency_json(one.tpot)},
                               {"good_share", one.good_share}});
    }
  }
  if (!answer.series.empty()) {
    json["series"] = series_json(answer.series.front());
  }
}

}  // namespace octavo::tools
