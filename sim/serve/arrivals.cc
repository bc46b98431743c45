#include "arrivals.h"

#include <algorithm>
#include <limits>
#include <string>

#include "octavo/error.h"
#include "octavo/sim/input_error.h"
#include "random_streams.h"

namespace octavo::sim {
namespace {

// Before every moment of the simulation.
constexpr std::int64_t kBeforeTime = -1;

std::int64_t later(std::int64_t time_ns, std::int64_t by_ns) {
  const std::int64_t left = std::numeric_limits<std::int64_t>::max() - time_ns;
  return time_ns + std::min(by_ns, left);
}

}  // namespace

Arrivals::Arrivals(TraceReader& trace, const ServingConfig& config, EventQueue& events)
    : trace_(trace),
      config_(config),
      events_(events),
      namer_(trace.block_size(), trace.traits()),
      rng_(client_stream(config.seed)) {}

void Arrivals::read_ahead(std::int64_t now_ns) {
  while (!ended_ && ahead_ < config_.read_ahead) {
    ended_ = (config_.limit > 0 && next_index_ == config_.limit) || !read_one(now_ns);
  }
}

bool Arrivals::read_one(std::int64_t now_ns) {
  Request& request = pool_.take();
  if (!trace_.next(request.source)) {
    pool_.give(request);
    return false;
  }
  check(request);
  const TraceRequest& source = request.source;
  ServedRequest& report = request.report;
  report.request = next_index_++;
  report.session = source.session;
  report.input_tokens = source.input_tokens;
  report.priority = source.priority;
  report.recorded_cached_tokens = source.cached_tokens.value_or(-1);
  ++ahead_;
  alive_.emplace(report.request, &request);
  request.warm = report.request < config_.warm_requests || source.arrival_ns < config_.warm_ns;
  draw_patience(request);
  wait_for_others(request, now_ns);
  join_session(request);
  if (request.waits_for == 0) {
    settle(request, now_ns);
  }
  return true;
}

void Arrivals::check(const Request& request) const {
  const TraceRequest& source = request.source;
  const auto refuse = [&](const char* field, std::int64_t value, const std::string& expected) {
    throw InputError(trace_.name(), trace_.line(), field,
                     "is " + std::to_string(value) + ", expected " + expected);
  };
  if (source.input_tokens < 1) {
    refuse("input_tokens", source.input_tokens, "a prompt of at least 1 token");
  }
  if (source.output_tokens < 0) {
    refuse("output_tokens", source.output_tokens, "at least 0");
  }
  if (source.arrival_ns < 0) {
    refuse("arrival_ns", source.arrival_ns, "at least 0");
  }
  if (source.delay_ns.value_or(0) < 0) {
    refuse("delay_ns", *source.delay_ns, "at least 0");
  }
  for (const std::int64_t other : source.wait_for) {
    if (other < 0 || other >= next_index_) {
      refuse("wait_for", other,
             "a request before this one, in [0, " + std::to_string(next_index_) + ")");
    }
  }
  if (!trace_.traits().prefix_ids) {
    return;
  }
  const std::int64_t whole = source.input_tokens / trace_.block_size();
  const bool tail = trace_.traits().tail_has_id && source.input_tokens % trace_.block_size() != 0;
  const std::int64_t expected = whole + (tail ? 1 : 0);
  if (static_cast<std::int64_t>(source.block_ids.size()) != expected) {
    refuse("block_ids", static_cast<std::int64_t>(source.block_ids.size()),
           std::to_string(expected) + " ids");
  }
}

// When its client cancels it. Drawn for every request alike, so that a request's patience does not
// depend on what happens to others.
void Arrivals::draw_patience(Request& request) {
  if (config_.timeout_ns > 0) {
    request.give_up_ns = config_.timeout_ns;
  }
  if (config_.cancel_millionths == 0) {
    return;
  }
  const bool cancels = rng_.chance(static_cast<std::uint64_t>(config_.cancel_millionths), kMillion);
  const std::int64_t patience_ns = rng_.exponential(config_.cancel_mean_ns);
  if (cancels) {
    request.give_up_ns =
        request.give_up_ns < 0 ? patience_ns : std::min(request.give_up_ns, patience_ns);
  }
}

void Arrivals::join_session(Request& request) {
  if (!request.source.session) {
    return;
  }
  Session& session = sessions_[*request.source.session];
  if (session.latest != nullptr) {
    session.latest->later_turn = &request;
    request.earlier_turn = session.latest;
  }
  session = {.latest = &request};
}

// Whom the request waits for, and how long after. Before join_session: the session's latest request
// is the one before it. A warm start takes no time: nobody waits for its requests.
void Arrivals::wait_for_others(Request& request, std::int64_t now_ns) {
  const TraceRequest& source = request.source;
  const bool thinks = config_.think_mean_ns.has_value() && source.session.has_value();
  const std::int64_t think_ns = thinks ? rng_.exponential(*config_.think_mean_ns) : 0;
  request.ready_ns = source.arrival_ns;
  if (!config_.closed_loop || request.warm) {
    return;
  }
  std::int64_t ends_ns = kNone;  // The latest end that it waits for and that has been.
  if (source.session && (thinks || source.delay_ns)) {
    const auto session = sessions_.find(*source.session);
    if (session != sessions_.end()) {
      ends_ns = session->second.ended_ns;
      wait_for(request, session->second.latest);
    }
  }
  for (const std::int64_t other : source.wait_for) {
    const auto alive = alive_.find(other);
    if (alive != alive_.end()) {
      wait_for(request, alive->second);
    } else {
      ends_ns = std::max(ends_ns, now_ns);  // Ended before this was read: known no better.
    }
  }
  if ((thinks || source.delay_ns) && (request.waits_for > 0 || ends_ns != kNone)) {
    request.delay_ns = thinks ? think_ns : *source.delay_ns;
    request.ready_ns = std::max<std::int64_t>(ends_ns, 0);
  } else {
    request.ready_ns = std::max(request.ready_ns, ends_ns);
  }
}

void Arrivals::wait_for(Request& request, Request* other) {
  if (other != nullptr && other != &request && !other->warm) {
    other->waiters.push_back(&request);
    ++request.waits_for;
  }
}

void Arrivals::settle(Request& request, std::int64_t now_ns) {
  std::int64_t arrival_ns = later(request.ready_ns, request.delay_ns);
  if (request.warm) {
    arrival_ns = kBeforeTime;
  } else if (arrival_ns < now_ns) {
    arrival_ns = now_ns;
    ++late_;
  }
  request.report.arrival_ns = arrival_ns;
  events_.push({arrival_ns, request.warm ? EventKind::WarmUp : EventKind::Arrival,
                request.report.request, &request});
}

void Arrivals::arrive(Request& request) {
  --ahead_;
  const Request* turn = request.later_turn;
  bool more = namer_.begin(request.source, request.report.request, request.names);
  for (; more && turn != nullptr; turn = turn->later_turn) {
    more = namer_.extend(turn->source);
  }
  namer_.finish();
}

void Arrivals::end(Request& request, std::int64_t now_ns) {
  alive_.erase(request.report.request);
  if (request.later_turn != nullptr) {
    request.later_turn->earlier_turn = request.earlier_turn;
  }
  if (request.earlier_turn != nullptr) {
    request.earlier_turn->later_turn = request.later_turn;
  }
  if (request.source.session) {
    const auto session = sessions_.find(*request.source.session);
    if (session != sessions_.end() && session->second.latest == &request) {
      session->second.latest = nullptr;
      session->second.ended_ns = request.warm ? kNone : now_ns;
      if (!config_.closed_loop) {
        sessions_.erase(session);
      }
    }
  }
  for (Request* waiter : request.waiters) {
    waiter->ready_ns = std::max(waiter->ready_ns, now_ns);
    if (--waiter->waits_for == 0) {
      settle(*waiter, now_ns);
    }
  }
  pool_.give(request);
}

}  // namespace octavo::sim
