// The simulation as a whole: takes one event after the other, until none is left.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "arrivals.h"
#include "event_digest.h"
#include "event_queue.h"
#include "octavo/sim/serve/serving.h"
#include "replica.h"
#include "router.h"

namespace octavo::sim {

class Simulation final : private ReplicaListener {
 public:
  Simulation(TraceReader& trace,
             const ServingConfig& config,
             const StepCost& cost,
             ServingObserver* observer);

  ServingResult run();

 private:
  void handle(const Event& event);
  void warm_up(Request& request);
  void arrive(Request& request);
  void schedule(Replica& replica, int index);
  int route(const Request& request);
  void wake(int replica);
  void finish();

  void on_preempted(Request& request) override;
  void on_ended(Request& request, RequestOutcome outcome) override;

  /// Tells the digest and the observer, if there is one.
  template <typename Call>
  void tell(const Call& call) {
    call(static_cast<ServingObserver&>(digest_));
    if (observer_ != nullptr) {
      call(*observer_);
    }
  }

  const ServingConfig& config_;
  ServingObserver* observer_;
  EventQueue events_;
  Arrivals arrivals_;
  Router router_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  EventDigest digest_;
  ServingResult result_;
  std::int64_t now_ns_ = 0;
  std::int64_t alive_ = 0;
  // For the router; kept for their capacity.
  std::vector<std::int64_t> loads_, uncached_;
  std::vector<std::int32_t> prompt_;
};

}  // namespace octavo::sim
