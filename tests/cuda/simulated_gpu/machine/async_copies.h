// AsyncCopies: cp.async of the lanes of one warp: what was issued, in groups, and not yet done.
//
// Owned by its Warp. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/cuda/simulated_gpu/machine/program.h"
#include "tests/cuda/simulated_gpu/machine/shared_memory.h"

namespace octavo::simulated_gpu {

struct AsyncCopy {
  std::uint32_t to = 0;  ///< In shared memory, in place.
  const std::byte* from = nullptr;
  std::uint8_t size_bytes = 0;
  std::uint8_t read_bytes = 0;  ///< The others become zero.
};

class AsyncCopies {
 public:
  /// Done at once, or when `lane` waits for it; until then its destination is not to be read.
  void issue(unsigned lane, const AsyncCopy& copy, bool at_once, SharedMemory& shared);

  /// What each of the lanes has issued since it did so last becomes its next group.
  void commit(Mask lanes);

  /// Does what those lanes have in all groups but their last `groups_left`.
  void wait(Mask lanes, std::uint32_t groups_left, SharedMemory& shared);

  void forget();

 private:
  struct Pending {
    unsigned lane = 0;
    std::uint32_t group = 0;
    AsyncCopy copy;
  };

  std::vector<Pending> pending_;
  std::uint32_t open_group_[kLanes] = {};
};

}  // namespace octavo::simulated_gpu
