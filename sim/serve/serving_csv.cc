#include <string_view>

#include "octavo/sim/serve/serving_files.h"
#include "text_buffer.h"

namespace octavo::sim {
namespace {

std::string_view name_of(RequestOutcome outcome) {
  switch (outcome) {
    case RequestOutcome::Finished:
      return "finished";
    case RequestOutcome::Cancelled:
      return "cancelled";
    case RequestOutcome::Rejected:
      break;
  }
  return "rejected";
}

void append_unless_negative(std::string& text, std::int64_t value) {
  text += ',';
  if (value >= 0) {
    append(text, value);
  }
}

void append_gauge(std::string& text, const StepBucket& bucket, Gauge gauge) {
  const GaugeBucket& values = bucket.gauges[static_cast<std::size_t>(gauge)];
  text += ',';
  append(text, values.min);
  text += ',';
  append_thousandths(text, bucket.mean_thousandths(gauge));
  text += ',';
  append(text, values.max);
}

}  // namespace

void ObserverGroup::on_arrival(std::int64_t request, int replica, std::int64_t now_ns) {
  for (ServingObserver* observer : observers_) {
    observer->on_arrival(request, replica, now_ns);
  }
}

void ObserverGroup::on_preempted(std::int64_t request, int replica, std::int64_t now_ns) {
  for (ServingObserver* observer : observers_) {
    observer->on_preempted(request, replica, now_ns);
  }
}

void ObserverGroup::on_step(const ServingStep& step) {
  for (ServingObserver* observer : observers_) {
    observer->on_step(step);
  }
}

void ObserverGroup::on_request_end(const ServedRequest& request) {
  for (ServingObserver* observer : observers_) {
    observer->on_request_end(request);
  }
}

RequestCsv::RequestCsv(std::ostream& out) : out_(out), buffer_(kHeader) {}

void RequestCsv::on_request_end(const ServedRequest& r) {
  append(buffer_, r.request);
  buffer_ += ',';
  if (r.session) {
    append(buffer_, *r.session);
  }
  append_unless_negative(buffer_, r.replica);
  buffer_ += ',';
  buffer_ += name_of(r.outcome);
  buffer_ += ',';
  append(buffer_, r.priority);
  append_unless_negative(buffer_, r.arrival_ns);
  append_unless_negative(buffer_, r.scheduled_ns);
  append_unless_negative(buffer_, r.first_token_ns);
  append_unless_negative(buffer_, r.end_ns);
  const bool has_token = r.first_token_ns >= 0;
  append_unless_negative(buffer_, has_token ? r.first_token_ns - r.arrival_ns : -1);
  append_unless_negative(buffer_, has_token && r.output_tokens >= 2
                                      ? (r.end_ns - r.first_token_ns) / (r.output_tokens - 1)
                                      : -1);
  for (const std::int64_t tokens :
       {r.input_tokens, r.output_tokens, r.cached_tokens, r.later_cached_tokens, r.computed_tokens,
        r.recomputed_tokens, r.draft_tokens, r.rejected_draft_tokens,
        std::int64_t{r.preemptions}}) {
    append_unless_negative(buffer_, tokens);
  }
  append_unless_negative(buffer_, r.recorded_cached_tokens);
  buffer_ += '\n';
  flush_when_full(buffer_, out_);
}

void RequestCsv::finish() {
  flush(buffer_, out_);
}

void write_series_csv(std::span<const StepSeries> series, std::ostream& out) {
  std::string text = kSeriesHeader;
  for (std::size_t replica = 0; replica < series.size(); ++replica) {
    const StepSeries& one = series[replica];
    for (std::size_t i = 0; i < one.buckets().size(); ++i) {
      const StepBucket& bucket = one.buckets()[i];
      if (bucket.steps == 0) {
        continue;
      }
      append(text, static_cast<std::int64_t>(replica));
      text += ',';
      append(text, one.begin_ns() + static_cast<std::int64_t>(i) * one.width_ns());
      for (const std::int64_t value : {one.width_ns(), bucket.steps, bucket.busy_ns,
                                       bucket.prefill_tokens, bucket.decode_tokens}) {
        text += ',';
        append(text, value);
      }
      for (const Gauge gauge : {Gauge::Waiting, Gauge::Running, Gauge::LiveBlocks,
                                Gauge::ParkedBlocks, Gauge::FreeBlocks}) {
        append_gauge(text, bucket, gauge);
      }
      text += '\n';
      flush_when_full(text, out);
    }
  }
  flush(text, out);
}

}  // namespace octavo::sim
