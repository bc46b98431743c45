// GpuMemory: which addresses a simulated GPU may reach, and where the host finds what is there.
//
// What is allocated is known here with its exact size, and every access of a kernel, a copy or a
// fill is held against that.
//
// Owned by the Runtime. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace octavo::simulated_gpu {

/// [begin, end)
struct MemoryRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class GpuMemory {
 public:
  /// `host_offset`: from an address to the host's own for the same byte.
  explicit GpuMemory(std::uint64_t host_offset = 0) : host_offset_(host_offset) {}

  std::byte* host(std::uint64_t address) const {
    return reinterpret_cast<std::byte*>(address + host_offset_);
  }

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
  std::uint64_t host_offset_;
  std::map<std::uint64_t, std::uint64_t> ends_;  ///< By where an allocation begins.
};

}  // namespace octavo::simulated_gpu
