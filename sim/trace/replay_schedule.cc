#include "replay_schedule.h"

#include <algorithm>

#include "trace_fields.h"

namespace octavo::sim {

void ReplayRow::clear() {
  timestamp_ns.reset();
  delay_ns.reset();
  tool_wait_ns = 0;
  has_session = false;
  has_request_id = false;
  waits = 0;
}

void ReplayRow::add_wait(std::string_view name) {
  if (waits == wait_for.size()) {
    wait_for.emplace_back();
  }
  wait_for[waits++] = name;
}

void ReplaySchedule::place(const ReplayRow& row,
                           bool arrivals,
                           const JsonScanner& scanner,
                           TraceRequest& request) {
  // The request's predecessors, and the earliest that the last of them can have begun.
  bool waits = row.waits > 0;
  std::int64_t after_ns = 0;
  for (std::size_t i = 0; i < row.waits; ++i) {
    const auto found = requests_.find(row.wait_for[i]);
    if (found == requests_.end()) {
      scanner.refuse("wait_for[" + std::to_string(i) + "]",
                     "is no request above (\"" + shown(row.wait_for[i]) +
                         "\"), expected the request_id of one");
    }
    request.wait_for.push_back(found->second.index);
    after_ns = std::max(after_ns, found->second.arrival_ns);
  }
  Session* session = nullptr;
  std::int64_t delay_ns = row.delay_ns.value_or(0);
  if (row.has_session) {
    const auto [entry, fresh] =
        sessions_.try_emplace(row.session, Session{sessions_.size(), 0, false});
    session = &entry->second;
    request.session = session->number;
    if (!fresh) {
      waits = true;
      after_ns = std::max(after_ns, session->arrival_ns);
      if (!row.delay_ns && row.timestamp_ns) {
        delay_ns = *row.timestamp_ns - session->arrival_ns;
        if (delay_ns < 0 && session->timed) {
          scanner.refuse("timestamp",
                         "is before that of the session's turn above, expected turns in order");
        }
        delay_ns = std::max<std::int64_t>(0, delay_ns);
      }
    }
  }
  delay_ns = add_times(scanner, "tool_wait_ms", delay_ns, row.tool_wait_ns);
  if (waits) {
    request.delay_ns = delay_ns;
  } else if (delay_ns != 0) {
    scanner.refuse(row.delay_ns.value_or(0) != 0 ? "delay" : "tool_wait_ms",
                   "has nothing to count from, expected a session with a turn above, or wait_for");
  } else if (arrivals && !row.timestamp_ns) {
    scanner.refuse("timestamp", "missing, expected milliseconds in a row that waits for no other");
  }
  if (!arrivals && row.timestamp_ns) {
    scanner.refuse("timestamp", "is there, expected none as in the first row");
  }
  if (arrivals) {
    request.arrival_ns =
        row.timestamp_ns ? *row.timestamp_ns : add_times(scanner, "delay", after_ns, delay_ns);
  }
  if (session != nullptr) {
    session->arrival_ns = request.arrival_ns;
    session->timed = row.timestamp_ns.has_value();
  }
  if (row.has_request_id &&
      !requests_.try_emplace(row.request_id, Sent{placed_, request.arrival_ns}).second) {
    scanner.refuse("request_id",
                   "occurs a second time (\"" + shown(row.request_id) + "\"), expected each once");
  }
  ++placed_;
}

}  // namespace octavo::sim
