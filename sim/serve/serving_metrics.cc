#include "octavo/sim/serve/serving_metrics.h"

#include <algorithm>

namespace octavo::sim {

double ServingSummary::seconds() const {
  return static_cast<double>(end_ns - begin_ns) / 1e9;
}

double ServingSummary::per_second(std::int64_t of) const {
  return end_ns > begin_ns ? static_cast<double>(of) / seconds() : 0;
}

double ServingSummary::hit_rate() const {
  return input_tokens > 0 ? static_cast<double>(cached_tokens) / static_cast<double>(input_tokens)
                          : 0;
}

double ServingSummary::busy_share(std::int64_t replicas) const {
  const double time = static_cast<double>(end_ns - begin_ns) * static_cast<double>(replicas);
  return time > 0 ? static_cast<double>(busy_ns) / time : 0;
}

void ServingMetrics::on_arrival(std::int64_t /*request*/, int /*replica*/, std::int64_t now_ns) {
  if (!any_arrival_) {
    any_arrival_ = true;
    sums_.begin_ns = now_ns;
    sums_.end_ns = now_ns;
  }
}

void ServingMetrics::on_step(const ServingStep& step) {
  const auto replica = static_cast<std::size_t>(step.replica);
  if (replica >= series_.size()) {
    series_.resize(replica + 1);
  }
  series_[replica].add(step);
  ++sums_.steps;
  sums_.busy_ns += step.end_ns - step.begin_ns;
  itl_.add(step.end_ns - step.begin_ns, step.shape.decode_sequences);
}

bool ServingMetrics::is_good(const ServedRequest& request) const {
  if (limits_.ttft_ns && request.first_token_ns - request.arrival_ns > *limits_.ttft_ns) {
    return false;
  }
  if (!limits_.tpot_ns || request.output_tokens < 2) {
    return true;
  }
  const Wide allowed = wide(*limits_.tpot_ns) * wide(request.output_tokens - 1);
  return wide(request.end_ns - request.first_token_ns) <= allowed;
}

void ServingMetrics::on_request_end(const ServedRequest& request) {
  sums_.end_ns = std::max(sums_.end_ns, request.end_ns);
  if (request.outcome == RequestOutcome::Rejected) {
    ++sums_.rejected_requests;
    return;
  }
  if (request.scheduled_ns >= 0) {
    sums_.input_tokens += request.input_tokens;
    sums_.cached_tokens += request.cached_tokens;
  }
  sums_.output_tokens += request.output_tokens;
  sums_.recomputed_tokens += request.recomputed_tokens;
  sums_.draft_tokens += request.draft_tokens;
  sums_.rejected_draft_tokens += request.rejected_draft_tokens;
  sums_.preemptions += request.preemptions;
  if (request.outcome == RequestOutcome::Cancelled) {
    ++sums_.cancelled_requests;
    return;
  }
  ++sums_.finished_requests;
  sums_.good_requests += is_good(request) ? 1 : 0;
  end_to_end_.add(request.end_ns - request.arrival_ns);
  if (request.scheduled_ns >= 0) {
    queued_.add(request.scheduled_ns - request.arrival_ns);
  }
  if (request.first_token_ns >= 0) {
    ttft_.add(request.first_token_ns - request.arrival_ns);
    if (request.output_tokens >= 2) {
      tpot_.add((request.end_ns - request.first_token_ns) / (request.output_tokens - 1));
    }
  }
}

ServingSummary ServingMetrics::summary() const {
  ServingSummary summary = sums_;
  summary.ttft = summary_of(ttft_);
  summary.tpot = summary_of(tpot_);
  summary.itl = summary_of(itl_);
  summary.end_to_end = summary_of(end_to_end_);
  summary.queued = summary_of(queued_);
  return summary;
}

}  // namespace octavo::sim
