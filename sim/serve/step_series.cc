#include "octavo/sim/serve/step_series.h"

#include <algorithm>

namespace octavo::sim {
namespace {

std::array<std::int64_t, kGauges> gauges_of(const ServingStep& step) {
  return {step.waiting_requests, step.running_requests, step.live_blocks, step.parked_blocks,
          step.free_blocks};
}

void merge(StepBucket& into, const StepBucket& from) {
  if (from.steps == 0) {
    return;
  }
  for (std::size_t i = 0; i < kGauges; ++i) {
    GaugeBucket& gauge = into.gauges[i];
    const GaugeBucket& other = from.gauges[i];
    gauge.min = into.steps == 0 ? other.min : std::min(gauge.min, other.min);
    gauge.max = into.steps == 0 ? other.max : std::max(gauge.max, other.max);
    gauge.weighted += other.weighted;
  }
  into.steps += from.steps;
  into.busy_ns += from.busy_ns;
  into.prefill_tokens += from.prefill_tokens;
  into.decode_tokens += from.decode_tokens;
}

}  // namespace

std::int64_t StepBucket::mean_thousandths(Gauge gauge) const {
  const Wide weighted = gauges[static_cast<std::size_t>(gauge)].weighted;
  return busy_ns == 0 ? 0 : clamped(weighted * 1000 / wide(busy_ns));
}

void StepSeries::widen() {
  for (std::size_t i = 0; 2 * i < buckets_.size(); ++i) {
    StepBucket merged = buckets_[2 * i];
    if (2 * i + 1 < buckets_.size()) {
      merge(merged, buckets_[2 * i + 1]);
    }
    buckets_[i] = merged;
  }
  buckets_.resize((buckets_.size() + 1) / 2);
  width_ns_ *= 2;
}

void StepSeries::add(const ServingStep& step) {
  if (buckets_.empty()) {
    begin_ns_ = step.begin_ns;
    buckets_.reserve(kBucketsMax);
  }
  constexpr auto kMax = static_cast<std::int64_t>(kBucketsMax);
  while ((step.end_ns - begin_ns_) / width_ns_ >= kMax) {
    widen();
  }
  const auto place = static_cast<std::size_t>((step.end_ns - begin_ns_) / width_ns_);
  if (place >= buckets_.size()) {
    buckets_.resize(place + 1);
  }
  StepBucket one;
  one.steps = 1;
  one.busy_ns = step.end_ns - step.begin_ns;
  one.prefill_tokens = step.shape.prefill_tokens;
  one.decode_tokens = step.shape.decode_tokens;
  const auto values = gauges_of(step);
  for (std::size_t i = 0; i < kGauges; ++i) {
    one.gauges[i] = {values[i], values[i], wide(values[i]) * wide(one.busy_ns)};
  }
  merge(buckets_[place], one);
}

}  // namespace octavo::sim
