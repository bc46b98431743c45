// One CUDA thread: what it is within its block, what it waits in, and the fiber that it runs on.
#pragma once

#include <array>
#include <cstddef>

#include "async_copy_queue.h"
#include "fiber.h"
#include "operation.h"
#include "site.h"
#include "vector_types.h"

namespace octavo::emulation {

class Block;
class Warp;

/// The memory order of one thread, for ThreadSanitizer (atomics.h).
struct FenceState {
  char released = 0;  // An address to order by: what happened before this thread's last fence.
  std::array<void*, 4> observed{};  // What atomics named since the last fence, the last few.
  std::size_t observations = 0;
};

/// What every change from one thread to another touches lies in the first cache line.
struct alignas(64) Thread {
  Block* block = nullptr;
  Warp* warp = nullptr;
  cuda::uint3 index{};
  unsigned number = 0;  ///< Of the block's threads, x fastest.
  unsigned lane = 0;
  Operation waits_in = Operation::None;  ///< Until it goes on, woken or not.
  bool is_prepared = false;              ///< The fiber can be switched to.
  bool is_running = false;               ///< Within the kernel.
  Site waits_at;
  Fiber fiber;

  AsyncCopyQueue copies;
  FenceState fences;
};

/// Who runs on this OS thread; null outside kernels.
extern constinit thread_local Thread* current_thread;

}  // namespace octavo::emulation
