// The threads of a block that can run.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "random.h"

namespace octavo::emulation {

struct Thread;

/// Room for every thread of a block; each is in it once at most.
class ReadyQueue {
 public:
  void clear() { begin_ = end_ = 0; }
  bool empty() const { return begin_ == end_; }
  void push(Thread* thread) { threads_[end_++ % kCapacity] = thread; }

  Thread* pop_first() { return threads_[begin_++ % kCapacity]; }
  Thread* pop_any(Random& random) {
    const std::uint32_t at = begin_ + random.below(end_ - begin_);
    std::swap(threads_[begin_ % kCapacity], threads_[at % kCapacity]);
    return pop_first();
  }

 private:
  static constexpr std::uint32_t kCapacity = 1024;
  std::array<Thread*, kCapacity> threads_{};
  std::uint32_t begin_ = 0;  // Both count on and wrap around; kCapacity divides 2^32.
  std::uint32_t end_ = 0;
};

}  // namespace octavo::emulation
