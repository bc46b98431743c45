// A flow of control that can be left and come back to: a stack and the registers that a call keeps.
#pragma once

#include <cstddef>

#if !defined(__x86_64__) || defined(OCTAVO_EMULATION_UCONTEXT)
#define OCTAVO_EMULATION_USES_UCONTEXT 1
#include <ucontext.h>
#endif

#if !defined(OCTAVO_EMULATION_USES_UCONTEXT)
/// Saves the stack pointer in `left` and goes on where `entered` was saved.
extern "C" void octavo_emulation_swap_stacks(void** left, void* entered);
#endif

namespace octavo::emulation {

class Context {
 public:
  /// The first swap to it calls `entry`, which must not return, on the given stack.
  void start(void* stack, std::size_t stack_bytes, void (*entry)());

  /// Leaves the running flow, keeping it in `from`, and goes on with `to`.
  static void swap(Context& from, Context& to) {
#if defined(OCTAVO_EMULATION_USES_UCONTEXT)
    swapcontext(&from.registers_, &to.registers_);
#else
    octavo_emulation_swap_stacks(&from.stack_pointer_, to.stack_pointer_);
#endif
  }

 private:
#if defined(OCTAVO_EMULATION_USES_UCONTEXT)
  ucontext_t registers_;
#else
  void* stack_pointer_ = nullptr;
#endif
};

}  // namespace octavo::emulation
