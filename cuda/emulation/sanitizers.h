// What the emulation tells AddressSanitizer and ThreadSanitizer; without them, nothing.
//
// To ThreadSanitizer every CUDA thread is a thread of its own. Only order_release and order_acquire
// order accesses, never that one fiber happened to run after another. The emulation's own accesses
// are Quiet: they are no part of the kernel.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OCTAVO_EMULATION_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define OCTAVO_EMULATION_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define OCTAVO_EMULATION_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define OCTAVO_EMULATION_TSAN 1
#endif

#if defined(OCTAVO_EMULATION_ASAN)
#include <sanitizer/asan_interface.h>
#endif
#if defined(OCTAVO_EMULATION_TSAN)
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

/// A function that switches stacks: the sanitizers must not keep books of it.
#define OCTAVO_EMULATION_UNSANITIZED __attribute__((no_sanitize("address", "thread")))

namespace octavo::emulation {

#if defined(OCTAVO_EMULATION_ASAN)
/// Shadow bytes stand for eight: a range that is permitted must begin at a multiple of that.
inline constexpr bool kRangesBeginAtEight = true;

/// Makes every access to the range an error, and takes that back.
inline void forbid(const void* data, std::size_t size) {
  __asan_poison_memory_region(data, size);
}
inline void permit(const void* data, std::size_t size) {
  __asan_unpoison_memory_region(data, size);
}
#else
inline constexpr bool kRangesBeginAtEight = false;
inline void forbid(const void* /*data*/, std::size_t /*size*/) {}
inline void permit(const void* /*data*/, std::size_t /*size*/) {}
#endif

#if defined(OCTAVO_EMULATION_TSAN)
inline constexpr bool kDetectsRaces = true;

/// What happened before a release at an address happens before what follows an acquire of it.
inline void order_release(void* address) {
  __tsan_release(address);
}
inline void order_acquire(void* address) {
  __tsan_acquire(address);
}

/// The accesses of its scope are the emulation's. No fiber may be left within one: end() it first.
class Quiet {
 public:
  Quiet() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~Quiet() { end(); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

  void end() {
    if (!ended_) {
      ended_ = true;
      AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
      AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
  }

 private:
  bool ended_ = false;
};
#else
inline constexpr bool kDetectsRaces = false;
inline void order_release(void* /*address*/) {}
inline void order_acquire(void* /*address*/) {}

class Quiet {
 public:
  Quiet() {}
  ~Quiet() {}
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
  void end() {}
};
#endif

}  // namespace octavo::emulation
