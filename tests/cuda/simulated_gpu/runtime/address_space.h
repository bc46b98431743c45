// AddressSpace: addresses of GPUs' memory, and the memory. No address is given twice, and the host
// cannot touch one: what is there it finds elsewhere, which only the runtime knows.
//
// Owned by the Runtime. Threads: one at a time.
#pragma once

#include <cstdint>

namespace octavo::simulated_gpu {

class AddressSpace {
 public:
  AddressSpace();
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  /// From an address to where the host finds what is there.
  std::uint64_t host_offset() const { return host_begin_ - begin_; }

  /// Aligned to 256 and to no more; 0 when there are none left.
  std::uint64_t take(std::uint64_t size_bytes);
  /// Whether the address is one of these, taken or not.
  bool holds(std::uint64_t address) const;
  /// Nobody needs the contents any more.
  void drop(std::uint64_t begin, std::uint64_t size_bytes);
  /// Sets memory to zero; costs nothing for many pages that nobody touches.
  void zero(std::uint64_t begin, std::uint64_t size_bytes);

 private:
  std::uint64_t begin_ = 0;
  std::uint64_t host_begin_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace octavo::simulated_gpu
