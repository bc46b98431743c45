#include "context.h"

#include <cstdint>

#if !defined(OCTAVO_EMULATION_USES_UCONTEXT)
// The six registers that the System V ABI makes a callee keep lie on the stack that is left;
// rounding modes are the same in all fibers. A call, so the compiler keeps the rest itself.
// (swapcontext would enter the kernel for the signal mask at every switch.)
asm(R"(
  .text
  .globl octavo_emulation_swap_stacks
  .hidden octavo_emulation_swap_stacks
  .type octavo_emulation_swap_stacks, @function
octavo_emulation_swap_stacks:
  subq $48, %rsp
  movq %rbx, 0(%rsp)
  movq %rbp, 8(%rsp)
  movq %r12, 16(%rsp)
  movq %r13, 24(%rsp)
  movq %r14, 32(%rsp)
  movq %r15, 40(%rsp)
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  movq 0(%rsp), %rbx
  movq 8(%rsp), %rbp
  movq 16(%rsp), %r12
  movq 24(%rsp), %r13
  movq 32(%rsp), %r14
  movq 40(%rsp), %r15
  addq $48, %rsp
  ret
  .size octavo_emulation_swap_stacks, . - octavo_emulation_swap_stacks
)");
#endif

namespace octavo::emulation {

#if defined(OCTAVO_EMULATION_USES_UCONTEXT)

void Context::start(void* stack, std::size_t stack_bytes, void (*entry)()) {
  getcontext(&registers_);
  registers_.uc_stack.ss_sp = stack;
  registers_.uc_stack.ss_size = stack_bytes;
  registers_.uc_link = nullptr;
  makecontext(&registers_, entry, 0);
}

#else

void Context::start(void* stack, std::size_t stack_bytes, void (*entry)()) {
  constexpr std::size_t kSavedRegisters = 6;
  const auto end = reinterpret_cast<std::uintptr_t>(stack) + stack_bytes;
  auto* top = reinterpret_cast<void**>(end & ~std::uintptr_t{15});
  // The entry finds the stack as after a call: a return address, here none, below an aligned place.
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(entry);
  for (std::size_t i = 0; i < kSavedRegisters; ++i) {
    *--top = nullptr;
  }
  stack_pointer_ = top;
}

#endif

}  // namespace octavo::emulation
