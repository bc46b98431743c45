// When the sessions of a generated workload begin, in integer nanoseconds.
//
// All three processes are exact up to the resolution of 2^-32 means, in integer arithmetic alone;
// traces/FORMAT.md says what they are. A value type, driven from one thread.
#pragma once

#include <cstdint>

#include "octavo/sim/rng.h"
#include "octavo/sim/trace_sessions.h"

namespace octavo::sim {

/// A number of 2^-32 units from the Gamma distribution of shape `numerator / denominator` and
/// scale 1. numerator in [1, 2^20], denominator in [1, 100].
std::uint64_t gamma_unit(Rng& rng, std::uint64_t numerator, std::uint64_t denominator);

/// How far the rate of a diurnal process lies from its mean at `time_ns` >= 0: from -2^32 (least,
/// at the beginning of a day) through 0 (a quarter of the day later) to 2^32 (at half of it), along
/// parabolas; the mean over a day is 0.
std::int64_t day_swing(std::int64_t time_ns, std::int64_t day_ns);

class SessionArrivals {
 public:
  /// `options` must be in their ranges.
  SessionArrivals(const ArrivalOptions& options, const Rng& rng);

  /// The next arrival; they never go back. Raises ResourceExhausted when times outgrow 2^62 ns.
  std::int64_t next_ns();

 private:
  // `units` (of 2^-32 mean gaps) as nanoseconds.
  std::uint64_t gap_ns(std::uint64_t units) const;

  ArrivalOptions options_;
  Rng rng_;
  std::uint64_t shape_numerator_ = 1;
  std::uint64_t shape_denominator_ = 1;
  std::int64_t now_ns_ = 0;
};

}  // namespace octavo::sim
