#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace octavo::sim {

int resolve_threads(int asked) {
  return asked > 0 ? asked : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void run_parallel(int threads,
                  std::int64_t count,
                  const std::function<void(std::int64_t)>& body,
                  const std::function<void()>& meanwhile) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count) + 1);
  const auto guarded = [&failures](std::int64_t place, const std::function<void()>& call) {
    try {
      call();
    } catch (...) {
      failures[static_cast<std::size_t>(place)] = std::current_exception();
    }
  };
  std::atomic<std::int64_t> next{0};
  const auto take_items = [&] {
    for (std::int64_t item = next++; item < count; item = next++) {
      guarded(item + 1, [&body, item] { body(item); });
    }
  };
  {
    std::vector<std::jthread> workers;
    const std::int64_t helpers = std::min<std::int64_t>(threads, count);
    for (std::int64_t i = threads > 1 ? 1 : helpers; i < helpers; ++i) {
      workers.emplace_back(take_items);
    }
    // The caller is one of the threads. It does its own part first where others are at work, and
    // last where it is alone.
    const bool alone = workers.empty();
    if (!alone && meanwhile) {
      guarded(0, meanwhile);
    }
    take_items();
    if (alone && meanwhile) {
      guarded(0, meanwhile);
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure != nullptr) {
      std::rethrow_exception(failure);
    }
  }
}

}  // namespace octavo::sim
