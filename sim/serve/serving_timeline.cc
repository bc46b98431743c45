#include <initializer_list>
#include <string_view>
#include <utility>

#include "octavo/sim/serve/serving_files.h"
#include "text_buffer.h"

namespace octavo::sim {
namespace {

constexpr std::string_view kThread = ",\"tid\":1";

void append_field(std::string& text, std::string_view name, std::int64_t value, bool first) {
  text += first ? "\"" : ",\"";
  text += name;
  text += "\":";
  append(text, value);
}

void append_arguments(std::string& text,
                      std::initializer_list<std::pair<std::string_view, std::int64_t>> fields) {
  text += ",\"args\":{";
  bool first = true;
  for (const auto& [name, value] : fields) {
    append_field(text, name, value, first);
    first = false;
  }
  text += '}';
}

/// What ties the events of one request together.
void append_identity(std::string& text, const ServedRequest& request) {
  text += ",\"cat\":\"request\",\"id\":\"";
  append(text, request.request);
  text += '"';
}

std::string_view name_of(const StepShape& shape) {
  if (shape.decode_sequences == 0) {
    return "prefill";
  }
  return shape.prefill_sequences == 0 ? "decode" : "mixed";
}

}  // namespace

TimelineWriter::TimelineWriter(std::ostream& out, int replicas)
    : out_(out), buffer_("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[") {
  for (int replica = 0; replica < replicas; ++replica) {
    begin_event('M', "process_name", replica, 0);
    buffer_ += ",\"args\":{\"name\":\"replica ";
    append(buffer_, std::int64_t{replica});
    buffer_ += "\"}";
    end_event();
    begin_event('M', "thread_name", replica, 0);
    buffer_ += kThread;
    buffer_ += ",\"args\":{\"name\":\"steps\"}";
    end_event();
  }
}

void TimelineWriter::begin_event(char phase,
                                 std::string_view name,
                                 int replica,
                                 std::int64_t time_ns) {
  buffer_ += any_event_ ? ",\n{\"ph\":\"" : "\n{\"ph\":\"";
  any_event_ = true;
  buffer_ += phase;
  buffer_ += "\",\"name\":\"";
  buffer_ += name;
  buffer_ += "\",\"pid\":";
  append(buffer_, std::int64_t{replica} + 1);
  buffer_ += ",\"ts\":";
  append_thousandths(buffer_, time_ns);
}

void TimelineWriter::end_event() {
  buffer_ += '}';
  flush_when_full(buffer_, out_);
}

void TimelineWriter::on_preempted(std::int64_t request, int replica, std::int64_t now_ns) {
  begin_event('i', "preempted", replica, now_ns);
  buffer_ += kThread;
  buffer_ += ",\"s\":\"t\"";
  append_arguments(buffer_, {{"request", request}});
  end_event();
}

void TimelineWriter::on_step(const ServingStep& step) {
  begin_event('X', name_of(step.shape), step.replica, step.begin_ns);
  buffer_ += kThread;
  buffer_ += ",\"dur\":";
  append_thousandths(buffer_, step.end_ns - step.begin_ns);
  append_arguments(buffer_, {{"prefill_sequences", step.shape.prefill_sequences},
                             {"prefill_tokens", step.shape.prefill_tokens},
                             {"decode_sequences", step.shape.decode_sequences},
                             {"decode_tokens", step.shape.decode_tokens},
                             {"read_tokens", step.shape.read_tokens[0]}});
  end_event();
  begin_event('C', "blocks", step.replica, step.end_ns);
  append_arguments(
      buffer_,
      {{"live", step.live_blocks}, {"parked", step.parked_blocks}, {"free", step.free_blocks}});
  end_event();
  begin_event('C', "requests", step.replica, step.end_ns);
  append_arguments(buffer_,
                   {{"waiting", step.waiting_requests}, {"running", step.running_requests}});
  end_event();
}

void TimelineWriter::span(const ServedRequest& request,
                          std::string_view name,
                          std::int64_t begin_ns,
                          std::int64_t end_ns) {
  begin_event('b', name, request.replica, begin_ns);
  append_identity(buffer_, request);
  end_event();
  begin_event('e', name, request.replica, end_ns);
  append_identity(buffer_, request);
  end_event();
}

void TimelineWriter::on_request_end(const ServedRequest& r) {
  if (r.outcome == RequestOutcome::Rejected) {
    begin_event('i', "rejected", r.replica, r.end_ns);
    buffer_ += ",\"s\":\"g\"";
    append_arguments(buffer_, {{"request", r.request}, {"input_tokens", r.input_tokens}});
    end_event();
    return;
  }
  begin_event('b', "request", r.replica, r.arrival_ns);
  append_identity(buffer_, r);
  append_arguments(buffer_, {{"input_tokens", r.input_tokens},
                             {"output_tokens", r.output_tokens},
                             {"cached_tokens", r.cached_tokens},
                             {"preemptions", r.preemptions}});
  end_event();
  const std::int64_t scheduled = r.scheduled_ns >= 0 ? r.scheduled_ns : r.end_ns;
  span(r, "waiting", r.arrival_ns, scheduled);
  if (r.scheduled_ns >= 0) {
    const std::int64_t first_token = r.first_token_ns >= 0 ? r.first_token_ns : r.end_ns;
    span(r, "prefill", scheduled, first_token);
    if (r.first_token_ns >= 0) {
      span(r, "generation", first_token, r.end_ns);
    }
  }
  begin_event('e', "request", r.replica, r.end_ns);
  append_identity(buffer_, r);
  if (r.outcome == RequestOutcome::Cancelled) {
    append_arguments(buffer_, {{"cancelled", 1}});
  }
  end_event();
}

void TimelineWriter::finish() {
  buffer_ += "\n]}\n";
  flush(buffer_, out_);
}

}  // namespace octavo::sim
