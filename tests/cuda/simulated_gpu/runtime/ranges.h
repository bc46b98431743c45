// Which memory a call names, and whether work may touch it by now.
//
// Threads: whoever holds the lock of call.h.
#pragma once

#include "tests/cuda/simulated_gpu/runtime/state.h"

namespace octavo::simulated_gpu {

inline std::uint64_t address_of(const void* data) {
  return reinterpret_cast<std::uint64_t>(data);
}

/// Whether the range lies in one allocation of the GPU, as the caller sees it: from the call that
/// allocates to the call that frees.
bool is_allocated(const Gpu& gpu, const void* data, std::uint64_t size_bytes);

enum class HostRange { Pageable, Pinned, Wrong };
/// Wrong: a part is pinned and a part is not, or it was and has been freed, or it is a GPU's.
HostRange find_host_range(const Runtime& runtime, const void* data, std::uint64_t size_bytes);

/// Within work: throws a Fault unless the range is allocated in the order of streams. `what` is
/// what the range is to the work: "the source of a copy".
void require_allocated(const Gpu& gpu,
                       const void* data,
                       std::uint64_t size_bytes,
                       const char* what);
/// The same of a range that was pinned when the work was queued.
void require_pinned(const Runtime& runtime,
                    const void* data,
                    std::uint64_t size_bytes,
                    const char* what);

}  // namespace octavo::simulated_gpu
