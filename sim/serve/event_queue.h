// What will happen, in the order in which it happens: by time, at one time by kind, and among
// events of one kind by who they concern. The order is total and does not depend on the order in
// which events were put in, so nothing is left to chance.
//
// At one instant, steps end before anything new is decided, and replicas plan their next step when
// all that has ended or arrived by then is known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

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

/// Replicas have at most two events each and nearly all that happen, requests have very many and
/// may take one back: they are kept apart.
class EventQueue {
 public:
  bool empty() const noexcept { return of_replicas_.empty() && of_requests_.empty(); }
  /// An event that is already there is not put in twice.
  void push(const Event& event) {
    if (event.kind == EventKind::StepEnd || event.kind == EventKind::Schedule) {
      of_replicas_.push_back(event);
      std::push_heap(of_replicas_.begin(), of_replicas_.end(), later);
    } else {
      of_requests_.insert(event);
    }
  }
  /// Takes the first. REQUIRES: not empty.
  Event pop() {
    if (of_replicas_.empty() ||
        (!of_requests_.empty() && *of_requests_.begin() < of_replicas_.front())) {
      return of_requests_.extract(of_requests_.begin()).value();
    }
    const Event first = of_replicas_.front();
    do {  // Those that were put in twice come next.
      std::pop_heap(of_replicas_.begin(), of_replicas_.end(), later);
      of_replicas_.pop_back();
    } while (!of_replicas_.empty() && !(first < of_replicas_.front()));
    return first;
  }
  /// Takes an event of a request out before its time; none is there: nothing happens.
  void erase(const Event& event) { of_requests_.erase(event); }

 private:
  static bool later(const Event& left, const Event& right) noexcept { return right < left; }

  std::vector<Event> of_replicas_;  // A heap.
  std::set<Event> of_requests_;
};

}  // namespace octavo::sim
