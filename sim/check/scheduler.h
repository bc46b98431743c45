// Scheduler: a server in miniature that turns requests into operations.
//
// Continuous batching: prompts in chunks beside the decoding of others, speculation with rejection,
// preemption by recompute when blocks run out, prefixes from admit, and faults as the seed decides.
// Everything it does it says as a CheckOp, first to the log, then to the driver; it looks at the
// driver's sessions, never at the cache.
//
// Single-threaded; one run.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "driver.h"
#include "swarm.h"
#include "workload.h"

namespace octavo::sim::check {

class Scheduler {
 public:
  Scheduler(const Swarm& swarm, Rng rng, bool has_host_allocations, Driver& driver, CheckLog& log);

  /// Runs all requests to their end. Throws what the driver throws.
  void run(const std::vector<CheckRequest>& requests,
           const std::function<void(std::int64_t, std::int64_t)>& progress);

  std::int64_t finished() const noexcept { return finished_; }
  std::int64_t dropped() const noexcept { return dropped_; }
  std::uint64_t unseed() noexcept { return rng_.next(); }

 private:
  struct Job {
    const CheckRequest* request = nullptr;
    int mishaps = 0;  ///< Faults that it met; a job with many meets no more, or is given up.
    std::int64_t target = 0;  ///< Tokens at its end.
    std::int64_t order = 0;   ///< When it was admitted.
    bool is_twin = false;     ///< No request of the trace's: a second session of one.
  };
  using Place = std::optional<Job>;

  Outcome apply(const CheckOp& op);
  bool is_busy() const;
  void admit_waiting();
  void admit(int slot, Job job);
  void step();
  void after_failure();
  void make_room();
  void finish();
  void mishap();
  void cancel();
  void failed_step();
  void rewind();
  void duplicate();
  void rare();
  void wrong_call();
  void stranger();
  std::vector<CheckStepEntry> batch();
  CheckStepEntry entry_of(int slot);
  std::int32_t next_token(const Job& job, std::int64_t position) const;
  std::optional<int> draw_slot(bool active);
  bool draws(std::int64_t of_16) {
    return of_16 > 0 && rng_.chance(static_cast<std::uint64_t>(of_16), 16);
  }
  void give_back(int slot, bool counts);

  Swarm swarm_;
  Rng rng_;
  bool has_host_allocations_;
  Driver& driver_;
  CheckLog& log_;
  std::deque<Job> waiting_;
  std::vector<Place> places_;         ///< [slots]
  std::vector<std::int32_t> reject_;  ///< [slots] Drafts of the latest step to be taken back.
  bool hold_ = false;  ///< Somebody was preempted: nobody is admitted before somebody has ended.
  std::int64_t finished_ = 0;
  std::int64_t dropped_ = 0;
  std::int64_t admitted_ = 0;
  CheckOp armed_;  ///< What the next operation that calls the device is to meet.
};

}  // namespace octavo::sim::check
