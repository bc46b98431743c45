// A context with a stack of its own, which the sanitizers know about.
//
// Threads: a fiber may run on one OS thread now and on another later, on one at a time.
#pragma once

#include <cstddef>

#include "context.h"

namespace octavo::emulation {

class Fiber {
 public:
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Stands for the flow of control that calls, to come back to it.
  void adopt_caller();

  /// The next switch to it calls `entry` on its stack, `stagger` bytes below the end of it. `entry`
  /// calls arrive() first and never returns. Raises ResourceExhausted when there is no memory.
  void prepare(void (*entry)(), std::size_t stagger);
  static void arrive();

  static void switch_to(Fiber& from, Fiber& to);

  /// Leaves `from` for good; prepare() makes it a new one, and abandon() must be called before.
  [[noreturn]] static void leave(Fiber& from, Fiber& to);
  void abandon();

  /// To ThreadSanitizer, the thread that this is.
  void* identity() const { return identity_; }

 private:
  static void swap(Fiber& from, Fiber& to, bool for_good);
  void free_stack();

  Context context_;
  void* stack_ = nullptr;  // Null where the stack is an OS thread's.
  void* identity_ = nullptr;
  // For AddressSanitizer: the stack's extent and its copy of frames that outlive their function.
  const void* stack_bottom_ = nullptr;
  std::size_t stack_bytes_ = 0;
  void* fake_stack_ = nullptr;
};

}  // namespace octavo::emulation
