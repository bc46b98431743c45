// The requests of a replica that wait to run, the most urgent first.
//
// Urgency is the priority (when the order goes by it), then the order of arrival. Under FCFS a
// preempted request goes back to the head by itself: whoever was admitted arrived before everybody
// who still waits.
#pragma once

#include <cstdint>
#include <set>

#include "octavo/sim/serve/serving_config.h"
#include "request.h"

namespace octavo::sim {

/// Whether the left of two requests of a replica is more urgent than the right. A total order.
struct MoreUrgent {
  QueueOrder order;

  bool operator()(const Request* left, const Request* right) const noexcept {
    if (order == QueueOrder::Priority && left->source.priority != right->source.priority) {
      return left->source.priority > right->source.priority;
    }
    return left->order < right->order;
  }
};

class WaitingQueue {
 public:
  explicit WaitingQueue(QueueOrder order) : requests_(MoreUrgent{order}) {}

  bool empty() const noexcept { return requests_.empty(); }
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(requests_.size()); }
  Request& head() const noexcept { return **requests_.begin(); }
  void push(Request& request) { requests_.insert(&request); }
  void erase(Request& request) { requests_.erase(&request); }

 private:
  std::set<Request*, MoreUrgent> requests_;
};

}  // namespace octavo::sim
