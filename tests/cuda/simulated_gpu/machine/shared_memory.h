// SharedMemory: the shared memory of one block.
//
// What nobody has written, and what an asynchronous copy is still to bring, is poison: threads may
// read it for rows that there are not, but no result may depend on it.
//
// Owned by the BlockRun of a launch. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/cuda/simulated_gpu/machine/program.h"

namespace octavo::simulated_gpu {

class SharedMemory {
 public:
  explicit SharedMemory(std::uint32_t size_bytes) : bytes_(size_bytes) {}

  /// Of another block: all is poison, of these eight bytes.
  void forget(std::uint64_t poison) {
    poison_ = poison;
    poison_range(0, static_cast<std::uint32_t>(bytes_.size()));
  }

  /// What keeps `size_bytes` from `address` on from being reached; null when nothing does.
  const char* misplaced(std::uint64_t address, std::uint32_t size_bytes) const {
    if (address % size_bytes != 0) {
      return "is not aligned to the access";
    }
    if (address < kSharedBase || address - kSharedBase > bytes_.size() ||
        bytes_.size() - (address - kSharedBase) < size_bytes) {
      return "lies outside of the block's shared memory";
    }
    return nullptr;
  }

  /// In place, as `misplaced` has found.
  std::byte* at(std::uint32_t address) { return &bytes_[address - kSharedBase]; }

  void spoil(std::uint32_t address, std::uint32_t size_bytes) {
    poison_range(address - kSharedBase, size_bytes);
  }

 private:
  void poison_range(std::uint32_t first, std::uint32_t size_bytes) {
    for (std::uint32_t i = first; i < first + size_bytes; ++i) {
      bytes_[i] = static_cast<std::byte>(poison_ >> (i % 8 * 8));
    }
  }

  std::vector<std::byte> bytes_;
  std::uint64_t poison_ = 0;
};

}  // namespace octavo::simulated_gpu
