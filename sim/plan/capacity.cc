#include "octavo/sim/capacity.h"

#include <algorithm>
#include <cmath>

#include "checked.h"
#include "number_text.h"
#include "octavo/error.h"
#include "octavo/kv_footprint.h"
#include "pipeline.h"

namespace octavo::sim {
namespace {

constexpr double kGibMax = 100000;   // larger figures are typing errors
constexpr std::int64_t kTpMax = 64;  // as far as a remedy is looked for
constexpr std::int64_t kReplicasMax = 65536;

void check_gib(std::string_view name, double gib) {
  if (!(gib >= 0) || gib > kGibMax) {
    throw Error(ErrorCode::InvalidArgument, std::string(name) + " is " + decimal(gib, 3) +
                                                " GiB, expected a number in [0, " +
                                                decimal(kGibMax, 0) + "]");
  }
}

void check(const PlanRequest& request) {
  if (!(request.utilization > 0 && request.utilization <= 1)) {
    throw Error(ErrorCode::InvalidArgument, "GPU memory utilization is " +
                                                decimal(request.utilization, 3) +
                                                ", expected a number above 0 and at most 1");
  }
  if (request.weights_gib) {
    check_gib("weights", *request.weights_gib);
  }
  if (request.activation_gib) {
    check_gib("activation", *request.activation_gib);
  }
  if (request.non_torch_gib) {
    check_gib("non-torch memory", *request.non_torch_gib);
  }
  if (request.kv_budget_gib) {
    check_gib("KV budget", *request.kv_budget_gib);
  }
  if (request.graph_gib) {
    check_gib("graph memory", *request.graph_gib);
  }
  if (request.max_len > request.model.max_positions) {
    throw Error(ErrorCode::InvalidArgument,
                "max-len is " + grouped(request.max_len) + ", but " + request.model.name +
                    " has max_position_embeddings " + grouped(request.model.max_positions));
  }
}

void check_parallel(const PlanRequest& request, Engine engine) {
  const auto require = [](const char* name, std::int64_t value, std::int64_t high) {
    if (value < 1 || value > high) {
      throw Error(ErrorCode::InvalidArgument, std::string(name) + " is " + grouped(value) +
                                                  ", expected a whole number in [1, " +
                                                  grouped(high) + "]");
    }
  };
  require("pp", request.pp, static_cast<std::int64_t>(request.model.layers.size()));
  require("dp", request.dp, kReplicasMax);
  require("dcp", request.dcp, request.tp);
  if (request.tp % request.dcp != 0) {
    throw Error(
        ErrorCode::InvalidArgument,
        "dcp is " + grouped(request.dcp) + ", expected a divisor of tp, " + grouped(request.tp));
  }
  if (request.dcp > 1 && engine != Engine::Vllm && engine != Engine::VllmOld) {
    throw Error(ErrorCode::InvalidArgument, "dcp is " + grouped(request.dcp) + ", but engine " +
                                                std::string(to_string(engine)) +
                                                " does not divide a sequence over ranks");
  }
}

PlanRequest with_defaults(PlanRequest request) {
  if (!request.engine) {
    const bool ours = octavo_refusal(request.model, request.format).empty() && request.dcp == 1;
    request.engine = ours ? Engine::Octavo : Engine::Vllm;
  }
  const BatchLimits limits = default_batch_limits(request.gpu);
  if (request.max_len == 0) {
    request.max_len = request.model.max_positions;
  }
  if (request.max_num_seqs == 0) {
    request.max_num_seqs = limits.max_num_seqs;
  }
  if (request.max_num_batched_tokens == 0) {
    request.max_num_batched_tokens = limits.max_num_batched_tokens;
  }
  return request;
}

MemoryBudget make_budget(const PlanRequest& request, const PipelineStage& stage) {
  const BatchLimits limits{request.max_num_batched_tokens, request.max_num_seqs};
  MemoryBudget budget;
  budget.total_gib = request.gpu.total_gib;
  budget.utilization = request.utilization;
  budget.graph = request.graph_gib ? Estimate::given(*request.graph_gib)
                 : request.engine == Engine::Vllm
                     ? estimate_graph()
                     : Estimate::given(0, "not set aside by this engine");
  budget.weights = stage_weights(request, stage);
  budget.activation = request.activation_gib
                          ? Estimate::given(*request.activation_gib)
                          : estimate_activation(request.model, request.tp, limits);
  budget.non_torch = request.non_torch_gib ? Estimate::given(*request.non_torch_gib)
                                           : estimate_non_torch(request.tp * request.pp);
  return budget;
}

std::int64_t window_of(const ModelConfig& model) {
  return model.all_windowed() ? model.largest_window() : 0;
}

RowOptions row_options(const PlanRequest& request) {
  RowOptions options;
  options.tp = request.tp;
  options.format = request.format;
  options.state_dtype = request.state_dtype;
  options.block_size = request.block_size;
  options.max_seqs = request.max_num_seqs;
  options.max_len = request.max_len;
  options.max_step_tokens = request.max_num_batched_tokens;
  return options;
}

SizingRequest engine_request(const CapacityPlan& plan, std::int64_t budget_bytes) {
  const PlanRequest& request = plan.request;
  SizingRequest engine;
  engine.engine = plan.engine;
  engine.budget_bytes = budget_bytes;
  engine.block_size = request.block_size;
  engine.max_len = request.max_len;
  engine.step_tokens = request.max_num_batched_tokens;
  engine.state_prefix = request.state_prefix;
  engine.dcp = request.dcp;
  for (const KvClass& rows : plan.classes) {
    LayerClass layers;
    layers.kind = rows.layer.kind;
    layers.layers = rows.layers;
    layers.window = rows.layer.window;
    if (rows.layer.kind == CacheKind::State) {
      layers.state_bytes = rows.bytes_per_sequence / rows.layers;
    } else if (rows.layer.kind == CacheKind::Cross) {
      layers.encoder_len = rows.layer.encoder_len;
      layers.bytes_per_token = rows.bytes_per_sequence / rows.layers / layers.encoder_len;
    } else {
      layers.bytes_per_token = rows.bytes_per_token / rows.layers;
    }
    engine.classes.push_back(layers);
  }
  return engine;
}

PoolCapacity pool_capacity(std::int64_t budget_bytes, const CapacityPlan& plan) {
  PoolCapacity pool;
  pool.budget_bytes = budget_bytes;
  if (plan.engine != Engine::Octavo) {
    const EngineCapacity engine =
        engine_capacity(engine_request(plan, std::max<std::int64_t>(budget_bytes, 0)));
    pool.blocks = engine.blocks;
    pool.tokens = engine.tokens;
    pool.concurrency = engine.concurrency;
    pool.state_slots = engine.state_slots;
    return pool;
  }
  pool.blocks = blocks_in(budget_bytes - plan.slot_bytes, plan.bytes_per_block);
  pool.tokens = checked_mul(pool.blocks, plan.request.block_size, "the tokens of the pool");
  pool.concurrency =
      static_cast<double>(pool.blocks) / static_cast<double>(plan.blocks_per_request);
  return pool;
}

void fill_octavo_storage(CapacityPlan& plan, const PipelineStage& stage) {
  const PlanRequest& request = plan.request;
  const RowOptions options = row_options(request);
  ModelConfig part = request.model;
  part.layers = {request.model.layers.begin() + static_cast<std::ptrdiff_t>(stage.first),
                 request.model.layers.begin() + static_cast<std::ptrdiff_t>(stage.last)};
  const KvRows rows = make_kv_rows(part, options);
  const KVCacheFootprint bytes = footprint(rows.config, rows.specs);
  plan.classes = kv_classes(part, options);
  plan.block_size = request.block_size;
  plan.bytes_per_block = bytes.bytes_per_block;
  plan.bytes_per_token = bytes.bytes_per_block / request.block_size;
  plan.bytes_per_sequence = bytes.bytes_per_slot;
  plan.slot_bytes = checked_mul(bytes.bytes_per_slot, request.max_num_seqs, "the bytes of slots");
  plan.table_bytes = bytes.tables;
  plan.blocks_per_request =
      blocks_per_request(request.max_len, request.block_size, window_of(request.model),
                         request.max_num_batched_tokens);
  plan.tokens_meaning = "blocks x block size";
  const std::int64_t tail = plan.blocks_per_request * request.block_size - request.max_len;
  if (tail > 0 && window_of(request.model) == 0) {
    plan.waste.push_back({"block_tail", "request", tail * plan.bytes_per_token,
                          "the last block of a request is not full"});
  }
}

void fill_engine_storage(CapacityPlan& plan, const PipelineStage& stage) {
  const PlanRequest& request = plan.request;
  plan.classes = rank_classes(request.model, row_options(request), stage.first, stage.last);
  for (const KvClass& rows : plan.classes) {
    plan.bytes_per_token += rows.bytes_per_token;
    plan.bytes_per_sequence += rows.bytes_per_sequence;
  }
  EngineCapacity sized = engine_capacity(engine_request(plan, 0));
  plan.block_size = sized.block_size;
  plan.bytes_per_block = sized.bytes_per_block;
  plan.blocks_per_request = sized.blocks_per_request;
  plan.groups = std::move(sized.groups);
  plan.waste = std::move(sized.waste);
  plan.tokens_meaning = std::move(sized.tokens_meaning);
  plan.engine_notes = std::move(sized.notes);
}

void fill_storage(CapacityPlan& plan, const PipelineStage& stage) {
  plan.engine = *plan.request.engine;
  plan.stage = stage.index;
  plan.stage_layers = static_cast<std::int64_t>(stage.last - stage.first);
  plan.kv_heads_per_rank = kv_heads_per_rank(plan.request.model, plan.request.tp);
  if (plan.engine == Engine::Octavo) {
    fill_octavo_storage(plan, stage);
  } else {
    fill_engine_storage(plan, stage);
  }
}

/// The bytes that one request of max_len needs.
std::int64_t needed_bytes(const CapacityPlan& plan) {
  return checked_add(
      checked_mul(plan.blocks_per_request, plan.bytes_per_block, "the bytes of one request"),
      plan.slot_bytes, "the bytes of one request");
}

std::optional<double> sufficient_utilization(const CapacityPlan& plan) {
  if (!plan.budget) {
    return std::nullopt;
  }
  MemoryBudget budget = *plan.budget;
  for (std::int64_t thousandths = 1; thousandths <= 1000; ++thousandths) {
    budget.utilization = static_cast<double>(thousandths) / 1000;
    if (kv_budget(budget).expected_bytes >= needed_bytes(plan)) {
      return budget.utilization;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> sufficient_tp(const CapacityPlan& plan) {
  if (!plan.budget) {
    return std::nullopt;
  }
  for (std::int64_t tp = plan.request.tp + 1; tp <= kTpMax; ++tp) {
    PlanRequest request = plan.request;
    request.tp = tp;
    CapacityPlan other;
    try {
      other.request = request;
      const PipelineStage stage = pipeline_stages(request).front();
      fill_storage(other, stage);
      if (kv_budget(make_budget(request, stage)).expected_bytes >= needed_bytes(other)) {
        return tp;
      }
    } catch (const Error&) {
      continue;  // this tp does not divide the heads
    }
  }
  return std::nullopt;
}

/// The longest request that the pool holds, when it does not hold max_len; 0 = none.
std::int64_t shorter_length(const CapacityPlan& plan) {
  if (plan.engine == Engine::Octavo) {
    return plan.expected.tokens;  // n tokens never hold more than ceil(n / block) blocks
  }
  std::int64_t fits = 0;
  std::int64_t low = 1;
  std::int64_t high = plan.request.max_len - 1;
  SizingRequest engine =
      engine_request(plan, std::max<std::int64_t>(plan.expected.budget_bytes, 0));
  while (low <= high) {
    engine.max_len = low + (high - low) / 2;
    const EngineCapacity sized = engine_capacity(engine);
    const bool enough = sized.blocks >= sized.blocks_per_request;
    fits = enough ? engine.max_len : fits;
    (enough ? low : high) = enough ? engine.max_len + 1 : engine.max_len - 1;
  }
  return fits;
}

void judge(CapacityPlan& plan) {
  const PoolCapacity& pool = plan.expected;
  plan.fits = pool.blocks >= plan.blocks_per_request;
  if (plan.fits) {
    plan.limited_by = LimitedBy::TokenPool;
    double most = pool.concurrency;
    if (pool.state_slots >= 0 && static_cast<double>(pool.state_slots) < most) {
      most = static_cast<double>(pool.state_slots);
      plan.limited_by = LimitedBy::StateSlots;
    }
    if (static_cast<double>(plan.request.max_num_seqs) < most) {
      plan.limited_by = LimitedBy::SequenceSlots;
    }
    return;
  }
  plan.limited_by = pool.blocks == 0 ? LimitedBy::Budget : LimitedBy::OneRequest;
  plan.missing_bytes = needed_bytes(plan) - pool.budget_bytes;
  plan.remedies.max_len = shorter_length(plan);
  plan.remedies.utilization = sufficient_utilization(plan);
  plan.remedies.tp = sufficient_tp(plan);
}

}  // namespace

std::string_view to_string(LimitedBy limit) {
  switch (limit) {
    case LimitedBy::TokenPool:
      return "token_pool";
    case LimitedBy::SequenceSlots:
      return "max_num_seqs";
    case LimitedBy::StateSlots:
      return "state_slots";
    case LimitedBy::OneRequest:
      return "max_len";
    case LimitedBy::Budget:
      break;
  }
  return "kv_budget";
}

double PoolHits::hit_rate() const {
  return prompt_tokens == 0 ? 0
                            : static_cast<double>(hit_tokens) / static_cast<double>(prompt_tokens);
}

std::int64_t blocks_in(std::int64_t budget_bytes, std::int64_t bytes_per_block) {
  return std::clamp<std::int64_t>(budget_bytes / bytes_per_block, 0, kMaxBlocks);
}

std::int64_t blocks_per_request(std::int64_t length,
                                std::int64_t block_size,
                                std::int64_t window,
                                std::int64_t step_tokens) {
  const std::int64_t all = ceil_div(length, block_size);
  if (window == 0) {
    return all;
  }
  // The window of the step's first query, the step itself, and one block more since neither end
  // need lie on a block's edge.
  return std::min(all, ceil_div(window - 1 + step_tokens, block_size) + 1);
}

double CapacityPlan::total_concurrency() const noexcept {
  double each = std::min(expected.concurrency, static_cast<double>(request.max_num_seqs));
  if (expected.state_slots >= 0) {
    each = std::min(each, static_cast<double>(expected.state_slots));
  }
  return each * static_cast<double>(request.dp);
}

Division divide_gpus(const ModelConfig& model, std::int64_t gpus) {
  for (std::int64_t tp = gpus; tp > 1; --tp) {
    if (gpus % tp != 0) {
      continue;
    }
    try {
      rank_classes(model, {.tp = tp}, 0, model.layers.size());
      return {tp, gpus / tp};
    } catch (const Error&) {
      continue;  // this tp does not divide the heads
    }
  }
  return {1, gpus};
}

CapacityPlan plan_capacity(const PlanRequest& request) {
  check(request);
  const PlanRequest full = with_defaults(request);
  check_parallel(full, *full.engine);
  std::optional<CapacityPlan> least;
  for (const PipelineStage& stage : pipeline_stages(full)) {
    CapacityPlan plan;
    plan.request = full;
    fill_storage(plan, stage);
    KvBudget bytes;
    if (full.kv_budget_gib) {
      const std::int64_t given = gib_to_bytes(*full.kv_budget_gib);
      bytes = {given, given, given};
    } else {
      plan.budget = make_budget(full, stage);
      bytes = kv_budget(*plan.budget);
    }
    plan.expected = pool_capacity(bytes.expected_bytes, plan);
    plan.low = pool_capacity(bytes.low_bytes, plan);
    plan.high = pool_capacity(bytes.high_bytes, plan);
    if (!least || plan.expected.concurrency < least->expected.concurrency) {
      least = std::move(plan);
    }
  }
  judge(*least);
  return *std::move(least);
}

}  // namespace octavo::sim
