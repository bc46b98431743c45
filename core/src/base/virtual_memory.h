// Zeroed memory that costs address space until it is touched.
//
// The block manager sizes its tables for the whole pool at once and fills them as blocks come into
// use; with memory of this kind a pool of 2^31 - 1 blocks is made in microseconds. Owned by one
// object, not thread-safe.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace octavo {

class VirtualMemory {
 public:
  /// Small pages for arrays touched in a few far places, huge ones for arrays that fill up.
  enum class Pages { Small, Huge };

  VirtualMemory() = default;

  /// Raises ResourceExhausted, naming `what`, when the address space is not to be had.
  VirtualMemory(std::size_t size_bytes, Pages pages, const char* what);
  ~VirtualMemory();
  VirtualMemory(VirtualMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_bytes_(std::exchange(other.size_bytes_, 0)),
        mapping_(std::exchange(other.mapping_, nullptr)),
        mapping_bytes_(std::exchange(other.mapping_bytes_, 0)) {}
  VirtualMemory& operator=(VirtualMemory&& other) noexcept {
    VirtualMemory moved(std::move(other));
    std::swap(data_, moved.data_);
    std::swap(size_bytes_, moved.size_bytes_);
    std::swap(mapping_, moved.mapping_);
    std::swap(mapping_bytes_, moved.mapping_bytes_);
    return *this;
  }

  void* data() const noexcept { return data_; }

  /// Makes the first `used_bytes` zero again; gives pages back to the system where it can.
  void clear(std::size_t used_bytes) noexcept;

 private:
  void* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  void* mapping_ = nullptr;  ///< What munmap takes; nullptr when the memory is on the heap.
  std::size_t mapping_bytes_ = 0;
};

/// An array of `count` zeroed T in such memory. T must be happy with all its bits zero.
template <class T>
class VirtualArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  VirtualArray() = default;
  VirtualArray(std::size_t count, VirtualMemory::Pages pages, const char* what)
      : memory_(checked_bytes(count, what), pages, what), data_(static_cast<T*>(memory_.data())) {}
  VirtualArray(VirtualArray&& other) noexcept
      : memory_(std::move(other.memory_)), data_(std::exchange(other.data_, nullptr)) {}
  VirtualArray& operator=(VirtualArray&& other) noexcept {
    memory_ = std::move(other.memory_);
    data_ = std::exchange(other.data_, nullptr);
    return *this;
  }

  T& operator[](std::size_t index) noexcept { return data_[index]; }
  const T& operator[](std::size_t index) const noexcept { return data_[index]; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  void clear(std::size_t used) noexcept { memory_.clear(used * sizeof(T)); }

 private:
  static std::size_t checked_bytes(std::size_t count, const char* what);

  VirtualMemory memory_;
  T* data_ = nullptr;
};

/// Raises ResourceExhausted: `what` would need more bytes than an address can name.
[[noreturn]] void throw_address_space(const char* what);

template <class T>
std::size_t VirtualArray<T>::checked_bytes(std::size_t count, const char* what) {
  constexpr std::size_t kMax = static_cast<std::size_t>(-1) / 2;
  if (count > kMax / sizeof(T)) {
    throw_address_space(what);
  }
  return count * sizeof(T);
}

}  // namespace octavo
