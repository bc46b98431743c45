// What will happen, in the order in which it happens: by time, at one time by kind, and among
// events of one kind by who they concern. The order is total and does not depend on the order in
// which events were put in, so nothing is left to chance.
//
// At one instant, steps end before anything new is decided, and replicas plan their next step when
// all that has ended or arrived by then is known.
#pragma once

#include <cstdint>
#include <set>

namespace octavo::sim {

struct Request;

enum class EventKind : std::uint8_t {
  WarmUp,    ///< A request fills a cache; before all time.
  StepEnd,   ///< A replica's step.
  GiveUp,    ///< A client cancels its request.
  Arrival,   ///< Of a request.
  Schedule,  ///< A replica plans a step.
};

struct Event {
  std::int64_t time_ns = 0;
  EventKind kind = EventKind::Arrival;
  std::int64_t who = 0;        ///< A request's place in the trace, or a replica.
  Request* request = nullptr;  ///< That of `who`; decides no order.

  friend bool operator<(const Event& left, const Event& right) noexcept {
    if (left.time_ns != right.time_ns) {
      return left.time_ns < right.time_ns;
    }
    return left.kind != right.kind ? left.kind < right.kind : left.who < right.who;
  }
};

class EventQueue {
 public:
  bool empty() const noexcept { return events_.empty(); }
  /// An event that is already there is not put in twice.
  void push(const Event& event) { events_.insert(event); }
  /// Takes the first. REQUIRES: not empty.
  Event pop() {
    const Event first = *events_.begin();
    events_.erase(events_.begin());
    return first;
  }
  /// Takes an event out before its time; none is there: nothing happens.
  void erase(const Event& event) { events_.erase(event); }

 private:
  std::set<Event> events_;
};

}  // namespace octavo::sim
