// Small results of each command, by hand, with numbers that differ everywhere.
#pragma once

#include <string>
#include <vector>

#include "octavo/sim/report.h"
#include <nlohmann/json.hpp>

namespace octavo::sim::testing {

using Json = nlohmann::ordered_json;

inline Json estimate(double low, double expected, double high) {
  return {{"low", low}, {"expected", expected}, {"high", high}, {"origin", "a log"}};
}

inline Json pool(std::int64_t blocks) {
  return {{"kv_budget_bytes", blocks * 2097152},
          {"blocks", blocks},
          {"tokens", blocks * 16},
          {"concurrency", static_cast<double>(blocks) / 512}};
}

/// 79.18 GiB at 0.9: 71.262 usable; 15.5 + 1.25 + 0.5 held, 54.012 left.
inline Json plan() {
  Json capacity = pool(27654);
  capacity.update({{"block_size", 16},
                   {"blocks_per_request", 512},
                   {"limited_by", "token_pool"},
                   {"fits", true},
                   {"missing_bytes", 0},
                   {"low", pool(27000)},
                   {"high", pool(28000)}});
  return {{"schema_version", 1},
          {"model", {{"name", "Llama & <b>co</b>"}, {"parameters", 8030261248}, {"layers", 32}}},
          {"gpu", {{"name", "H100 SXM"}}},
          {"options", {{"tp", 1}, {"kv_dtype", "bf16"}, {"max_len", 8192}}},
          {"budget",
           {{"total_gib", 79.18},
            {"utilization", 0.9},
            {"weights_gib", estimate(15.5, 15.5, 15.5)},
            {"activation_gib", estimate(1, 1.25, 2)},
            {"non_torch_gib", estimate(0.4, 0.5, 0.7)},
            {"graph_gib", {{"low", 0.0}, {"expected", 0.0}, {"high", 0.0}, {"origin", "none"}}}}},
          {"capacity", capacity},
          {"per_token_bytes", 131072},
          {"per_sequence_bytes", 0},
          {"classes",
           {{{"kind", "full"},
             {"layers", 32},
             {"kv_heads_per_rank", 8},
             {"head_dim", 128},
             {"window", nullptr},
             {"per_token_bytes", 131072},
             {"per_sequence_bytes", 0}}}},
          {"waste",
           {{{"cause", "null_block"}, {"of", "pool"}, {"bytes", 2097152}, {"text", "block 0"}}}},
          {"remedies", nullptr},
          {"remarks", {"Mind <this>."}}};
}

inline Json curve() {
  Json json = {{"schema_version", 1},
               {"trace", {{"file", "traces/chat.jsonl"}}},
               {"policy", "lru"},
               {"points", Json::array()}};
  for (const int blocks : {300, 1000, 4000, 20000}) {
    json["points"].push_back({{"blocks", blocks},
                              {"tokens", blocks * 16},
                              {"gib", blocks * 0.002},
                              {"hit_rate", 1 - 300.0 / (blocks + 100)}});
  }
  return json;
}

inline Json replay() {
  Json json = {
      {"schema_version", 1}, {"trace", {{"file", "traces/chat.jsonl"}}}, {"runs", Json::array()}};
  double rate = 0.1;
  for (const char* policy : {"lru", "arc", "belady"}) {
    for (const int blocks : {400, 3000}) {
      rate += 0.07;
      json["runs"].push_back(
          {{"policy", policy}, {"blocks", blocks}, {"block_size", 16}, {"hit_rate", rate}});
      if (policy == std::string("belady")) {
        json["runs"].back()["bound"] = "no policy can do better";
      }
    }
  }
  return json;
}

inline Json times(std::int64_t ns) {
  return {{"count", 10},   {"mean", ns},    {"min", ns / 2}, {"p50", ns},
          {"p90", 2 * ns}, {"p99", 4 * ns}, {"max", 5 * ns}};
}

inline Json simulation(std::int64_t load = 1) {
  const double requests = static_cast<double>(load) * 1.5;
  Json json = {{"schema_version", 1},
               {"trace", {{"file", "traces/chat.jsonl"}}},
               {"model", "llama"},
               {"gpu", "H100 SXM"},
               {"tp", 1},
               {"kv_dtype", "bf16"},
               {"config",
                {{"replicas", 1},
                 {"router", "round-robin"},
                 {"order", "fcfs"},
                 {"policy", "lru"},
                 {"blocks", 2000},
                 {"block_size", 16},
                 {"max_num_seqs", 256},
                 {"max_num_batched_tokens", 8192}}},
               {"requests", {{"finished", 600}, {"good", 590}}},
               {"hit_rate", 0.4321},
               {"busy_share", 0.21},
               {"per_second", {{"requests", requests}, {"output_tokens", 321.0}}},
               {"latency_ns",
                {{"ttft", times(20000000 * load)},
                 {"tpot", times(7000000 * load)},
                 {"itl", times(6000000)},
                 {"end_to_end", times(900000000)},
                 {"queued", times(30000)}}}};
  json["latency_ns"]["queued"]["min"] = 0;
  json["series_columns"] = {"bucket",
                            "steps",
                            "busy_ns",
                            "live_blocks_mean_thousandths",
                            "parked_blocks_mean_thousandths",
                            "free_blocks_mean_thousandths"};
  json["series"] = {{{"begin_ns", 2000000000},
                     {"width_ns", 500000000},
                     {"rows",
                      {{0, 5, 100, 100500, 20000, 1879500},
                       {1, 5, 100, 300000, 150000, 1550000},
                       {4, 5, 100, 0, 700000, 1300000}}}}};
  return json;
}

/// A plan that was asked with a trace and a target.
inline Json workload_plan() {
  Json json = plan();
  json["trace"] = {{"name", "traces/chat.jsonl"}, {"hit_rate", 0.66}};
  json["mrc"] = curve();
  json["mrc"]["planned_blocks"] = 5000;
  Json tried = Json::array();
  for (int gpus = 1; gpus <= 4; ++gpus) {
    const double ms = 400.0 / gpus;
    const Json latencies = {{"p50", ms / 4}, {"p90", ms / 2}, {"p99", ms}};
    tried.push_back({{"gpu", "H100 SXM"},
                     {"gpus", gpus},
                     {"tp", gpus},
                     {"replicas", 1},
                     {"kv_dtype", "fp8"},
                     {"block_size", 16},
                     {"meets_slo", gpus > 1},
                     {"ttft_ms", latencies},
                     {"tpot_ms", latencies},
                     {"usd_per_hour", 2.5 * gpus},
                     {"usd_per_million_tokens", 0.4 * gpus},
                     {"on_pareto_front", gpus != 3}});
  }
  json["deployments"] = {{"slo", {{"ttft_ms", 250}, {"tpot_ms", nullptr}, {"percentile", 99}}},
                         {"tried", tried},
                         {"best", 1}};
  json["loads"] = Json::array();
  for (const double rate : {1.0, 2.0, 4.0}) {
    json["loads"].push_back(
        {{"requests_per_s", rate},
         {"ttft_ms", {{"p50", 10 * rate}, {"p90", 20 * rate}, {"p99", 50 * rate}}},
         {"tpot_ms", {{"p50", 5.5}, {"p90", 6.5}, {"p99", 7.5 * rate}}}});
  }
  json["series"] = {{"replica", 0}, {"points", Json::array()}};
  for (const int second : {0, 5, 10}) {
    json["series"]["points"].push_back({{"t_s", second},
                                        {"live_blocks", 100 + second},
                                        {"parked_blocks", 40},
                                        {"free_blocks", 60 - second}});
  }
  json["equations"] = {{{"left", "KV cache"},
                        {"formula", "usable - weights < rest"},
                        {"numbers", "71.26 - 17.25"},
                        {"source", "design"}}};
  return json;
}

inline std::string report_of(const std::vector<Json>& documents) {
  std::vector<ReportInput> inputs;
  for (const Json& document : documents) {
    inputs.push_back({"result" + std::to_string(inputs.size()) + ".json", document.dump()});
  }
  return make_report(inputs);
}

/// Everything that a page can show.
inline std::string full_report() {
  return report_of({workload_plan(), curve(), replay(), simulation(1), simulation(2)});
}

}  // namespace octavo::sim::testing
