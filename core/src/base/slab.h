// A slab of equal records named by 32-bit ids; id 0 is nobody.
//
// A record whose type has `kZeroedBytes` has only so many zeroed when it is taken: what stands
// behind is the taker's to fill.
//
// Records come from the front of reserved memory and are reused last-freed-first. Nothing is
// allocated after construction, so taking and giving back cannot fail while the capacity holds.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/virtual_memory.h"

namespace octavo {

template <class T>
class Slab {
 public:
  using Id = std::uint32_t;
  static constexpr Id kNobody = 0;

  Slab(std::size_t capacity, const char* what)
      : records_(capacity + 1, VirtualMemory::Pages::Huge, what), capacity_(capacity) {}

  T& operator[](Id id) noexcept { return records_[id]; }
  const T& operator[](Id id) const noexcept { return records_[id]; }

  bool full() const noexcept { return free_ == kNobody && used_ == capacity_; }

  /// A zeroed record, as far as its type asks for. REQUIRES: !full().
  Id take() noexcept {
    if (free_ == kNobody) {
      return static_cast<Id>(++used_);
    }
    const Id id = free_;
    std::memcpy(&free_, static_cast<const void*>(&records_[id]), sizeof free_);
    std::memset(static_cast<void*>(&records_[id]), 0, sizeof free_);
    return id;
  }

  /// REQUIRES: `id` was taken and is given back once.
  void give(Id id) noexcept {
    void* record = &records_[id];
    std::memset(record, 0, zeroed_bytes());
    std::memcpy(record, &free_, sizeof free_);
    free_ = id;
  }

  /// Ids ever in use are 1 .. used().
  std::size_t used() const noexcept { return used_; }

  void clear() noexcept {
    records_.clear(used_ + 1);
    used_ = 0;
    free_ = kNobody;
  }

 private:
  static constexpr std::size_t zeroed_bytes() noexcept {
    if constexpr (requires { T::kZeroedBytes; }) {
      return T::kZeroedBytes;
    } else {
      return sizeof(T);
    }
  }

  VirtualArray<T> records_;
  std::size_t capacity_;
  std::size_t used_ = 0;
  Id free_ =
      kNobody;  ///< Head of the list of freed records; each holds the next in its first bytes.
};

}  // namespace octavo
