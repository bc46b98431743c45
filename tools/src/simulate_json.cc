// The JSON of `octavo simulate`, schema_version 1. Times are integers in nanoseconds; hashes are
// hexadecimal strings, since many readers of JSON lose whole numbers above 2^53.
#include <cstdio>

#include "simulate_report.h"
#include <nlohmann/json.hpp>

namespace octavo::tools {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json or_null(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string hex(std::uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

Json times_json(const sim::TimeSummary& times) {
  return {{"count", times.count}, {"mean", times.mean_ns}, {"min", times.min_ns},
          {"p50", times.p50_ns},  {"p90", times.p90_ns},   {"p99", times.p99_ns},
          {"max", times.max_ns}};
}

Json config_json(const SimulatedRun& run) {
  const sim::ServingConfig& c = run.config;
  return {{"replicas", c.replicas},
          {"router", sim::to_string(c.router)},
          {"order", sim::to_string(c.order)},
          {"policy", octavo::to_string(c.policy)},
          {"blocks", c.num_blocks},
          {"block_size", c.block_size},
          {"prefix_caching", c.prefix_caching},
          {"full_blocks_only", c.full_blocks_only},
          {"max_num_seqs", c.max_num_seqs},
          {"max_num_batched_tokens", c.max_num_batched_tokens},
          {"max_len", c.max_model_len},
          {"spec_tokens", c.draft_tokens},
          {"spec_acceptance_millionths", c.accept_millionths},
          {"cancel_millionths", c.cancel_millionths},
          {"cancel_mean_ns", c.cancel_mean_ns},
          {"timeout_ns", c.timeout_ns},
          {"think_mean_ns", or_null(c.think_mean_ns)},
          {"warm_requests", c.warm_requests},
          {"seed", c.seed}};
}

Json cost_json(const SimulatedRun& run) {
  Json json = {{"model", run.cost}};
  if (run.roofline) {
    const sim::RooflineFigures& f = *run.roofline;
    json["memory_bytes_per_s"] = f.memory_bytes_per_s;
    json["linear_flops_per_s"] = f.linear_flops_per_s;
    json["attention_flops_per_s"] = f.attention_flops_per_s;
    json["link_bytes_per_s"] = f.link_bytes_per_s;
    json["linear_bytes"] = f.linear_bytes;
    json["expert_bytes"] = f.expert_bytes;
    json["head_bytes"] = f.head_bytes;
    json["linear_flops_per_token"] = f.linear_flops_per_token;
    json["overhead_ns"] = f.overhead_ns;
  }
  return json;
}

Json replica_json(const sim::ServingReplica& replica) {
  return {{"requests", replica.requests},
          {"steps", replica.steps},
          {"busy_ns", replica.busy_ns},
          {"evicted_blocks", replica.blocks.evicted_blocks()},
          {"free_blocks", replica.free_blocks},
          {"parked_blocks", replica.parked_blocks},
          {"block_digest", hex(replica.block_digest)}};
}

/// Rows of [bucket, steps, busy_ns, then min, mean in thousandths and max of each gauge].
Json series_rows(const sim::StepSeries& series) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < series.buckets().size(); ++i) {
    const sim::StepBucket& bucket = series.buckets()[i];
    if (bucket.steps == 0) {
      continue;
    }
    Json row = {i, bucket.steps, bucket.busy_ns};
    for (std::size_t gauge = 0; gauge < sim::kGauges; ++gauge) {
      row.push_back(bucket.gauges[gauge].min);
      row.push_back(bucket.mean_thousandths(static_cast<sim::Gauge>(gauge)));
      row.push_back(bucket.gauges[gauge].max);
    }
    rows.push_back(std::move(row));
  }
  return {{"begin_ns", series.begin_ns()}, {"width_ns", series.width_ns()}, {"rows", rows}};
}

Json tokens_json(const sim::ServingSummary& s) {
  return {{"input", s.input_tokens},   {"cached", s.cached_tokens},
          {"output", s.output_tokens}, {"recomputed", s.recomputed_tokens},
          {"draft", s.draft_tokens},   {"rejected_draft", s.rejected_draft_tokens}};
}

}  // namespace

std::string to_json(const SimulatedRun& run) {
  const sim::ServingSummary& s = run.summary;
  Json json;
  json["schema_version"] = 1;
  json["trace"] = {{"file", run.trace},
                   {"format", run.trace_format},
                   {"block_size", run.trace_block},
                   {"prefix_ids", run.traits.prefix_ids}};
  json["model"] = or_null(run.model);
  json["gpu"] = or_null(run.gpu);
  json["tp"] = run.tp;
  json["kv_dtype"] = run.kv_dtype;
  json["config"] = config_json(run);
  json["step_cost"] = cost_json(run);
  json["requests"] = {{"arrived", run.result.counters.arrived},
                      {"finished", s.finished_requests},
                      {"good", s.good_requests},
                      {"cancelled", s.cancelled_requests},
                      {"rejected", s.rejected_requests},
                      {"preemptions", s.preemptions},
                      {"warm", run.result.warm_requests},
                      {"late_arrivals", run.result.counters.late_arrivals},
                      {"alive_max", run.result.requests_alive_max}};
  json["begin_ns"] = s.begin_ns;
  json["end_ns"] = s.end_ns;
  json["latency_ns"] = {{"ttft", times_json(s.ttft)},
                        {"tpot", times_json(s.tpot)},
                        {"itl", times_json(s.itl)},
                        {"end_to_end", times_json(s.end_to_end)},
                        {"queued", times_json(s.queued)}};
  json["limits_ns"] = {{"ttft", or_null(run.limits.ttft_ns)},
                       {"tpot", or_null(run.limits.tpot_ns)}};
  json["tokens"] = tokens_json(s);
  json["hit_rate"] = s.hit_rate();
  json["per_second"] = {{"requests", s.per_second(s.finished_requests)},
                        {"good_requests", s.per_second(s.good_requests)},
                        {"input_tokens", s.per_second(s.input_tokens)},
                        {"output_tokens", s.per_second(s.output_tokens)}};
  json["steps"] = s.steps;
  json["busy_share"] = s.busy_share(run.config.replicas);
  json["replicas"] = Json::array();
  for (const sim::ServingReplica& replica : run.result.replicas) {
    json["replicas"].push_back(replica_json(replica));
  }
  json["series_columns"] = {"bucket", "steps", "busy_ns"};
  for (const char* gauge : {"waiting", "running", "live_blocks", "parked_blocks", "free_blocks"}) {
    for (const char* figure : {"_min", "_mean_thousandths", "_max"}) {
      json["series_columns"].push_back(std::string(gauge) + figure);
    }
  }
  json["series"] = Json::array();
  for (const sim::StepSeries& series : run.series) {
    json["series"].push_back(series_rows(series));
  }
  json["digest"] = hex(run.result.digest);
  json["final_draw"] = hex(run.result.final_draw);
  json["notes"] = run.remarks;
  return json.dump();
}

}  // namespace octavo::tools
