// ThreadPool: numbered, independent items of one call, spread over threads.
//
// Every item is done exactly once, by some worker, in no particular order; which worker does it
// must not matter to its result. The caller's thread is worker 0 and works along. Between calls
// the others sleep.
//
// Threads: `run` is called by one thread at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace octavo::ref_cpu {

class ThreadPool {
 public:
  /// `workers` >= 1.
  explicit ThreadPool(int workers);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int workers() const noexcept { return static_cast<int>(threads_.size()) + 1; }

  /// Calls body(item, worker) for each item of [0, count) and returns when all are done. `body`
  /// must not throw. Allocates nothing.
  template <typename Body>
  void run(std::int64_t count, const Body& body) {
    run_items(count, &call_body<Body>, &body);
  }

 private:
  using Call = void (*)(const void* body, std::int64_t item, int worker);

  template <typename Body>
  static void call_body(const void* body, std::int64_t item, int worker) {
    (*static_cast<const Body*>(body))(item, worker);
  }

  void run_items(std::int64_t count, Call call, const void* body);
  void work(int worker);
  void take_items(int worker);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  // Guarded by mutex_; the job itself stays as it is while somebody is busy with it.
  std::int64_t job_ = 0;  // Counts the calls of run that woke the workers.
  int busy_ = 0;          // Workers that have not yet finished the current job.
  bool stopping_ = false;
  Call call_ = nullptr;
  const void* body_ = nullptr;
  std::int64_t count_ = 0;
  std::atomic<std::int64_t> next_ = 0;
};

/// One for each core that this process may run on, at least 1.
int available_cores() noexcept;

}  // namespace octavo::ref_cpu
