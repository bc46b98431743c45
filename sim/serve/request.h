// A request from the moment it is read until it ends, and the place where such requests live.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "octavo/sim/serve/serving_observer.h"
#include "octavo/sim/trace.h"
#include "token_identity.h"

namespace octavo::sim {

enum class Stage : std::uint8_t {
  Ahead,    ///< Read; has not arrived.
  Waiting,  ///< In a replica's queue, for the first time or preempted.
  Prefill,  ///< Running: computes its prompt, or computes again what a preemption threw away.
  Decode,   ///< Running: generates.
};

struct Request {
  TraceRequest source{};
  TokenNames names{};
  ServedRequest report{};        ///< What observers are told at the end; kept up to date.
  std::int64_t give_up_ns = -1;  ///< So long after its arrival its client cancels; -1: never.
  Stage stage = Stage::Ahead;

  // --- Until it arrives (arrivals.h) ---
  std::int64_t waits_for = 0;       ///< Ends of other requests that it still waits for.
  std::int64_t ready_ns = 0;        ///< The latest of those that came, or the recorded arrival.
  std::int64_t delay_ns = 0;        ///< Then so long.
  bool warm = false;                ///< Of the warm start.
  std::vector<Request*> waiters{};  ///< Those that wait for the end of this one.
  Request* later_turn = nullptr;    ///< Neighbours in the session, of those that have not ended.
  Request* earlier_turn = nullptr;

  // --- In a replica (replica.h) ---
  std::int64_t order = 0;     ///< Among the arrivals at its replica.
  int slot = -1;              ///< Of the block manager, while running.
  std::int64_t emitted = 0;   ///< Tokens generated; those of a decoding request are in the batch.
  std::int64_t past = 0;      ///< Positions computed or served, while running; as `emitted`.
  std::int64_t target = 0;    ///< Positions that its prefill ends at.
  std::int64_t served = 0;    ///< Positions that its admission was served.
  std::int64_t held_max = 0;  ///< The most positions that it held in earlier admissions.
  bool given_up = false;      ///< Cancelled in the middle of a step, which ends first.

  /// Positions that it holds when it has generated all it was asked for.
  std::int64_t positions() const noexcept {
    return source.input_tokens + (source.output_tokens > 0 ? source.output_tokens - 1 : 0);
  }
};

/// Requests at stable addresses; those given back are used again, their vectors' memory kept.
class RequestPool {
 public:
  Request& take() {
    if (unused_.empty()) {
      return requests_.emplace_back();
    }
    Request& request = *unused_.back();
    unused_.pop_back();
    return request;
  }

  void give(Request& request) {
    Request fresh;
    fresh.source.block_ids = std::move(request.source.block_ids);
    fresh.source.wait_for = std::move(request.source.wait_for);
    fresh.names.ids = std::move(request.names.ids);
    fresh.waiters = std::move(request.waiters);
    fresh.waiters.clear();
    request = std::move(fresh);
    unused_.push_back(&request);
  }

 private:
  std::deque<Request> requests_;
  std::vector<Request*> unused_;
};

}  // namespace octavo::sim
