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
                         (weights.from_file ? "" : "config.json, ") + weights.format});
  }
  if (!weights.uncounted.empty()) {
    equations.push_back({"weights: not counted", "between 0 and",
                         grouped(weights.uncounted_bytes_max) + " bytes", weights.uncounted});
  }
  const std::int64_t positions = request.model.max_positions;
  equations.push_back({"rotary table", "positions x rotary elements x 2 bytes",
                       grouped(positions) + " x " + grouped(weights.rotary_bytes / positions / 2) +
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
  equations.push_back({"graphs", "", range_text(budget.graph), budget.graph.origin});
  equations.push_back(
      {"KV budget", "total x utilisation - weights - activation peak - outside torch - graphs",
       gib(budget.total_gib) + " x " + decimal(budget.utilization, 3) + " - " +
           gib(budget.weights.expected) + " - " + gib(budget.activation.expected) + " - " +
           gib(budget.non_torch.expected) + " - " + gib(budget.graph.expected) + " = " +
           gib_text(plan.expected.budget_bytes) + " GiB = " + grouped(plan.expected.budget_bytes) +
           " bytes",
       "how vLLM V1 sizes its cache"});
}

std::string class_numbers(const CapacityPlan& plan, const KvClass& rows) {
  const CacheLayer& layer = rows.layer;
  std::string text = grouped(rows.layers) + " x ";
  if (layer.kind == CacheKind::Latent) {
    text += grouped(layer.head_dim) + " elements";
    if (layer.indexer_dim > 0) {
      text += " and an indexer key of " + grouped(layer.indexer_dim);
    }
  } else if (layer.v_head_dim > 0 && layer.v_head_dim != layer.head_dim) {
    text += grouped(layer.kv_heads) + " x (" + grouped(layer.head_dim) + " + " +
            grouped(layer.v_head_dim) + ")";
  } else {
    text += "2 x " + grouped(layer.kv_heads) + " x " + grouped(layer.head_dim);
  }
  const KvFormat& format = plan.request.format;
  text += " in " + format.name;
  if (format.head_scale_bytes > 0 || format.scale_group > 0) {
    text += " with its scales";
  }
  return text + " = " + grouped(rows.bytes_per_token);
}

std::string state_numbers(const CapacityPlan& plan, const KvClass& rows) {
  const StateShape& state = rows.layer.state;
  const DType dtype =
      plan.request.state_dtype.value_or(state.state_is_f32 ? DType::F32 : DType::BF16);
  return grouped(rows.layers) + " x (" + grouped(state.conv_channels) + " x " +
         grouped(state.conv_width) + " x 2 + " + grouped(state.heads) + " x " +
         grouped(state.k_dim) + " x " + grouped(state.v_dim) + " x " +
         (dtype == DType::F32 ? "4" : "2") + ") = " + grouped(rows.bytes_per_sequence);
}

void add_class(const CapacityPlan& plan, const KvClass& rows, std::vector<Equation>& equations) {
  std::string kind(kind_name(rows.layer));
  if (rows.layer.window > 0) {
    kind += " " + grouped(rows.layer.window);
  }
  if (rows.layer.kind == CacheKind::State) {
    equations.push_back({"bytes per sequence, state",
                         "layers x (conv channels x (kernel - 1) x 2 + heads x k_dim x v_dim x "
                         "storage)",
                         state_numbers(plan, rows), "the model's state layers"});
  } else if (rows.layer.kind == CacheKind::Cross) {
    equations.push_back({"bytes per sequence, cross",
                         "layers x 2 x KV heads x head_dim x storage x encoder positions",
                         grouped(rows.layers) + " layers x " + grouped(rows.layer.encoder_len) +
                             " positions = " + grouped(rows.bytes_per_sequence),
                         "written once a request"});
  } else {
    equations.push_back(
        {"bytes per token, " + kind, "layers x 2 x KV heads x head_dim x storage",
         class_numbers(plan, rows),
         plan.engine == Engine::Octavo ? "Octavo's storage plan" : "the engine's page layout"});
  }
}

void add_storage(const CapacityPlan& plan, std::vector<Equation>& equations) {
  const PlanRequest& request = plan.request;
  if (request.model.kv_heads > 0) {
    equations.push_back({"KV heads of a rank", "max(1, KV heads / tp)",
                         "max(1, " + grouped(request.model.kv_heads) + " / " + grouped(request.tp) +
                             ") = " + grouped(plan.kv_heads_per_rank),
                         "a head is stored whole"});
  }
  if (request.pp > 1) {
    equations.push_back({"layers of the smallest stage", "layers / pp",
                         grouped(static_cast<std::int64_t>(request.model.layers.size())) + " / " +
                             grouped(request.pp) + " -> " + grouped(plan.stage_layers) +
                             " in stage " + grouped(plan.stage),
                         "the stage that holds the fewest requests"});
  }
  for (const KvClass& rows : plan.classes) {
    add_class(plan, rows, equations);
  }
  if (plan.groups.size() > 1) {
    return;  // a block of an engine with groups is explained with them
  }
  equations.push_back(
      {"bytes per block", "block size x bytes per token",
       grouped(plan.block_size) + " x " + grouped(plan.bytes_per_token) + " = " +
           grouped(plan.bytes_per_block),
       plan.engine == Engine::Octavo ? "Octavo's storage plan" : "the engine's page layout"});
}

void add_groups(const CapacityPlan& plan, std::vector<Equation>& equations) {
  if (plan.groups.size() < 2) {
    return;
  }
  if (plan.block_size != plan.request.block_size) {
    equations.push_back({"block size", "raised until a page holds a state, in steps of 16 tokens",
                         grouped(plan.request.block_size) + " -> " + grouped(plan.block_size),
                         "vLLM's rule for hybrid models"});
  }
  const EngineGroup& first = plan.groups.front();
  const std::int64_t size = first.layers + first.padding_layers;
  equations.push_back({"bytes per block", "page x layers of a group",
                       grouped(plan.bytes_per_block / size) + " x " + grouped(size) + " = " +
                           grouped(plan.bytes_per_block),
                       "vLLM's groups: equal numbers of layers share block ids"});
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const EngineGroup& group = plan.groups[i];
    const std::string kind(kind_name(plan.classes[group.layer_class].layer));
    equations.push_back(
        {"blocks per request, group " + std::to_string(i) + " (" + kind + ")", "",
         grouped(group.blocks_per_request) +
             (group.block_size > 0 ? " of " + grouped(group.block_size) + " tokens" : "") +
             ", in " + grouped(group.layers) + " layers" +
             (group.padding_layers > 0
                  ? " (and " + grouped(group.padding_layers) + " that are only padding)"
                  : ""),
         ""});
  }
}

void add_slots(const CapacityPlan& plan, std::vector<Equation>& equations) {
  if (plan.slot_bytes > 0) {
    equations.push_back({"set aside for slots", "max-num-seqs x bytes per sequence",
                         grouped(plan.request.max_num_seqs) + " x " +
                             grouped(plan.bytes_per_sequence) + " = " + grouped(plan.slot_bytes),
                         "states and cross-attention rows lie in slots, not in the pool"});
  }
  if (plan.expected.state_slots >= 0) {
    equations.push_back({"state slots", "KV budget x r / (1 + r) / bytes per sequence - 1",
                         grouped(plan.expected.state_slots), "SGLang, r = 0.9"});
  }
}

std::string blocks_formula(const CapacityPlan& plan) {
  switch (plan.engine) {
    case Engine::TensorRtLlm:
      return "ceil(KV budget / bytes per block)";
    case Engine::Octavo:
      return plan.slot_bytes > 0 ? "floor((KV budget - slots) / bytes per block)"
                                 : "floor(KV budget / bytes per block)";
    default:
      return "floor(KV budget / bytes per block)";
  }
}

void add_request_blocks(const CapacityPlan& plan, std::vector<Equation>& equations) {
  const PlanRequest& request = plan.request;
  const std::string all =
      "ceil(" + grouped(request.max_len) + " / " + grouped(plan.block_size) + ")";
  if (plan.groups.size() > 1) {
    equations.push_back({"blocks per request", "the sum over the groups",
                         grouped(plan.blocks_per_request), "every group draws from one pool"});
  } else if (plan.engine == Engine::Octavo && request.model.all_windowed()) {
    equations.push_back(
        {"blocks per request", "min(ceil(max-len / block), ceil((window - 1 + step) / block) + 1)",
         "min(" + all + ", ceil((" + grouped(request.model.largest_window()) + " - 1 + " +
             grouped(request.max_num_batched_tokens) + ") / " + grouped(plan.block_size) +
             ") + 1) = " + grouped(plan.blocks_per_request),
         "every layer is windowed: blocks behind the window are released"});
  } else {
    equations.push_back({"blocks per request", "ceil(max-len / block)",
                         all + (request.dcp > 1 ? " over " + grouped(request.dcp) + " ranks" : "") +
                             " = " + grouped(plan.blocks_per_request),
                         "one block table for all layers"});
  }
}

void add_capacity(const CapacityPlan& plan, std::vector<Equation>& equations) {
  const PoolCapacity& pool = plan.expected;
  equations.push_back({"blocks", blocks_formula(plan),
                       "(" + grouped(pool.budget_bytes) +
                           (plan.slot_bytes > 0 ? " - " + grouped(plan.slot_bytes) : "") + ") / " +
                           grouped(plan.bytes_per_block) + " -> " + grouped(pool.blocks),
                       "per rank; a request lies on all ranks of a stage alike"});
  equations.push_back({"tokens", plan.tokens_meaning, grouped(pool.tokens),
                       "as " + std::string(to_string(plan.engine)) + " counts them"});
  add_request_blocks(plan, equations);
  equations.push_back({"concurrency", "blocks / blocks per request",
                       grouped(pool.blocks) + " / " + grouped(plan.blocks_per_request) + " = " +
                           decimal(pool.concurrency, 2),
                       "requests of max-len at once, without sharing"});
  for (const Waste& waste : plan.waste) {
    equations.push_back(
        {"waste, " + waste.cause, "", grouped(waste.bytes) + " bytes a " + waste.of, waste.text});
  }
}

}  // namespace

std::vector<Equation> explain(const CapacityPlan& plan) {
  std::vector<Equation> equations;
  add_budget(plan, equations);
  add_storage(plan, equations);
  add_groups(plan, equations);
  add_slots(plan, equations);
  add_capacity(plan, equations);
  return equations;
}

}  // namespace octavo::sim
