// GpuMemory: which addresses a simulated GPU may reach.
//
// Its memory is the host's, so that an address means the same to both. What is allocated is known
// here with its exact size, and every access of a kernel, a copy or a fill is held against that.
//
// Owned by the Runtime. Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>

namespace octavo::simulated_gpu {

/// [begin, end)
struct MemoryRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class GpuMemory {
 public:
  void add(std::uint64_t begin, std::uint64_t size_bytes) { ends_[begin] = begin + size_bytes; }
  void remove(std::uint64_t begin) { ends_.erase(begin); }

  /// The allocation that `address` lies in; empty where there is none.
  MemoryRange find(std::uint64_t address) const {
    const auto next = ends_.upper_bound(address);
    if (next == ends_.begin()) {
      return {};
    }
    const auto& [begin, end] = *std::prev(next);
    return address < end ? MemoryRange{begin, end} : MemoryRange{};
  }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  ///< By where an allocation begins.
};

}  // namespace octavo::simulated_gpu
