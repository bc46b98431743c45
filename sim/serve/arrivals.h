// The requests of a trace until they arrive: who is read, who waits for whom, and when each comes.
//
// The trace is streamed: `read_ahead` requests are known before they arrive, in the order of the
// file. Within them arrivals need not be sorted, the next turn of a session can be looked at (for
// the names of generated tokens), and a request can wait for the end of earlier ones. What is read
// after the moment at which it should have come arrives at once and is counted as late.
//
// Memory: the requests read ahead and alive, and a few words a session (when its latest request
// ended) if turns wait for each other at all.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "event_queue.h"
#include "octavo/sim/rng.h"
#include "octavo/sim/serve/serving_config.h"
#include "request.h"

namespace octavo::sim {

class Arrivals {
 public:
  Arrivals(TraceReader& trace, const ServingConfig& config, EventQueue& events);

  /// Reads until `read_ahead` requests are known that have not arrived, or the trace ends. Puts
  /// the arrivals that are settled into the queue.
  void read_ahead(std::int64_t now_ns);

  /// The request is there: it has names from now on, and is no longer counted as read ahead.
  void arrive(Request& request);

  /// The request has ended at `now_ns`, or has taken no time at all (a warm start). Those that
  /// waited for it are settled. The request is gone after the call.
  void end(Request& request, std::int64_t now_ns);

  std::int64_t read() const noexcept { return next_index_; }
  std::int64_t late() const noexcept { return late_; }
  std::int64_t ahead() const noexcept { return ahead_; }
  Rng& rng() noexcept { return rng_; }

 private:
  struct Session {
    Request* latest = nullptr;      ///< The request read last, unless it has ended.
    std::int64_t ended_ns = kNone;  ///< When it has.
  };
  static constexpr std::int64_t kNone = -1;

  bool read_one(std::int64_t now_ns);
  void check(const Request& request) const;
  void draw_patience(Request& request);
  void join_session(Request& request);
  void wait_for_others(Request& request, std::int64_t now_ns);
  void wait_for(Request& request, Request* other);
  void settle(Request& request, std::int64_t now_ns);

  TraceReader& trace_;
  const ServingConfig& config_;
  EventQueue& events_;
  RequestPool pool_;
  TokenNamer namer_;
  Rng rng_;
  std::int64_t next_index_ = 0;
  std::int64_t ahead_ = 0;
  std::int64_t late_ = 0;
  bool ended_ = false;
  // Both are looked up by key only, never walked: their order decides nothing.
  std::unordered_map<std::uint64_t, Session> sessions_;
  std::unordered_map<std::int64_t, Request*> alive_;  ///< By place in the trace.
};

}  // namespace octavo::sim
