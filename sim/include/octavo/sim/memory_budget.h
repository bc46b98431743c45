// How much memory of a GPU is left for the KV cache, and how sure that is.
//
//     KV = total x utilisation - weights - activation peak - outside torch - graphs
//
// The middle terms are what an engine measures at start-up; before a start they can only be
// estimated. The estimates here stand for vLLM V1 and say where they come from. Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "octavo/sim/gpu_catalogue.h"
#include "octavo/sim/model_config.h"

namespace octavo::sim {

/// A figure in GiB that is known to lie between `low` and `high`; all three equal when it was
/// given.
struct Estimate {
  double low = 0;
  double expected = 0;
  double high = 0;
  std::string origin = {};

  static Estimate given(double gib, std::string origin = "given");
};

/// What a step and a batch may hold: vLLM V1's defaults for a server on that GPU.
struct BatchLimits {
  std::int64_t max_num_batched_tokens = 0;
  std::int64_t max_num_seqs = 0;
};
BatchLimits default_batch_limits(const Gpu& gpu);

/// The peak of the profiling run: the forward pass over a full step, or the sampler's warm-up over
/// a full batch of logits, whichever is larger; together at worst.
Estimate estimate_activation(const ModelConfig& model, std::int64_t tp, const BatchLimits& limits);

/// What CUDA, NCCL and the like hold outside the framework's allocator.
Estimate estimate_non_torch(std::int64_t tp);

/// What vLLM sets aside for CUDA graphs from 0.21 on.
Estimate estimate_graph();

/// One rank's share of the weights, the rotary table that every rank keeps included.
/// What is not counted but bounded (ModelWeights::uncounted) widens the range: nothing of it at the
/// low end, all of it at the high end, 65 % expected.
/// Raises InvalidArgument when the config does not tell (ModelWeights::unknown).
Estimate estimate_weights(const ModelConfig& model, std::int64_t tp);
/// Widens `estimate` so, for weights that `ranks` GPUs divide.
void add_uncounted(const ModelWeights& weights, std::int64_t ranks, Estimate& estimate);

struct MemoryBudget {
  double total_gib = 0;
  double utilization = 0.9;
  Estimate weights;
  Estimate activation;
  Estimate non_torch;
  Estimate graph;  ///< Of CUDA graphs: subtracted by vLLM from 0.21 on, by no other engine.
};

/// What is left, in bytes; negative when the terms exceed the share. `low` subtracts the high
/// estimates and `high` the low ones.
struct KvBudget {
  std::int64_t low_bytes = 0;
  std::int64_t expected_bytes = 0;
  std::int64_t high_bytes = 0;
};
KvBudget kv_budget(const MemoryBudget& budget);

std::int64_t gib_to_bytes(double gib);

}  // namespace octavo::sim
