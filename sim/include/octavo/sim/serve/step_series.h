// How a replica fared over time, in a number of buckets that does not grow with the run.
//
// A step belongs to the bucket of its end. When the run outgrows the buckets, neighbours are merged
// and each bucket becomes twice as wide; sums, minima, maxima and means stay exact, since each is
// kept as what it is made of.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "octavo/sim/serve/serving_observer.h"
#include "octavo/sim/serve/wide.h"

namespace octavo::sim {

/// What is followed of a replica, as steps leave it.
enum class Gauge : std::size_t { Waiting, Running, LiveBlocks, ParkedBlocks, FreeBlocks };
inline constexpr std::size_t kGauges = 5;

/// Of one gauge in one bucket; means are weighted by the steps' durations.
struct GaugeBucket {
  std::int64_t min = 0;
  std::int64_t max = 0;
  Wide weighted = 0;  ///< Sum of value x duration in ns.
};

struct StepBucket {
  std::int64_t steps = 0;    ///< That ended in it; 0: nothing ran, or a step began before and ended
                             ///< behind it.
  std::int64_t busy_ns = 0;  ///< Durations of those steps.
  std::int64_t prefill_tokens = 0;
  std::int64_t decode_tokens = 0;
  std::array<GaugeBucket, kGauges> gauges = {};

  /// The mean of a gauge in thousandths, rounded down; 0 without steps.
  std::int64_t mean_thousandths(Gauge gauge) const;
};

class StepSeries {
 public:
  static constexpr std::size_t kBucketsMax = 512;
  static constexpr std::int64_t kFirstWidthNs = 1'000'000;

  /// Steps come in the order of their ends.
  void add(const ServingStep& step);

  std::int64_t begin_ns() const noexcept { return begin_ns_; }  ///< Of the first bucket.
  std::int64_t width_ns() const noexcept { return width_ns_; }
  /// Up to the last one with a step.
  const std::vector<StepBucket>& buckets() const noexcept { return buckets_; }

 private:
  void widen();

  std::int64_t begin_ns_ = 0;
  std::int64_t width_ns_ = kFirstWidthNs;
  std::vector<StepBucket> buckets_;
};

}  // namespace octavo::sim
