// The emulated device: the CUDA kernels, from the very same source, run by the host processor on
// host memory, without a GPU and without the CUDA Toolkit.
//
// It is made for tests: every CUDA thread is a fiber, thread blocks and fibers run in an order
// drawn from a seed, and what CUDA leaves undefined is found or poisoned (cuda/emulation/README.md
// has the list). Results have the bits of the reference device. It is some thousand times slower
// than a GPU.
//
// Threads: everything may be called from several threads; operations take turns.
#pragma once

#include <cstdint>
#include <memory>

#include "octavo/cuda/fast_tiles.h"
#include "octavo/device.h"

namespace octavo {

/// When an asynchronous copy takes place: as early as it may, as late as it may (until then its
/// destination is poisoned), or one or the other by chance for each copy.
enum class AsyncCopies { Eager, Lazy, Random };

struct EmulatedDeviceOptions {
  /// Of the order of blocks and fibers, another one for each launch of the device, the same ones in
  /// every run; 0: as numbered.
  std::uint64_t seed = 0;
  int workers = 1;  ///< Host threads that run thread blocks; 0 or less: one for each core.
  AsyncCopies copies = AsyncCopies::Random;
  bool fast = false;  ///< Attention on float tensor cores, within a bound instead of exact.
  FastTiles fast_tiles = FastTiles::Any;
  bool tuned_only = false;    ///< Refuse attention that only the general kernel takes.
  bool general_only = false;  ///< Pass all attention to the general kernel.
  /// Partial results of attention that fit at once; 0 or less: as on a GPU.
  std::int64_t attend_workspace_bytes = 0;
};

/// Operations raise, besides what a device raises, Internal with a description when a kernel does
/// what CUDA does not define.
std::shared_ptr<Device> make_emulated_device(const EmulatedDeviceOptions& options = {});

}  // namespace octavo
