// A trace whose requests come faster, slower, or as a Poisson process in place of when they came.
#pragma once

#include <cstdint>
#include <memory>

#include "octavo/sim/trace.h"

namespace octavo::sim {

struct ArrivalPace {
  /// Arrivals come this many millionths as fast; 1,000,000: as recorded. [1, 2^40].
  std::int64_t speed_millionths = 1'000'000;
  /// When positive, arrivals are a Poisson process of this mean distance in the order of the trace,
  /// and the recorded ones are not looked at. [0, 2^53].
  std::int64_t poisson_mean_ns = 0;
  std::uint64_t seed = 1;
};

/// Reads from `trace`, which must outlive the reader; everything but arrival_ns stays, delays
/// included. Raises InvalidArgument for an option outside its range.
std::unique_ptr<TraceReader> with_arrivals(TraceReader& trace, const ArrivalPace& options);

}  // namespace octavo::sim
