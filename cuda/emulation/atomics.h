// Atomics on integers and the fences that order them.
//
// An atomic by itself orders nothing, as on the GPU. What a thread did before a fence happens
// before what another does after its own fence, when an atomic of the first behind the fence came
// before one of the other in front of its fence, on one address. That is all ThreadSanitizer is
// told: results that another block reads without both fences are reported as races.
#pragma once

#include "block.h"
#include "thread.h"

namespace octavo::emulation {

#if defined(OCTAVO_EMULATION_TSAN)
inline void before_atomic(void* address) {
  Thread& thread = *current_thread;
  thread.block->publish(thread, address);
}
inline void after_atomic(void* address) {
  const Quiet quiet;
  FenceState& fences = current_thread->fences;
  fences.observed[fences.observations++ % fences.observed.size()] = address;
}
inline void fence() {
  const Quiet quiet;
  FenceState& fences = current_thread->fences;
  for (std::size_t i = 0; i < fences.observations && i < fences.observed.size(); ++i) {
    order_acquire(fences.observed[i]);
  }
  fences.observations = 0;
  order_release(&fences.released);
}
#else
inline void before_atomic(void* /*address*/) {}
inline void after_atomic(void* /*address*/) {}
inline void fence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
#endif

template <typename T>
T atomic_add(T* address, T value) {
  before_atomic(address);
  const T old = __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
  after_atomic(address);
  return old;
}

template <typename T>
T atomic_max(T* address, T value) {
  before_atomic(address);
  T old = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(address, &old, old < value ? value : old, false,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  after_atomic(address);
  return old;
}

template <typename T>
T atomic_inc(T* address, T most) {
  before_atomic(address);
  T old = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(address, &old, old >= most ? T{0} : old + 1, false,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  after_atomic(address);
  return old;
}

}  // namespace octavo::emulation

namespace octavo::cuda {
inline namespace emulated {

inline void __threadfence() {
  emulation::fence();
}

inline int atomicAdd(int* address, int value) {
  return emulation::atomic_add(address, value);
}
inline unsigned atomicAdd(unsigned* address, unsigned value) {
  return emulation::atomic_add(address, value);
}
inline unsigned long long atomicAdd(unsigned long long* address, unsigned long long value) {
  return emulation::atomic_add(address, value);
}

inline int atomicMax(int* address, int value) {
  return emulation::atomic_max(address, value);
}
inline unsigned atomicMax(unsigned* address, unsigned value) {
  return emulation::atomic_max(address, value);
}

/// Counts from 0 to `most` and begins again. What was there.
inline unsigned atomicInc(unsigned* address, unsigned most) {
  return emulation::atomic_inc(address, most);
}

/// Stores `value` if `expected` is there. What was there.
inline unsigned atomicCAS(unsigned* address, unsigned expected, unsigned value) {
  emulation::before_atomic(address);
  __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  emulation::after_atomic(address);
  return expected;
}

}  // namespace emulated
}  // namespace octavo::cuda
