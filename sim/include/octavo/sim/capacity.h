// What fits: blocks, tokens and concurrent requests of a model on GPUs, as Octavo or another engine
// lays out its cache.
//
//     blocks              = floor(KV budget / bytes per block)       of one rank
//     blocks per request  = ceil(max_len / block)                    Octavo: one block table
//                           min(that, ceil((window - 1 + step) / block) + 1)   every layer windowed
//     concurrency         = blocks / blocks per request
//
// Other engines: engine_profile.h. The ranks of one pipeline stage are alike; the stage that holds
// the fewest requests decides. States and cross-attention rows lie in slots, which Octavo sets
// aside for max_num_seqs sequences before it counts blocks.
//
// Pure functions over plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/sim/engine_profile.h"
#include "octavo/sim/gpu_catalogue.h"
#include "octavo/sim/kv_rows.h"
#include "octavo/sim/memory_budget.h"
#include "octavo/sim/model_config.h"

namespace octavo::sim {

/// A question. Zeros and unset values take the defaults named beside them.
struct PlanRequest {
  ModelConfig model;
  Gpu gpu;
  std::optional<Engine> engine = {};  ///< Octavo where it can store the model, else Vllm.
  std::int64_t tp = 1;                ///< Ranks that share the heads.
  std::int64_t pp = 1;                ///< Stages that share the layers.
  std::int64_t dp = 1;                ///< Replicas of the attention, each with a cache of its own.
  std::int64_t dcp = 1;               ///< Decode context parallelism; vLLM's engines only.
  StatePrefix state_prefix = StatePrefix::None;  ///< vLLM's engines only.
  std::optional<DType> state_dtype = {};         ///< Unset: as the config says.
  KvFormat format = {};
  double utilization = 0.9;
  std::int64_t block_size = 16;
  std::int64_t max_len = 0;                   ///< The model's max_positions.
  std::int64_t max_num_seqs = 0;              ///< default_batch_limits.
  std::int64_t max_num_batched_tokens = 0;    ///< default_batch_limits.
  std::optional<double> weights_gib = {};     ///< Of the whole model; estimate_weights.
  std::optional<double> activation_gib = {};  ///< Of one rank; estimate_activation.
  std::optional<double> non_torch_gib = {};   ///< Of one rank; estimate_non_torch.
  std::optional<double> graph_gib = {};       ///< Of one rank; vLLM: estimate_graph, else 0.
  std::optional<double> kv_budget_gib = {};   ///< Of one rank; skips the budget.
};

/// What binds first.
enum class LimitedBy {
  TokenPool,      ///< The pool holds the requests that fit; more tokens would take more memory.
  SequenceSlots,  ///< The pool would hold more requests than max_num_seqs admits.
  StateSlots,     ///< The pool would hold more requests than there are slots for states.
  OneRequest,     ///< Does not fit: the pool is smaller than one request of max_len.
  Budget,         ///< Does not fit: nothing, or less than one block, is left for the KV cache.
};
/// "token_pool", "max_num_seqs", "state_slots", "max_len" or "kv_budget".
std::string_view to_string(LimitedBy limit);

/// What a pool of some bytes holds.
struct PoolCapacity {
  std::int64_t budget_bytes = 0;
  std::int64_t blocks = 0;
  std::int64_t tokens = 0;  ///< As the engine prints it.
  double concurrency = 0;
  std::int64_t state_slots = -1;  ///< Sequences whose states have a place; -1: not limited apart.
};

/// What would make a request of max_len fit; unset where that alone cannot.
struct Remedies {
  std::int64_t max_len = 0;                ///< The longest request that fits; 0 = none does.
  std::optional<double> utilization = {};  ///< Rounded up to a thousandth, at most 1.
  std::optional<std::int64_t> tp = {};     ///< The smallest larger one, same GPU.
};

/// What the pool would have served of a recorded workload; the caller replays it and fills this in.
struct PoolHits {
  std::string trace;
  std::int64_t requests = 0;
  std::int64_t rejected_requests = 0;  ///< That could never fit.
  std::int64_t prompt_tokens = 0;
  std::int64_t hit_tokens = 0;  ///< Of those, found in the cache.

  /// Hit tokens by prompt tokens; 0 without any.
  double hit_rate() const;
};

struct CapacityPlan {
  PlanRequest request;                      ///< With every default filled in.
  std::optional<MemoryBudget> budget = {};  ///< None when kv_budget_gib was given.
  std::int64_t kv_heads_per_rank = 0;
  std::vector<KvClass> classes = {};
  Engine engine = Engine::Octavo;        ///< The one that was asked for or chosen.
  std::int64_t block_size = 0;           ///< After the engine raised it.
  std::vector<EngineGroup> groups = {};  ///< Empty for Octavo: one block table for all rows.
  std::vector<Waste> waste = {};
  std::string tokens_meaning = {};  ///< How `tokens` is defined.
  std::vector<std::string> engine_notes = {};
  std::int64_t stage = 0;  ///< Of the pipeline, from 0: the one that holds least.
  std::int64_t stage_layers = 0;
  std::int64_t slot_bytes = 0;       ///< Set aside for states and cross rows before the blocks.
  std::int64_t bytes_per_block = 0;  ///< Of one rank, over all layers, per-token scales included.
  std::int64_t bytes_per_token = 0;
  std::int64_t bytes_per_sequence = 0;  ///< That a sequence takes whatever its length.
  std::int64_t table_bytes = 0;         ///< Block tables and step indices; on top of the budget.
  std::int64_t blocks_per_request = 0;  ///< At max_len.
  PoolCapacity expected = {};
  PoolCapacity low = {};   ///< Were every estimate at its high end,
  PoolCapacity high = {};  ///< and at its low end.
  LimitedBy limited_by = LimitedBy::TokenPool;
  bool fits = false;
  std::int64_t missing_bytes = 0;     ///< For one request of max_len; 0 when it fits.
  Remedies remedies = {};             ///< Filled when it does not fit.
  std::optional<PoolHits> hits = {};  ///< Left empty by plan_capacity.

  std::int64_t gpus() const noexcept { return request.tp * request.pp * request.dp; }
  /// Requests of max_len that all replicas run at once, max_num_seqs and states counted.
  double total_concurrency() const noexcept;
};

/// The ways in which N GPUs are divided unless said otherwise: all in one tensor-parallel group, or
/// the largest that divides the model's heads, the rest being replicas.
struct Division {
  std::int64_t tp = 1;
  std::int64_t dp = 1;
};
Division divide_gpus(const ModelConfig& model, std::int64_t gpus);

/// Answers the question. A configuration that does not fit is an answer too (`fits`).
/// Raises InvalidArgument for a value outside its range: tp (see kv_heads_per_rank), utilization
/// outside (0, 1], a block size that is no power of two, max_len above the model's positions,
/// negative or non-finite GiB; and when the weights can be neither counted nor were given.
CapacityPlan plan_capacity(const PlanRequest& request);

/// floor(budget / bytes_per_block), at least 0 and at most kMaxBlocks.
std::int64_t blocks_in(std::int64_t budget_bytes, std::int64_t bytes_per_block);

/// Blocks that one request of `length` tokens holds at most. `window` 0: all of them.
std::int64_t blocks_per_request(std::int64_t length,
                                std::int64_t block_size,
                                std::int64_t window,
                                std::int64_t step_tokens);

/// One equation behind the answer, for people.
struct Equation {
  std::string left;     ///< "blocks"
  std::string formula;  ///< "floor(KV budget / bytes per block)"
  std::string numbers;  ///< "floor(35,540,729,856 / 1,310,720) = 27,115"
  std::string source;   ///< Where the formula or the figures come from.
};
std::vector<Equation> explain(const CapacityPlan& plan);

/// Sentences a reader of the figures should know: estimates, marked values, known limits.
std::vector<std::string> remarks(const CapacityPlan& plan);

/// Why it does not fit and what would, in one or two sentences; empty when it fits.
std::string does_not_fit_text(const CapacityPlan& plan);

/// One JSON object, schema_version 1, without a trailing newline.
std::string to_json(const CapacityPlan& plan, bool with_equations);

}  // namespace octavo::sim
