// A counter that one thread changes and any thread may read.
#pragma once

#include <atomic>
#include <cstdint>

namespace octavo {

/// Plain loads and stores on the writer's side: no locked instruction on the hot path.
class RelaxedCounter {
 public:
  std::int64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }
  void set(std::int64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void add(std::int64_t delta) noexcept { set(get() + delta); }
  void raise_to(std::int64_t value) noexcept {
    if (value > get()) {
      set(value);
    }
  }

 private:
  std::atomic<std::int64_t> value_{0};
};

}  // namespace octavo
