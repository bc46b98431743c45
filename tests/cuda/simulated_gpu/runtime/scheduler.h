// Scheduler: does queued work, some time, in an order that streams and events leave open.
//
// A Queue is a stream's work, done first to last. Work of other queues that a piece of work comes
// after is named by it. Nothing else orders anything.
//
// Owned by the Runtime. Threads: one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "cuda/emulation/random.h"
#include "tests/cuda/simulated_gpu/runtime/runtime.h"

namespace octavo::simulated_gpu {

struct Queue;

struct Work {
  std::function<void()> act;  ///< Does not throw.
  std::vector<std::shared_ptr<Work>> after;
  Queue* queue = nullptr;
  bool is_done = false;
  std::int64_t turn = 0;  ///< When it is done: as how many-eth of all work.
};

using WorkRef = std::shared_ptr<Work>;

struct Queue {
  std::deque<WorkRef> waiting;
};

class Scheduler {
 public:
  Scheduler(WorkTime time, std::uint64_t seed) : time_(time), random_(seed) {}

  /// Its work is done even when nobody else holds it any more.
  std::shared_ptr<Queue> make_queue();

  WorkRef add(Queue& queue, std::function<void()> act, std::vector<WorkRef> after);

  /// The latest work of the queue; null when all is done.
  static WorkRef last(const Queue& queue);

  /// Does what `work` (which may be null) comes after, then `work`. With WorkTime::Random more than
  /// that.
  void finish(const WorkRef& work);
  /// Does a little, with WorkTime::Random.
  void run_some();

  WorkTime time() const { return time_; }
  emulation::Random& random() { return random_; }

 private:
  void run_first(Queue& queue);
  void run_any();
  void finish_needed(const WorkRef& work);
  void forget_queues();

  WorkTime time_;
  emulation::Random random_;
  std::int64_t turns_ = 0;
  std::vector<std::shared_ptr<Queue>> queues_;
};

}  // namespace octavo::simulated_gpu
