// The figures of a serving simulation: latencies, throughput, goodput, hit rate, load over time.
//
// An observer. Its memory does not depend on how many requests have ended.
//
// Latencies are those of finished requests. TTFT is from the arrival to the first token, TPOT the
// time from the first token to the last by the tokens after the first (requests of two tokens and
// more), ITL the duration of a step for each sequence that generates in it, "queued" the time from
// the arrival to the first step, end-to-end from the arrival to the end. Tokens are those of
// finished and cancelled requests; rejected ones count as rejected and in nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "octavo/sim/serve/log_histogram.h"
#include "octavo/sim/serve/serving_observer.h"
#include "octavo/sim/serve/step_series.h"

namespace octavo::sim {

/// What a request must meet to count as good. A limit that is not set is met. A request of one
/// token has no time per token and meets that limit.
struct ServiceLimits {
  std::optional<std::int64_t> ttft_ns = {};
  std::optional<std::int64_t> tpot_ns = {};
};

struct ServingSummary {
  std::int64_t finished_requests = 0;
  std::int64_t cancelled_requests = 0;
  std::int64_t rejected_requests = 0;
  std::int64_t good_requests = 0;  ///< Finished, and within the limits.
  std::int64_t begin_ns = 0;       ///< The first arrival.
  std::int64_t end_ns = 0;         ///< The last end of a request.
  std::int64_t input_tokens = 0;   ///< Of requests that were scheduled.
  std::int64_t cached_tokens = 0;  ///< Of those, served by first admissions.
  std::int64_t output_tokens = 0;
  std::int64_t recomputed_tokens = 0;
  std::int64_t draft_tokens = 0;
  std::int64_t rejected_draft_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t steps = 0;
  std::int64_t busy_ns = 0;  ///< Durations of all steps of all replicas.
  TimeSummary ttft = {};
  TimeSummary tpot = {};
  TimeSummary itl = {};
  TimeSummary end_to_end = {};
  TimeSummary queued = {};

  double seconds() const;                          ///< From the first arrival to the last end.
  double per_second(std::int64_t of) const;        ///< `of` by the seconds; 0 in no time.
  double hit_rate() const;                         ///< Cached by input tokens; 0 of none.
  double busy_share(std::int64_t replicas) const;  ///< Of the replicas' time, in steps.
};

class ServingMetrics final : public ServingObserver {
 public:
  explicit ServingMetrics(const ServiceLimits& limits = {}) : limits_(limits) {}

  void on_arrival(std::int64_t request, int replica, std::int64_t now_ns) override;
  void on_step(const ServingStep& step) override;
  void on_request_end(const ServedRequest& request) override;

  ServingSummary summary() const;
  /// One for each replica up to the last that made a step.
  const std::vector<StepSeries>& series() const noexcept { return series_; }

 private:
  bool is_good(const ServedRequest& request) const;

  ServiceLimits limits_;
  ServingSummary sums_;  // The distributions are filled in by summary().
  bool any_arrival_ = false;
  LogHistogram ttft_;
  LogHistogram tpot_;
  LogHistogram itl_;
  LogHistogram end_to_end_;
  LogHistogram queued_;
  std::vector<StepSeries> series_;
};

}  // namespace octavo::sim
