#include "octavo/sim/capacity.h"

#include <algorithm>
#include <cmath>

#include "checked.h"
#include "number_text.h"
#include "octavo/error.h"
#include "octavo/kv_footprint.h"

namespace octavo::sim {
namespace {

constexpr double kGibMax = 100000;   // larger figures are typing errors
constexpr std::int64_t kTpMax = 64;  // as far as a remedy is looked for

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
  check_gib("graph memory", request.graph_gib);
  if (request.max_len > request.model.max_positions) {
    throw Error(ErrorCode::InvalidArgument,
                "max-len is " + grouped(request.max_len) + ", but " + request.model.name +
                    " has max_position_embeddings " + grouped(request.model.max_positions));
  }
}

PlanRequest with_defaults(PlanRequest request) {
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

MemoryBudget make_budget(const PlanRequest& request) {
  const BatchLimits limits{request.max_num_batched_tokens, request.max_num_seqs};
  MemoryBudget budget;
  budget.total_gib = request.gpu.total_gib;
  budget.utilization = request.utilization;
  budget.graph_gib = request.graph_gib;
  budget.weights = request.weights_gib
                       ? Estimate::given(*request.weights_gib / static_cast<double>(request.tp))
                       : estimate_weights(request.model, request.tp);
  budget.activation = request.activation_gib
                          ? Estimate::given(*request.activation_gib)
                          : estimate_activation(request.model, request.tp, limits);
  budget.non_torch = request.non_torch_gib ? Estimate::given(*request.non_torch_gib)
                                           : estimate_non_torch(request.tp);
  return budget;
}

PoolCapacity pool_capacity(std::int64_t budget_bytes, const CapacityPlan& plan) {
  PoolCapacity pool;
  pool.budget_bytes = budget_bytes;
  pool.blocks = blocks_in(budget_bytes, plan.bytes_per_block);
  pool.tokens = checked_mul(pool.blocks, plan.request.block_size, "the tokens of the pool");
  pool.concurrency =
      static_cast<double>(pool.blocks) / static_cast<double>(plan.blocks_per_request);
  return pool;
}

std::int64_t window_of(const ModelConfig& model) {
  return model.all_windowed() ? model.largest_window() : 0;
}

void fill_storage(CapacityPlan& plan) {
  const PlanRequest& request = plan.request;
  RowOptions options;
  options.tp = request.tp;
  options.format = request.format;
  options.block_size = request.block_size;
  options.max_seqs = request.max_num_seqs;
  options.max_len = request.max_len;
  options.max_step_tokens = request.max_num_batched_tokens;
  const KvRows rows = make_kv_rows(request.model, options);
  const KVCacheFootprint bytes = footprint(rows.config, rows.specs);
  plan.kv_heads_per_rank = kv_heads_per_rank(request.model, request.tp);
  plan.classes = kv_classes(request.model, options);
  plan.bytes_per_block = bytes.bytes_per_block;
  plan.bytes_per_token = bytes.bytes_per_block / request.block_size;
  plan.bytes_per_sequence = bytes.bytes_per_slot;
  plan.table_bytes = bytes.tables;
  plan.blocks_per_request =
      blocks_per_request(request.max_len, request.block_size, window_of(request.model),
                         request.max_num_batched_tokens);
}

/// The bytes that one request of max_len needs.
std::int64_t needed_bytes(const CapacityPlan& plan) {
  return checked_mul(plan.blocks_per_request, plan.bytes_per_block, "the bytes of one request");
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
      fill_storage(other);
    } catch (const Error&) {
      continue;  // this tp does not divide the heads
    }
    if (kv_budget(make_budget(request)).expected_bytes >= needed_bytes(other)) {
      return tp;
    }
  }
  return std::nullopt;
}

void judge(CapacityPlan& plan) {
  const PoolCapacity& pool = plan.expected;
  plan.fits = pool.blocks >= plan.blocks_per_request;
  if (plan.fits) {
    const bool slots = pool.concurrency > static_cast<double>(plan.request.max_num_seqs);
    plan.limited_by = slots ? LimitedBy::SequenceSlots : LimitedBy::TokenPool;
    return;
  }
  plan.limited_by = pool.blocks == 0 ? LimitedBy::Budget : LimitedBy::OneRequest;
  plan.missing_bytes = needed_bytes(plan) - pool.budget_bytes;
  // A shorter request of n tokens never holds more than ceil(n / block) blocks.
  plan.remedies.max_len = pool.tokens;
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

CapacityPlan plan_capacity(const PlanRequest& request) {
  check(request);
  CapacityPlan plan;
  plan.request = with_defaults(request);
  fill_storage(plan);
  KvBudget bytes;
  if (plan.request.kv_budget_gib) {
    const std::int64_t given = gib_to_bytes(*plan.request.kv_budget_gib);
    bytes = {given, given, given};
  } else {
    plan.budget = make_budget(plan.request);
    bytes = kv_budget(*plan.budget);
  }
  plan.expected = pool_capacity(bytes.expected_bytes, plan);
  plan.low = pool_capacity(bytes.low_bytes, plan);
  plan.high = pool_capacity(bytes.high_bytes, plan);
  judge(plan);
  return plan;
}

}  // namespace octavo::sim
