// Asynchronous copies to shared memory (cp.async), as kernels/platform.cuh has them.
#pragma once

#include "block.h"
#include "site.h"
#include "thread.h"

namespace octavo::emulation {

/// An error of the kernel when an end is not aligned to `size`, or `to` is not in shared memory.
void issue_async_copy(void* to, const void* from, unsigned size, bool on, Site site);

}  // namespace octavo::emulation

namespace octavo::cuda {
inline namespace emulated {

template <int kBytes>
void async_copy(void* to,
                const void* from,
                bool on,
                emulation::Site site = emulation::Site::current()) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async copies 4, 8 or 16 bytes");
  emulation::issue_async_copy(to, from, kBytes, on, site);
}

inline void async_copy_commit() {
  emulation::current_thread->copies.commit();
}

template <int kGroupsLeft>
void async_copy_wait() {
  static_assert(kGroupsLeft >= 0);
  emulation::current_thread->copies.wait(kGroupsLeft);
}

}  // namespace emulated
}  // namespace octavo::cuda
