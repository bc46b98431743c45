// A histogram of times whose memory does not depend on how many there are.
//
// Count, mean, minimum and maximum are exact. Below 2048 every value has a bucket of its own; from
// there each octave [2^k, 2^(k+1)) has 1024 buckets of one width, and a percentile is the middle of
// its bucket: off by at most 1/2048 of the value (0.049 %). 55,296 buckets of 8 bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "octavo/sim/serve/wide.h"

namespace octavo::sim {

class LogHistogram {
 public:
  LogHistogram() : counts_(kBuckets, 0) {}

  /// `value` >= 0, `times` >= 0.
  void add(std::int64_t value, std::int64_t times = 1);

  std::int64_t count() const noexcept { return count_; }
  std::int64_t mean() const noexcept;  ///< Rounded down; 0 of nothing, as the next two.
  std::int64_t min() const noexcept { return count_ > 0 ? min_ : 0; }
  std::int64_t max() const noexcept { return max_; }

  /// The smallest value that at least `permille` of a thousand do not exceed, in [1, 1000]; within
  /// [min, max] and within 1/2048 of the exact one. O(buckets).
  std::int64_t percentile(int permille) const noexcept;

 private:
  static constexpr int kSubBits = 10;
  static constexpr std::size_t kBuckets = (63 - kSubBits + 1) << kSubBits;

  static std::size_t bucket_of(std::int64_t value) noexcept;
  static std::int64_t middle_of(std::size_t bucket) noexcept;

  std::vector<std::int64_t> counts_;
  std::int64_t count_ = 0;
  Wide sum_ = 0;
  std::int64_t min_ = 0;
  std::int64_t max_ = 0;
};

/// What is said of a distribution; times in nanoseconds.
struct TimeSummary {
  std::int64_t count = 0;
  std::int64_t mean_ns = 0;
  std::int64_t min_ns = 0;
  std::int64_t p50_ns = 0;
  std::int64_t p90_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t max_ns = 0;
  friend bool operator==(const TimeSummary&, const TimeSummary&) = default;
};
TimeSummary summary_of(const LogHistogram& histogram);

}  // namespace octavo::sim
