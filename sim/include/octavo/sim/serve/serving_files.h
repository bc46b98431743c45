// What a serving simulation writes while it runs: a row a request, a timeline, load over time.
//
// The writers are observers that stream to a caller's ostream through a buffer; they keep nothing
// of what they have written. finish() writes what is left; the caller looks at the stream's state.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "octavo/sim/serve/serving_observer.h"
#include "octavo/sim/serve/step_series.h"

namespace octavo::sim {

/// Hands everything on to several observers, in their order.
class ObserverGroup final : public ServingObserver {
 public:
  /// Not owned; must outlive the group.
  void add(ServingObserver& observer) { observers_.push_back(&observer); }

  void on_arrival(std::int64_t request, int replica, std::int64_t now_ns) override;
  void on_preempted(std::int64_t request, int replica, std::int64_t now_ns) override;
  void on_step(const ServingStep& step) override;
  void on_request_end(const ServedRequest& request) override;

 private:
  std::vector<ServingObserver*> observers_;
};

/// CSV with a header, one row a request in the order of their ends: see RequestCsv::kHeader. Fields
/// that never came to be (a time, a session, the recorded hits) are empty.
class RequestCsv final : public ServingObserver {
 public:
  static constexpr char kHeader[] =
      "request,session,replica,outcome,priority,arrival_ns,scheduled_ns,first_token_ns,end_ns,"
      "ttft_ns,tpot_ns,input_tokens,output_tokens,cached_tokens,later_cached_tokens,"
      "computed_tokens,recomputed_tokens,draft_tokens,rejected_draft_tokens,preemptions,"
      "recorded_cached_tokens\n";

  explicit RequestCsv(std::ostream& out);
  void on_request_end(const ServedRequest& request) override;
  void finish();

 private:
  std::ostream& out_;
  std::string buffer_;
};

/// Chrome trace-event JSON, which ui.perfetto.dev and chrome://tracing open. A replica is a
/// process: its steps are complete events with what they held, its requests async spans (waiting,
/// prefill, generation inside), its blocks and its queue counters, preemptions instants. Timestamps
/// are microseconds with three decimals, so that no nanosecond is lost. Requests are written when
/// they end, so that the file is not in order of time.
class TimelineWriter final : public ServingObserver {
 public:
  TimelineWriter(std::ostream& out, int replicas);
  void on_preempted(std::int64_t request, int replica, std::int64_t now_ns) override;
  void on_step(const ServingStep& step) override;
  void on_request_end(const ServedRequest& request) override;
  /// Closes the JSON; nothing may follow.
  void finish();

 private:
  void begin_event(char phase, std::string_view name, int replica, std::int64_t time_ns);
  void span(const ServedRequest& request,
            std::string_view name,
            std::int64_t begin_ns,
            std::int64_t end_ns);
  void end_event();

  std::ostream& out_;
  std::string buffer_;
  bool any_event_ = false;
};

/// CSV with a header: a row for each replica and bucket with steps, see kSeriesHeader.
inline constexpr char kSeriesHeader[] =
    "replica,begin_ns,width_ns,steps,busy_ns,prefill_tokens,decode_tokens,"
    "waiting_min,waiting_mean,waiting_max,running_min,running_mean,running_max,"
    "live_blocks_min,live_blocks_mean,live_blocks_max,"
    "parked_blocks_min,parked_blocks_mean,parked_blocks_max,"
    "free_blocks_min,free_blocks_mean,free_blocks_max\n";
void write_series_csv(std::span<const StepSeries> series, std::ostream& out);

}  // namespace octavo::sim
