#include "octavo/sim/serve/log_histogram.h"

#include <algorithm>
#include <bit>

namespace octavo::sim {

std::size_t LogHistogram::bucket_of(std::int64_t value) noexcept {
  const auto bits = static_cast<std::uint64_t>(value);
  const auto width = static_cast<int>(std::bit_width(bits));
  if (width <= kSubBits + 1) {
    return static_cast<std::size_t>(bits);
  }
  const int shift = width - kSubBits - 1;
  return (static_cast<std::size_t>(shift) << kSubBits) + static_cast<std::size_t>(bits >> shift);
}

std::int64_t LogHistogram::middle_of(std::size_t bucket) noexcept {
  if (bucket < std::size_t{2} << kSubBits) {
    return static_cast<std::int64_t>(bucket);
  }
  const auto shift = static_cast<int>(bucket >> kSubBits) - 1;
  const std::size_t leading = bucket - (static_cast<std::size_t>(shift) << kSubBits);
  return static_cast<std::int64_t>((leading << shift) + (std::size_t{1} << (shift - 1)));
}

void LogHistogram::add(std::int64_t value, std::int64_t times) {
  if (times == 0) {
    return;
  }
  counts_[bucket_of(value)] += times;
  sum_ += wide(value) * wide(times);
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  count_ += times;
}

std::int64_t LogHistogram::mean() const noexcept {
  return count_ == 0 ? 0 : clamped(sum_ / wide(count_));
}

std::int64_t LogHistogram::percentile(int permille) const noexcept {
  if (count_ == 0) {
    return 0;
  }
  const Wide rank = (wide(count_) * wide(permille) + 999) / 1000;
  if (rank == wide(count_)) {
    return max_;
  }
  Wide seen = 0;
  for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    seen += wide(counts_[bucket]);
    if (seen >= rank) {
      return std::clamp(middle_of(bucket), min_, max_);
    }
  }
  return max_;
}

TimeSummary summary_of(const LogHistogram& histogram) {
  return {.count = histogram.count(),
          .mean_ns = histogram.mean(),
          .min_ns = histogram.min(),
          .p50_ns = histogram.percentile(500),
          .p90_ns = histogram.percentile(900),
          .p99_ns = histogram.percentile(990),
          .max_ns = histogram.max()};
}

}  // namespace octavo::sim
