#include "pipeline.h"

#include "number_text.h"

namespace octavo::sim {
namespace {

/// The bytes of parts whose name begins so, and of all others.
struct Shares {
  std::int64_t embedding = 0;
  std::int64_t head = 0;
  std::int64_t experts = 0;
  std::int64_t rest = 0;
};

Shares shares_of(const ModelWeights& weights) {
  Shares shares;
  for (const WeightPart& part : weights.parts) {
    if (part.name.starts_with("embedding")) {
      shares.embedding += part.bytes;
    } else if (part.name.starts_with("output head")) {
      shares.head += part.bytes;
    } else if (part.name.starts_with("experts")) {
      shares.experts += part.bytes;
    } else {
      shares.rest += part.bytes;
    }
  }
  return shares;
}

}  // namespace

std::vector<PipelineStage> pipeline_stages(const PlanRequest& request) {
  const auto layers = static_cast<std::int64_t>(request.model.layers.size());
  const std::int64_t pp = request.pp;
  std::vector<PipelineStage> stages;
  std::size_t first = 0;
  for (std::int64_t i = 0; i < pp; ++i) {
    const bool one_more = pp - 1 - i >= 1 && pp - 1 - i <= layers % pp;
    const std::int64_t count = layers / pp + (one_more ? 1 : 0);
    const std::size_t last = first + static_cast<std::size_t>(count);
    stages.push_back({i, first, last, i == pp - 1});
    first = last;
  }
  return stages;
}

Estimate stage_weights(const PlanRequest& request, const PipelineStage& stage) {
  const double ranks = static_cast<double>(request.tp);
  const double share = static_cast<double>(stage.last - stage.first) /
                       static_cast<double>(request.model.layers.size());
  if (request.weights_gib) {
    return Estimate::given(*request.weights_gib * share / ranks);
  }
  if (request.pp == 1 && request.dp == 1) {
    return estimate_weights(request.model, request.tp);
  }
  Estimate whole = estimate_weights(request.model, 1);  // raises when they are not known
  const ModelWeights& weights = request.model.weights;
  const Shares bytes = shares_of(weights);
  // Experts are divided over the replicas of the attention too, by tensor or expert parallelism.
  const double layers_bytes =
      (static_cast<double>(bytes.rest) +
       static_cast<double>(bytes.experts) / static_cast<double>(request.dp)) *
      share;
  double ends = stage.index == 0 ? static_cast<double>(bytes.embedding) : 0;
  if (stage.is_last) {
    const bool tied_copy = bytes.head == 0 && request.pp > 1;
    ends += static_cast<double>(tied_copy ? bytes.embedding : bytes.head);
  }
  const double gib =
      ((layers_bytes + ends) / ranks + static_cast<double>(weights.rotary_bytes)) / kGib;
  Estimate estimate =
      Estimate::given(gib, whole.origin + "; of it the " +
                               grouped(static_cast<std::int64_t>(stage.last - stage.first)) +
                               " layers of stage " + grouped(stage.index) +
                               ", experts divided over " + grouped(request.dp) + " replicas");
  if (stage.index == 0) {
    add_uncounted(weights, request.tp, estimate);
  }
  return estimate;
}

}  // namespace octavo::sim
