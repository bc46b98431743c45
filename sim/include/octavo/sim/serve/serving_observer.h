// What a serving simulation tells those who watch it: metrics, timelines, checks.
//
// Called inside the simulation, in the order of simulated time, on its thread. An observer must not
// call back into the simulation. Nothing is kept for finished requests by the simulation itself.
//
// At the end of a step come the ends of its requests, in the order of the batch, and then the step.
// Requests of a warm start are not told of.
#pragma once

#include <cstdint>
#include <optional>

#include "octavo/sim/serve/step_cost.h"

namespace octavo::sim {

enum class RequestOutcome { Finished, Cancelled, Rejected };

/// A request at its end. Times are absolute; -1 where the moment never came.
struct ServedRequest {
  std::int64_t request = 0;  ///< Its place in the trace, from 0.
  std::optional<std::uint64_t> session{};
  int replica = -1;  ///< -1 when it was rejected.
  RequestOutcome outcome = RequestOutcome::Finished;
  std::int64_t arrival_ns = 0;
  std::int64_t scheduled_ns = -1;  ///< Its first token was computed in a step that began here.
  std::int64_t first_token_ns = -1;
  std::int64_t end_ns = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;  ///< Generated, not asked for.
  // Of the positions of its sequence, each counted when it was first there: served by the first
  // admission, served by a later one, computed. Together they are what it held at most; a finished
  // request held input_tokens + output_tokens - 1 (nothing follows the last token), or
  // input_tokens without output.
  std::int64_t cached_tokens = 0;
  std::int64_t later_cached_tokens = 0;
  std::int64_t computed_tokens = 0;
  std::int64_t recomputed_tokens = 0;      ///< Computed again after preemptions.
  std::int64_t draft_tokens = 0;           ///< Proposed by speculation.
  std::int64_t rejected_draft_tokens = 0;  ///< Of those; their K/V was written and given up.
  std::int32_t preemptions = 0;
  std::int64_t priority = 0;
  /// What the recorded engine had served from its cache; -1 when the trace does not say.
  std::int64_t recorded_cached_tokens = -1;
};

/// One step of one replica, when it ends. What waits, runs and lies in blocks is as the step leaves
/// it, its requests' ends included.
struct ServingStep {
  int replica = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  StepShape shape = {};
  std::int64_t waiting_requests = 0;
  std::int64_t running_requests = 0;
  std::int64_t live_blocks = 0;    ///< Held by requests.
  std::int64_t parked_blocks = 0;  ///< Held by nobody, servable.
  std::int64_t free_blocks = 0;    ///< Holding nothing; the three add up to the pool.
};

class ServingObserver {
 public:
  virtual ~ServingObserver() = default;
  /// `replica` is -1 for a request that is rejected at once.
  virtual void on_arrival(std::int64_t /*request*/, int /*replica*/, std::int64_t /*now_ns*/) {}
  virtual void on_preempted(std::int64_t /*request*/, int /*replica*/, std::int64_t /*now_ns*/) {}
  virtual void on_step(const ServingStep& /*step*/) {}
  virtual void on_request_end(const ServedRequest& /*request*/) {}
};

}  // namespace octavo::sim
