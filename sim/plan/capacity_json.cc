#include "octavo/sim/capacity.h"
#include <nlohmann/json.hpp>

namespace octavo::sim {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json model_json(const ModelConfig& model) {
  return {{"name", model.name},
          {"model_type", model.model_type},
          {"layers", model.layers.size()},
          {"attention_heads", model.attention_heads},
          {"kv_heads", model.kv_heads},
          {"head_dim", model.head_dim},
          {"max_positions", model.max_positions},
          {"parameters", model.weights.parameters()}};
}

Json gpu_json(const Gpu& gpu) {
  return {{"name", gpu.name},
          {"total_gib", gpu.total_gib},
          {"total_source", to_string(gpu.total_source)},
          {"bandwidth_tb_per_s",
           gpu.bandwidth_tb_per_s > 0 ? Json(gpu.bandwidth_tb_per_s) : Json(nullptr)},
          {"bf16_tflops", or_null(gpu.bf16_tflops)},
          {"fp8_tflops", or_null(gpu.fp8_tflops)}};
}

Json options_json(const PlanRequest& request) {
  return {{"engine", to_string(*request.engine)},
          {"tp", request.tp},
          {"pp", request.pp},
          {"dp", request.dp},
          {"dcp", request.dcp},
          {"kv_dtype", request.format.name},
          {"state_prefix", to_string(request.state_prefix)},
          {"block_size", request.block_size},
          {"gpu_memory_utilization", request.utilization},
          {"max_len", request.max_len},
          {"max_num_seqs", request.max_num_seqs},
          {"max_num_batched_tokens", request.max_num_batched_tokens}};
}

Json estimate_json(const Estimate& estimate) {
  return {{"low", estimate.low},
          {"expected", estimate.expected},
          {"high", estimate.high},
          {"origin", estimate.origin}};
}

Json budget_json(const MemoryBudget& budget) {
  return {{"total_gib", budget.total_gib},
          {"utilization", budget.utilization},
          {"weights_gib", estimate_json(budget.weights)},
          {"activation_gib", estimate_json(budget.activation)},
          {"non_torch_gib", estimate_json(budget.non_torch)},
          {"graph_gib", estimate_json(budget.graph)}};
}

Json pool_json(const PoolCapacity& pool) {
  return {{"kv_budget_bytes", pool.budget_bytes},
          {"blocks", pool.blocks},
          {"tokens", pool.tokens},
          {"concurrency", pool.concurrency},
          {"state_slots", pool.state_slots >= 0 ? Json(pool.state_slots) : Json(nullptr)}};
}

Json group_json(const CapacityPlan& plan, const EngineGroup& group) {
  return {{"kind", kind_name(plan.classes[group.layer_class].layer)},
          {"layers", group.layers},
          {"padding_layers", group.padding_layers},
          {"block_size", group.block_size > 0 ? Json(group.block_size) : Json(nullptr)},
          {"blocks_per_request", group.blocks_per_request}};
}

Json deployment_json(const CapacityPlan& plan) {
  return {{"gpus", plan.gpus()},
          {"replicas", plan.request.dp},
          {"tokens", plan.expected.tokens * plan.request.dp},
          {"concurrency", plan.total_concurrency()},
          {"smallest_stage", plan.stage},
          {"layers_of_stage", plan.stage_layers}};
}

Json limits_json(const CapacityPlan& plan) {
  return {{"token_pool", plan.expected.concurrency},
          {"state_slots",
           plan.expected.state_slots >= 0 ? Json(plan.expected.state_slots) : Json(nullptr)},
          {"max_num_seqs", plan.request.max_num_seqs}};
}

Json capacity_json(const CapacityPlan& plan) {
  return {{"kv_budget_bytes", plan.expected.budget_bytes},
          {"block_size", plan.block_size},
          {"blocks", plan.expected.blocks},
          {"tokens", plan.expected.tokens},
          {"tokens_meaning", plan.tokens_meaning},
          {"concurrency", plan.expected.concurrency},
          {"blocks_per_request", plan.blocks_per_request},
          {"limited_by", to_string(plan.limited_by)},
          {"fits", plan.fits},
          {"missing_bytes", plan.missing_bytes},
          {"limits", limits_json(plan)},
          {"low", pool_json(plan.low)},
          {"high", pool_json(plan.high)}};
}

Json class_json(const KvClass& rows) {
  return {{"kind", kind_name(rows.layer)},
          {"layers", rows.layers},
          {"kv_heads_per_rank", rows.layer.kv_heads},
          {"head_dim", rows.layer.head_dim},
          {"window", rows.layer.window > 0 ? Json(rows.layer.window) : Json(nullptr)},
          {"window_bounds_storage", rows.window_bounds},
          {"per_token_bytes", rows.bytes_per_token},
          {"per_sequence_bytes", rows.bytes_per_sequence}};
}

Json hits_json(const PoolHits& hits) {
  return {{"name", hits.trace},
          {"requests", hits.requests},
          {"rejected_requests", hits.rejected_requests},
          {"prompt_tokens", hits.prompt_tokens},
          {"hit_tokens", hits.hit_tokens},
          {"hit_rate", hits.hit_rate()}};
}

}  // namespace

std::string to_json(const CapacityPlan& plan, bool with_equations) {
  Json json;
  json["schema_version"] = 1;
  json["model"] = model_json(plan.request.model);
  json["gpu"] = gpu_json(plan.request.gpu);
  json["options"] = options_json(plan.request);
  json["budget"] = plan.budget ? budget_json(*plan.budget) : Json(nullptr);
  json["capacity"] = capacity_json(plan);
  json["per_token_bytes"] = plan.bytes_per_token;
  json["per_block_bytes"] = plan.bytes_per_block;
  json["per_sequence_bytes"] = plan.bytes_per_sequence;
  json["table_bytes"] = plan.table_bytes;
  json["classes"] = Json::array();
  for (const KvClass& rows : plan.classes) {
    json["classes"].push_back(class_json(rows));
  }
  json["groups"] = Json::array();
  for (const EngineGroup& group : plan.groups) {
    json["groups"].push_back(group_json(plan, group));
  }
  json["waste"] = Json::array();
  for (const Waste& waste : plan.waste) {
    json["waste"].push_back(
        {{"cause", waste.cause}, {"of", waste.of}, {"bytes", waste.bytes}, {"text", waste.text}});
  }
  json["deployment"] = deployment_json(plan);
  if (plan.fits) {
    json["remedies"] = nullptr;
  } else {
    json["remedies"] = {{"max_len", plan.remedies.max_len},
                        {"gpu_memory_utilization", or_null(plan.remedies.utilization)},
                        {"tp", or_null(plan.remedies.tp)}};
  }
  json["remarks"] = remarks(plan);
  if (with_equations) {
    json["equations"] = Json::array();
    for (const Equation& equation : explain(plan)) {
      json["equations"].push_back({{"left", equation.left},
                                   {"formula", equation.formula},
                                   {"numbers", equation.numbers},
                                   {"source", equation.source}});
    }
  }
  if (plan.hits) {
    json["trace"] = hits_json(*plan.hits);
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace octavo::sim
