#include "simulation.h"

#include <algorithm>
#include <limits>
#include <string>

#include "octavo/error.h"
#include "random_streams.h"

namespace octavo::sim {
namespace {

void check_spans(const StepCost& cost) {
  const auto spans = cost.spans();
  if (spans.size() > static_cast<std::size_t>(kSpansMax)) {
    throw Error(ErrorCode::InvalidArgument,
                "simulate: the cost model has " + std::to_string(spans.size()) +
                    " spans; it may have at most " + std::to_string(kSpansMax));
  }
  for (const std::int64_t span : spans) {
    if (span < 0) {
      throw Error(ErrorCode::InvalidArgument, "simulate: the cost model's span " +
                                                  std::to_string(span) +
                                                  " is negative; 0 is full attention");
    }
  }
}

}  // namespace

Simulation::Simulation(TraceReader& trace,
                       const ServingConfig& config,
                       const StepCost& cost,
                       ServingObserver* observer)
    : config_(config),
      observer_(observer),
      arrivals_(trace, config, events_),
      router_(config.router, config.prefix_weight, router_stream(config.seed)) {
  check_spans(cost);
  ReplicaListener& self = *this;
  for (int i = 0; i < config.replicas; ++i) {
    replicas_.push_back(
        std::make_unique<Replica>(i, config, cost, replica_stream(config.seed, i), self));
  }
}

ServingResult Simulation::run() {
  arrivals_.read_ahead(now_ns_);
  while (!events_.empty()) {
    const Event event = events_.pop();
    now_ns_ = std::max(now_ns_, event.time_ns);
    handle(event);
  }
  finish();
  return result_;
}

void Simulation::handle(const Event& event) {
  const auto index = static_cast<std::size_t>(event.who);
  switch (event.kind) {
    case EventKind::WarmUp:
      warm_up(*event.request);
      break;
    case EventKind::StepEnd: {
      const ServingStep step = replicas_[index]->end_step();
      ++result_.counters.steps;
      tell([&](ServingObserver& observer) { observer.on_step(step); });
      wake(static_cast<int>(event.who));
      break;
    }
    case EventKind::GiveUp: {
      Request& request = *event.request;
      replicas_[static_cast<std::size_t>(request.report.replica)]->give_up(request);
      break;
    }
    case EventKind::Arrival:
      arrive(*event.request);
      break;
    case EventKind::Schedule:
      schedule(*replicas_[index], static_cast<int>(event.who));
      break;
  }
}

void Simulation::schedule(Replica& replica, int index) {
  if (!replica.busy() && replica.begin_step(now_ns_)) {
    events_.push({replica.step_end_ns(), EventKind::StepEnd, index});
  }
}

// The replica plans as soon as this instant has brought all it brings.
void Simulation::wake(int replica) {
  events_.push({now_ns_, EventKind::Schedule, replica});
}

void Simulation::warm_up(Request& request) {
  arrivals_.arrive(request);
  ++result_.warm_requests;
  if (Replica::fits(request, config_)) {
    replicas_[static_cast<std::size_t>(route(request))]->warm_up(request);
  }
  arrivals_.end(request, now_ns_);
  arrivals_.read_ahead(now_ns_);
}

void Simulation::arrive(Request& request) {
  arrivals_.arrive(request);
  arrivals_.read_ahead(now_ns_);
  ServingCounters& counters = result_.counters;
  if (counters.arrived++ == 0) {
    result_.begin_ns = now_ns_;
  }
  counters.input_tokens += request.source.input_tokens;
  result_.requests_alive_max = std::max(result_.requests_alive_max, ++alive_);
  const bool fits = Replica::fits(request, config_);
  const int chosen = fits ? route(request) : -1;
  tell([&](ServingObserver& observer) {
    observer.on_arrival(request.report.request, chosen, now_ns_);
  });
  if (!fits) {
    on_ended(request, RequestOutcome::Rejected);
    return;
  }
  if (request.give_up_ns >= 0) {
    const std::int64_t left = std::numeric_limits<std::int64_t>::max() - now_ns_;
    request.give_up_ns = now_ns_ + std::min(request.give_up_ns, left);
    events_.push({request.give_up_ns, EventKind::GiveUp, request.report.request, &request});
  }
  Replica& replica = *replicas_[static_cast<std::size_t>(chosen)];
  replica.enqueue(request);
  if (!replica.busy()) {
    wake(chosen);
  }
}

int Simulation::route(const Request& request) {
  loads_.clear();
  uncached_.clear();
  for (const auto& replica : replicas_) {
    loads_.push_back(replica->load());
  }
  if (router_.wants_prefixes()) {
    const std::int64_t length = request.source.input_tokens;
    prompt_.resize(std::max(prompt_.size(), static_cast<std::size_t>(length)));
    request.names.write(0, length, prompt_.data());
    for (const auto& replica : replicas_) {
      uncached_.push_back(
          length - replica->cached_tokens({prompt_.data(), static_cast<std::size_t>(length)}));
    }
  }
  return router_.choose(loads_, uncached_);
}

void Simulation::on_preempted(Request& request) {
  ++result_.counters.preemptions;
  tell([&](ServingObserver& observer) {
    observer.on_preempted(request.report.request, request.report.replica, now_ns_);
  });
}

void Simulation::on_ended(Request& request, RequestOutcome outcome) {
  ServedRequest& report = request.report;
  report.outcome = outcome;
  report.end_ns = now_ns_;
  ServingCounters& counters = result_.counters;
  counters.finished += outcome == RequestOutcome::Finished ? 1 : 0;
  counters.cancelled += outcome == RequestOutcome::Cancelled ? 1 : 0;
  counters.rejected += outcome == RequestOutcome::Rejected ? 1 : 0;
  counters.output_tokens += report.output_tokens;
  counters.cached_tokens += report.cached_tokens;
  counters.later_cached_tokens += report.later_cached_tokens;
  counters.computed_tokens += report.computed_tokens;
  counters.recomputed_tokens += report.recomputed_tokens;
  counters.draft_tokens += report.draft_tokens;
  counters.rejected_draft_tokens += report.rejected_draft_tokens;
  if (report.cached_tokens + report.later_cached_tokens + report.computed_tokens !=
          request.held_max ||
      (outcome == RequestOutcome::Finished && request.held_max != request.positions())) {
    throw Error(ErrorCode::Internal, "simulate: request " + std::to_string(report.request) +
                                         " ended with tokens neither served nor computed");
  }
  if (request.give_up_ns >= 0) {
    events_.erase({request.give_up_ns, EventKind::GiveUp, report.request});
  }
  --alive_;
  tell([&](ServingObserver& observer) { observer.on_request_end(report); });
  arrivals_.end(request, now_ns_);
}

// What must be so when nothing is left to happen, and the sums that are taken then.
void Simulation::finish() {
  const ServingCounters& counters = result_.counters;
  if (alive_ != 0 || arrivals_.ahead() != 0 ||
      counters.arrived != counters.finished + counters.cancelled + counters.rejected) {
    throw Error(ErrorCode::Internal, "simulate: a request has not ended");
  }
  result_.counters.late_arrivals = arrivals_.late();
  result_.end_ns = now_ns_;
  std::uint64_t draws = arrivals_.rng().next();
  draws = splitmix64(draws) ^ router_.rng().next();
  for (const auto& replica : replicas_) {
    replica->audit();
    result_.replicas.push_back(replica->result());
    if (result_.replicas.back().free_blocks != config_.num_blocks) {
      throw Error(ErrorCode::Internal, "simulate: blocks were lost");
    }
    draws = splitmix64(draws) ^ replica->rng().next();
  }
  result_.final_draw = splitmix64(draws);
  result_.digest = digest_.value();
}

}  // namespace octavo::sim
