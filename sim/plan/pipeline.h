// How pipeline parallelism divides the layers and the weights of a model.
#pragma once

#include <cstddef>
#include <vector>

#include "octavo/sim/capacity.h"

namespace octavo::sim {

/// The layers [first, last) of the model; the first stage has the embedding, the last the head.
struct PipelineStage {
  std::int64_t index = 0;
  std::size_t first = 0;
  std::size_t last = 0;
  bool is_last = false;
};

/// request.pp stages. As vLLM divides: evenly, and what is left over goes one layer each to the
/// stages before the last, from the back.
std::vector<PipelineStage> pipeline_stages(const PlanRequest& request);

/// The weights of one rank of the stage. Raises InvalidArgument when they are neither known nor
/// given.
Estimate stage_weights(const PlanRequest& request, const PipelineStage& stage);

}  // namespace octavo::sim
