#include "octavo/sim/memory_budget.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "number_text.h"
#include "octavo/error.h"

namespace octavo::sim {
namespace {

// Fitted to three start-up logs of vLLM V1 on an H100 (Llama-3.1-8B 4.76 GiB, Qwen3-32B 5.64,
// gpt-oss-20b 7.38 with 1,024 sequences): all within 1 %. It stands for the float and index copies
// that sorting the logits of a whole batch takes.
constexpr double kSamplerBytesPerLogit = 38.8;

// The forward pass of one token: gate, up and their product, and three rows of hidden_size, at two
// bytes. Two logs of Llama-3.1-8B (20,000 and 29,000 tokens in a step) agree within 1 %.
constexpr double kForwardBytesPerElement = 2;
constexpr double kForwardCopies = 3;

double forward_gib(const ModelConfig& model, std::int64_t tp, std::int64_t tokens) {
  const double width = static_cast<double>(model.mlp_width) / static_cast<double>(tp) +
                       static_cast<double>(model.hidden_size);
  return static_cast<double>(tokens) * kForwardCopies * width * kForwardBytesPerElement / kGib;
}

double sampler_gib(const ModelConfig& model, std::int64_t sequences) {
  return kSamplerBytesPerLogit * static_cast<double>(sequences) *
         static_cast<double>(model.vocab_size) / kGib;
}

}  // namespace

Estimate Estimate::given(double gib, std::string origin) {
  return {gib, gib, gib, std::move(origin)};
}

BatchLimits default_batch_limits(const Gpu& gpu) {
  constexpr double kLargeGib = 70;
  const bool large = gpu.total_gib >= kLargeGib && gpu.name.find("A100") == std::string::npos;
  return large ? BatchLimits{8192, 1024} : BatchLimits{2048, 256};
}

Estimate estimate_activation(const ModelConfig& model, std::int64_t tp, const BatchLimits& limits) {
  const double forward = forward_gib(model, tp, limits.max_num_batched_tokens);
  const double sampler = sampler_gib(model, limits.max_num_seqs);
  Estimate estimate;
  estimate.low = forward;
  estimate.expected = std::max(forward, sampler);
  estimate.high = forward + sampler;
  estimate.origin = "the larger of the forward pass of " + grouped(limits.max_num_batched_tokens) +
                    " tokens (" + decimal(forward, 2) + " GiB) and the sampler's warm-up with " +
                    grouped(limits.max_num_seqs) + " sequences (" + decimal(sampler, 2) +
                    " GiB), as vLLM V1 profiles it; fitted to five start-up logs, others miss it "
                    "by up to the range";
  return estimate;
}

Estimate estimate_non_torch(std::int64_t tp) {
  if (tp == 1) {
    return {0.13, 0.14, 0.35, "start-up logs on one GPU: 0.13 to 0.14 GiB, once 0.35"};
  }
  return {
      0.54, 0.54, 1.08,
      "one start-up log with tensor parallelism (2 GPUs, 0.54 GiB); the upper end is twice that, "
      "for want of more"};
}

Estimate estimate_graph() {
  return {0.14, 0.4, 0.73,
          "start-up logs from 0.21 on print 0.14 to 0.73 GiB for models of up to 35 billion "
          "parameters; one of 92 layers on a GB300 printed 33"};
}

Estimate estimate_weights(const ModelConfig& model, std::int64_t tp) {
  const ModelWeights& weights = model.weights;
  if (!weights.unknown.empty()) {
    throw Error(ErrorCode::InvalidArgument, "the size of the weights is not known (" +
                                                weights.unknown + "); give --weights-gib");
  }
  const double share = static_cast<double>(weights.bytes()) / static_cast<double>(tp);
  const double gib = (share + static_cast<double>(weights.rotary_bytes)) / kGib;
  const char* counted =
      weights.from_file ? " elements in the files, " : " parameters counted from the config, ";
  Estimate estimate = Estimate::given(gib, grouped(weights.parameters()) + counted +
                                               weights.format + ", and a rotary table of " +
                                               gib_text(weights.rotary_bytes, 3) + " GiB");
  add_uncounted(weights, tp, estimate);
  return estimate;
}

void add_uncounted(const ModelWeights& weights, std::int64_t ranks, Estimate& estimate) {
  if (weights.uncounted.empty()) {
    return;
  }
  // Two towers whose size is known (Gemma 3, Mistral Small 3.2) are 55 and 75 % of their bound.
  constexpr double kUsualShare = 0.65;
  const double bound =
      static_cast<double>(weights.uncounted_bytes_max) / static_cast<double>(ranks) / kGib;
  estimate.expected += kUsualShare * bound;
  estimate.high += bound;
  estimate.origin += "; " + weights.uncounted;
}

KvBudget kv_budget(const MemoryBudget& budget) {
  const double share = budget.total_gib * budget.utilization;
  KvBudget result;
  result.low_bytes = gib_to_bytes(share - budget.weights.high - budget.activation.high -
                                  budget.non_torch.high - budget.graph.high);
  result.expected_bytes =
      gib_to_bytes(share - budget.weights.expected - budget.activation.expected -
                   budget.non_torch.expected - budget.graph.expected);
  result.high_bytes = gib_to_bytes(share - budget.weights.low - budget.activation.low -
                                   budget.non_torch.low - budget.graph.low);
  return result;
}

std::int64_t gib_to_bytes(double gib) {
  return std::llround(gib * kGib);
}

}  // namespace octavo::sim
