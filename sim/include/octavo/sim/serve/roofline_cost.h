// A step's time from the model, the GPU and what the step works on, without measuring anything.
//
//     step = overhead + linear + head + sum of attention classes + all-reduces
//     linear, head, each class = max(FLOPs / peak, bytes / bandwidth)
//
// Every figure is of one of `tp` ranks, which are alike and run side by side. The equations, the
// defaults with their origin and what is not modelled: sim/COST.md. Plain data and pure functions,
// integers from the figures on: the same figures and shape give the same time in every build.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "octavo/sim/gpu_catalogue.h"
#include "octavo/sim/kv_rows.h"
#include "octavo/sim/model_config.h"
#include "octavo/sim/serve/step_cost.h"

namespace octavo::sim {

/// What the estimate takes as given. Efficiencies are shares of a peak, in (0, 1].
struct RooflineOptions {
  std::int64_t tp = 1;
  KvFormat format = {};                      ///< Of the cached K and V.
  double memory_efficiency = 0.89;           ///< Of the memory bandwidth.
  double compute_efficiency = 0.79;          ///< Of the arithmetic peak, in linear layers.
  double attention_efficiency = 0.5;         ///< Of the bf16 peak, in attention.
  double link_efficiency = 0.75;             ///< Of the link's bandwidth.
  double overhead_us = 500;                  ///< Of every step, whatever it holds.
  double reduce_us = 10;                     ///< Of every all-reduce, beside its bytes.
  std::optional<double> tb_per_s = {};       ///< Memory bandwidth; the catalogue's.
  std::optional<double> tflops = {};         ///< bf16 peak; the catalogue's.
  std::optional<double> link_gb_per_s = {};  ///< One GPU to its peers, one direction.
  std::optional<double> weights_gib = {};    ///< Of the whole model; counted from the config.
};

/// One kind of attention layer; all layers of that kind together, on one rank.
struct AttentionCost {
  std::size_t span = 0;              ///< Which sums of a StepShape it goes by.
  std::int64_t flops_per_pair = 0;   ///< 4 x query heads x head dim x layers.
  std::int64_t bytes_per_token = 0;  ///< K and V, scales included.
};

/// The figures of one rank that a step's time follows from.
struct RooflineFigures {
  std::int64_t memory_bytes_per_s = 0;
  std::int64_t linear_flops_per_s = 0;
  std::int64_t head_flops_per_s = 0;
  std::int64_t attention_flops_per_s = 0;
  std::int64_t link_bytes_per_s = 0;  ///< 0 with one rank.

  std::int64_t linear_bytes = 0;  ///< Weights that every step reads: all but experts and head.
  std::int64_t linear_flops_per_token = 0;  ///< 2 x parameters that a token meets, head aside.
  std::int64_t expert_bytes = 0;            ///< Of all routed experts.
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t head_bytes = 0;
  std::int64_t head_flops_per_row = 0;  ///< 2 x vocabulary x width, for each position sampled.

  std::vector<AttentionCost> attention = {};
  std::vector<std::int64_t> spans = {};  ///< Ascending, full attention (0) first.

  std::int64_t reduces = 0;  ///< All-reduces in a step.
  std::int64_t reduce_bytes_per_token =
      0;  ///< That a rank sends in one of them, 2 (tp - 1) / tp of it.
  std::int64_t reduce_ns = 0;
  std::int64_t overhead_ns = 0;
};

/// Raises InvalidArgument for a tp that does not divide the heads, an option outside its range, a
/// GPU of which bandwidth or peak is neither known nor given, a link that is neither known nor
/// given with tp > 1, weights that the config does not tell, and more than kSpansMax different
/// windows.
RooflineFigures roofline_figures(const ModelConfig& model,
                                 const Gpu& gpu,
                                 const RooflineOptions& options);

/// Where a step's time goes. Each part is rounded up, so that together they may exceed the step by
/// some nanoseconds.
struct StepTimeParts {
  std::int64_t overhead_ns = 0;
  std::int64_t linear_ns = 0;
  std::int64_t head_ns = 0;
  std::int64_t attention_ns = 0;
  std::int64_t reduce_ns = 0;
  bool linear_memory_bound = false;
  friend bool operator==(const StepTimeParts&, const StepTimeParts&) = default;
};

class RooflineCost final : public StepCost {
 public:
  /// Raises InvalidArgument for rates that are not positive or counts that are negative.
  explicit RooflineCost(RooflineFigures figures);

  std::int64_t step_time_ns(const StepShape& shape) const override;
  std::span<const std::int64_t> spans() const noexcept override { return figures_.spans; }

  StepTimeParts parts(const StepShape& shape) const;
  const RooflineFigures& figures() const noexcept { return figures_; }

  /// Bytes of experts' weights that a step of `tokens` tokens reads: each token picks
  /// experts_per_token of them, all alike and apart from the others.
  std::int64_t expert_bytes_read(std::int64_t tokens) const;

 private:
  struct Times;
  Times times(const StepShape& shape) const;

  RooflineFigures figures_;
  // [t] = 2^32 (1 - experts_per_token / experts)^t, until next to nothing is left; never rising.
  std::vector<std::uint32_t> untouched_;
};

/// What one GPU sends to its peers a second, in GB, one direction; none for a GPU that is not in
/// the catalogue.
std::optional<double> link_gb_per_s(const Gpu& gpu);

}  // namespace octavo::sim
