#include "fiber.h"

#include <cstdlib>

#include "octavo/error.h"
#include "sanitizers.h"
#include <sys/mman.h>
#if defined(OCTAVO_EMULATION_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

namespace octavo::emulation {
namespace {

constexpr std::size_t kGuardBytes = 4096;  // Below the stack: an overflow faults.
constexpr std::size_t kStackBytes = std::size_t{256} * 1024;

#if defined(OCTAVO_EMULATION_ASAN)
// Who was left last on this OS thread: whoever arrives learns the extent of that stack. Behind
// calls, since the compiler may keep the address of a thread's variable over a switch, and a fiber
// can come back on another OS thread.
constinit thread_local Fiber* left = nullptr;
__attribute__((noinline, no_sanitize("address"))) void set_left(Fiber* fiber) {
  asm volatile("");
  left = fiber;
}
__attribute__((noinline, no_sanitize("address"))) Fiber* get_left() {
  asm volatile("");
  return left;
}
#endif

}  // namespace

Fiber::~Fiber() {
  if (stack_ != nullptr) {
    abandon();
    free_stack();
  }
}

void Fiber::free_stack() {
  if (stack_ != nullptr) {
    munmap(static_cast<char*>(stack_) - kGuardBytes, kGuardBytes + kStackBytes);
    stack_ = nullptr;
  }
}

void Fiber::adopt_caller() {
#if defined(OCTAVO_EMULATION_TSAN)
  identity_ = __tsan_get_current_fiber();
#endif
}

void Fiber::prepare(void (*entry)(), std::size_t stagger) {
  if (stack_ == nullptr) {
    void* memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, kGuardBytes, PROT_NONE) != 0) {
      throw Error(ErrorCode::ResourceExhausted, "emulated launch: no memory for a thread's stack");
    }
    stack_ = static_cast<char*>(memory) + kGuardBytes;
    stack_bottom_ = stack_;
    stack_bytes_ = kStackBytes;
  }
#if defined(OCTAVO_EMULATION_TSAN)
  if (identity_ == nullptr) {
    identity_ = __tsan_create_fiber(0);
  }
#endif
  context_.start(stack_, kStackBytes - stagger, entry);
}

OCTAVO_EMULATION_UNSANITIZED void Fiber::swap(Fiber& from, Fiber& to, bool for_good) {
#if defined(OCTAVO_EMULATION_TSAN)
  __tsan_switch_to_fiber(to.identity_, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(OCTAVO_EMULATION_ASAN)
  set_left(&from);
  __sanitizer_start_switch_fiber(for_good ? nullptr : &from.fake_stack_, to.stack_bottom_,
                                 to.stack_bytes_);
#endif
  static_cast<void>(for_good);
  Context::swap(from.context_, to.context_);
#if defined(OCTAVO_EMULATION_ASAN)
  __sanitizer_finish_switch_fiber(from.fake_stack_, &get_left()->stack_bottom_,
                                  &get_left()->stack_bytes_);
#endif
}

OCTAVO_EMULATION_UNSANITIZED void Fiber::arrive() {
#if defined(OCTAVO_EMULATION_ASAN)
  __sanitizer_finish_switch_fiber(nullptr, &get_left()->stack_bottom_, &get_left()->stack_bytes_);
#endif
}

OCTAVO_EMULATION_UNSANITIZED void Fiber::switch_to(Fiber& from, Fiber& to) {
  swap(from, to, false);
}

OCTAVO_EMULATION_UNSANITIZED void Fiber::leave(Fiber& from, Fiber& to) {
  swap(from, to, true);
  std::abort();  // Nobody switches to a fiber that was left for good.
}

void Fiber::abandon() {
  permit(stack_, kStackBytes);
  fake_stack_ = nullptr;
#if defined(OCTAVO_EMULATION_TSAN)
  // The calls that the old thread was in, and what it did to the stack, are not the next one's.
  if (identity_ != nullptr) {
    __tsan_destroy_fiber(identity_);
    identity_ = nullptr;
  }
  free_stack();
#endif
}

}  // namespace octavo::emulation
