// The discrete-event simulation of a serving engine: requests of a trace arrive, are routed to
// replicas, batched step by step, and leave. Each replica drives a production BlockManager with
// tokens made from the trace's ids, so hits, evictions and exhaustion are not modelled but happen.
//
// Time is integer nanoseconds; one thread; the same trace, config and costs give the same events in
// every build. Memory grows with the pools, the requests alive and read ahead, and by a few words a
// session; not with the requests that have ended. Model and rules: sim/SERVING.md.
#pragma once

#include <cstdint>
#include <vector>

#include "octavo/kv_stats.h"
#include "octavo/sim/serve/serving_config.h"
#include "octavo/sim/serve/serving_observer.h"
#include "octavo/sim/serve/step_cost.h"
#include "octavo/sim/trace.h"

namespace octavo::sim {

/// Sums over the requests that were not of the warm start.
///
/// Conserved: arrived = finished + cancelled + rejected, and for the positions of sequences
/// cached_tokens + later_cached_tokens + computed_tokens = what all requests ever held at once.
struct ServingCounters {
  std::int64_t arrived = 0;
  std::int64_t finished = 0;
  std::int64_t cancelled = 0;
  std::int64_t rejected = 0;       ///< Could never fit the pool or max_model_len.
  std::int64_t late_arrivals = 0;  ///< Read too late to arrive when they should have.
  std::int64_t preemptions = 0;
  std::int64_t steps = 0;
  std::int64_t input_tokens = 0;           ///< Of all that arrived.
  std::int64_t output_tokens = 0;          ///< Generated.
  std::int64_t cached_tokens = 0;          ///< Served by first admissions.
  std::int64_t later_cached_tokens = 0;    ///< Served by later ones beyond what had been held.
  std::int64_t computed_tokens = 0;        ///< Positions computed for the first time.
  std::int64_t recomputed_tokens = 0;      ///< Computed again after preemptions.
  std::int64_t draft_tokens = 0;           ///< Proposed by speculation.
  std::int64_t rejected_draft_tokens = 0;  ///< Of those.
};

struct ServingReplica {
  std::int64_t steps = 0;
  std::int64_t busy_ns = 0;
  std::int64_t requests = 0;  ///< Routed to it.
  BlockManagerStats blocks = {};
  std::int64_t free_blocks = 0;    ///< At the end, parked ones included.
  std::int64_t parked_blocks = 0;  ///< At the end.
  std::uint64_t block_digest = 0;  ///< BlockManager::digest at the end.
};

struct ServingResult {
  ServingCounters counters = {};
  std::int64_t warm_requests = 0;
  std::int64_t begin_ns = 0;  ///< The first arrival; 0 without one.
  std::int64_t end_ns = 0;    ///< The last event.
  std::vector<ServingReplica> replicas{};
  std::int64_t requests_alive_max = 0;  ///< Arrived and not ended, at once.
  std::uint64_t digest = 0;             ///< A hash over everything an observer was told.
  std::uint64_t final_draw = 0;         ///< Of all random generators together, drawn after the end.
};

/// Runs the trace to its end. `observer` may be null. Raises InvalidArgument for a config out of
/// range (and what BlockManager raises for its part), InputError for what is wrong with the trace.
ServingResult simulate(TraceReader& trace,
                       const ServingConfig& config,
                       const StepCost& cost,
                       ServingObserver* observer = nullptr);

}  // namespace octavo::sim
