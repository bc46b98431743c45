// Every equation behind the answer, with its numbers and where they come from.
#include <utility>

#include "number_text.h"
#include "octavo/sim/capacity.h"

namespace octavo::sim {
namespace {

std::string gib(double value) {
  return decimal(value, 2);
}

std::string range_text(const Estimate& estimate) {
  std::string text = gib(estimate.expected);
  if (estimate.low != estimate.high) {
    text += " (" + gib(estimate.low) + " to " + gib(estimate.high) + ")";
  }
  return text + " GiB";
}

std::string total_source(const Gpu& gpu) {
  switch (gpu.total_source) {
    case FigureSource::Log:
      return "a log of this GPU";
    case FigureSource::Datasheet:
      return "~ a datasheet, not a log";
    case FigureSource::Given:
      break;
  }
  return "--gpu-memory-gib";
}

void add_weights(const CapacityPlan& plan, std::vector<Equation>& equations) {
  const PlanRequest& request = plan.request;
  const std::string tp = grouped(request.tp);
  if (request.weights_gib) {
    equations.push_back(
        {"weights", "weights of the model / tp",
         gib(*request.weights_gib) + " / " + tp + " = " + range_text(plan.budget->weights),
         "--weights-gib"});
    return;
  }
  const ModelWeights& weights = request.model.weights;
  for (const WeightPart& part : weights.parts) {
    equations.push_back({"weights: " + part.name, "parameters -> bytes",
                         grouped(part.parameters) + " -> " + grouped(part.bytes),
                         "config.json, " + weights.format});
  }
  equations.push_back({"rotary table", "positions x head_dim x 2 bytes",
                       grouped(request.model.max_positions) + " x " +
                           grouped(request.model.head_dim) +
                           " x 2 = " + grouped(weights.rotary_bytes),
                       "kept by engines on every rank; logs count it as weights"});
  equations.push_back({"weights", "bytes / tp + rotary table",
                       grouped(weights.bytes()) + " / " + tp + " + " +
                           grouped(weights.rotary_bytes) +
                           " bytes = " + range_text(plan.budget->weights),
                       grouped(weights.parameters()) + " parameters"});
}

void add_budget(const CapacityPlan& plan, std::vector<Equation>& equations) {
  if (!plan.budget) {
    equations.push_back(
        {"KV budget", "given", grouped(plan.expected.budget_bytes) + " bytes", "--kv-budget-gib"});
    return;
  }
  const MemoryBudget& budget = *plan.budget;
  equations.push_back({"total", "what the framework sees", gib(budget.total_gib) + " GiB",
                       total_source(plan.request.gpu)});
  add_weights(plan, equations);
  equations.push_back(
      {"activation peak", "", range_text(budget.activation), budget.activation.origin});
  equations.push_back({"outside torch", "", range_text(budget.non_torch), budget.non_torch.origin});
  equations.push_back({"graphs", "", gib(budget.graph_gib) + " GiB",
                       budget.graph_gib > 0 ? "--graph-gib" : "not subtracted by default"});
  equations.push_back({"KV budget",
                       "total x utilisation - weights - activation peak - outside torch - graphs",
                       gib(budget.total_gib) + " x " + decimal(budget.utilization, 3) + " - " +
                           gib(budget.weights.expected) + " - " + gib(budget.activation.expected) +
                           " - " + gib(budget.non_torch.expected) + " - " + gib(budget.graph_gib) +
                           " = " + gib_text(plan.expected.budget_bytes) +
                           " GiB = " + grouped(plan.expected.budget_bytes) + " bytes",
                       "how vLLM V1 sizes its cache"});
}

void add_storage(const CapacityPlan& plan, std::vector<Equation>& equations) {
  const PlanRequest& request = plan.request;
  equations.push_back({"KV heads of a rank", "max(1, KV heads / tp)",
                       "max(1, " + grouped(request.model.kv_heads) + " / " + grouped(request.tp) +
                           ") = " + grouped(plan.kv_heads_per_rank),
                       "a head is stored whole"});
  for (const KvClass& rows : plan.classes) {
    const std::string kind =
        rows.layer.window > 0 ? "window " + grouped(rows.layer.window) : "full";
    equations.push_back({"bytes per token, " + kind, "layers x 2 x KV heads x head_dim x storage",
                         grouped(rows.layers) + " x 2 x " + grouped(rows.layer.kv_heads) + " x " +
                             grouped(rows.layer.head_dim) + " in " + request.format.name +
                             (request.format.quant.scale == KVScale::PerTokenHead &&
                                      request.format.quant.codec != KVCodec::None
                                  ? " with its scales"
                                  : "") +
                             " = " + grouped(rows.bytes_per_token),
                         "Octavo's storage plan"});
  }
  equations.push_back({"bytes per block", "block size x bytes per token",
                       grouped(request.block_size) + " x " + grouped(plan.bytes_per_token) + " = " +
                           grouped(plan.bytes_per_block),
                       "Octavo's storage plan"});
}

void add_capacity(const CapacityPlan& plan, std::vector<Equation>& equations) {
  const PlanRequest& request = plan.request;
  const PoolCapacity& pool = plan.expected;
  equations.push_back({"blocks", "floor(KV budget / bytes per block)",
                       "floor(" + grouped(pool.budget_bytes) + " / " +
                           grouped(plan.bytes_per_block) + ") = " + grouped(pool.blocks),
                       "per rank; a request lies on all ranks alike"});
  equations.push_back(
      {"tokens", "blocks x block size",
       grouped(pool.blocks) + " x " + grouped(request.block_size) + " = " + grouped(pool.tokens),
       ""});
  const std::string all =
      "ceil(" + grouped(request.max_len) + " / " + grouped(request.block_size) + ")";
  if (request.model.all_windowed()) {
    equations.push_back(
        {"blocks per request", "min(ceil(max-len / block), ceil((window - 1 + step) / block) + 1)",
         "min(" + all + ", ceil((" + grouped(request.model.largest_window()) + " - 1 + " +
             grouped(request.max_num_batched_tokens) + ") / " + grouped(request.block_size) +
             ") + 1) = " + grouped(plan.blocks_per_request),
         "every layer is windowed: blocks behind the window are released"});
  } else {
    equations.push_back({"blocks per request", "ceil(max-len / block)",
                         all + " = " + grouped(plan.blocks_per_request),
                         "one block table for all layers"});
  }
  equations.push_back({"concurrency", "blocks / blocks per request",
                       grouped(pool.blocks) + " / " + grouped(plan.blocks_per_request) + " = " +
                           decimal(pool.concurrency, 2),
                       "requests of max-len at once, without sharing"});
}

}  // namespace

std::vector<Equation> explain(const CapacityPlan& plan) {
  std::vector<Equation> equations;
  add_budget(plan, equations);
  add_storage(plan, equations);
  add_capacity(plan, equations);
  return equations;
}

}  // namespace octavo::sim
