// What a serving simulation tells those who watch it: metrics, timelines, checks.
//
// Called inside the simulation, in the order of simulated time, on its thread. An observer must not
// call back into the simulation. Nothing is kept for finished requests by the simulation itself.
#pragma once

#include <cstdint>

#include "octavo/sim/serve/step_cost.h"

namespace octavo::sim {

enum class RequestOutcome { Finished, Cancelled, Rejected };

/// A request at its end. Times are absolute; -1 where the moment never came.
struct ServedRequest {
  std::int64_t request = 0;  ///< Its place in the trace, from 0.
  std::int64_t session = -1;
  int replica = -1;
  RequestOutcome outcome = RequestOutcome::Finished;
  std::int64_t arrival_ns = 0;
  std::int64_t scheduled_ns = -1;  ///< Its first token was computed in a step that began here.
  std::int64_t first_token_ns = -1;
  std::int64_t end_ns = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;      ///< Generated, not asked for.
  std::int64_t cached_tokens = 0;      ///< Served by its first admission.
  std::int64_t recomputed_tokens = 0;  ///< Computed again after preemptions.
  std::int32_t preemptions = 0;
  /// What the recorded engine had served from its cache; -1 when the trace does not say.
  std::int64_t recorded_cached_tokens = -1;
};

/// One step of one replica, when it ends.
struct ServingStep {
  int replica = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  StepShape shape = {};
  std::int64_t waiting_requests = 0;
  std::int64_t running_requests = 0;
  std::int64_t live_blocks = 0;
  std::int64_t parked_blocks = 0;
  std::int64_t free_blocks = 0;
};

class ServingObserver {
 public:
  virtual ~ServingObserver() = default;
  virtual void on_arrival(std::int64_t /*request*/, int /*replica*/, std::int64_t /*now_ns*/) {}
  virtual void on_preempted(std::int64_t /*request*/, int /*replica*/, std::int64_t /*now_ns*/) {}
  virtual void on_step(const ServingStep& /*step*/) {}
  virtual void on_request_end(const ServedRequest& /*request*/) {}
};

}  // namespace octavo::sim
