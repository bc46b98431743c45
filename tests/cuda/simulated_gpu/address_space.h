// AddressSpace: addresses of GPUs' memory. None is given twice, and the host can touch them only
// while work is being done.
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

  /// Aligned to 256 and to no more; 0 when there are none left.
  std::uint64_t take(std::uint64_t size_bytes);
  /// Whether the address is one of these, taken or not.
  bool holds(std::uint64_t address) const;
  /// Nobody needs the contents any more.
  void drop(std::uint64_t begin, std::uint64_t size_bytes);

  /// Sets memory to zero; costs nothing for whole pages that nobody touches.
  static void zero(std::uint64_t begin, std::uint64_t size_bytes);

  /// Within: the host can read and write everything that was taken.
  void open();
  void close();

 private:
  void protect(int how);

  std::uint64_t begin_ = 0;
  std::uint64_t next_ = 0;
  int opened_ = 0;
};

/// Opens an AddressSpace for its scope.
class OpenedSpace {
 public:
  explicit OpenedSpace(AddressSpace& space) : space_(space) { space_.open(); }
  ~OpenedSpace() { space_.close(); }
  OpenedSpace(const OpenedSpace&) = delete;
  OpenedSpace& operator=(const OpenedSpace&) = delete;

 private:
  AddressSpace& space_;
};

}  // namespace octavo::simulated_gpu
