// The shared memory of one block: static arrays at their first use, dynamic memory at the launch.
//
// Every byte of it starts as 0xFF, which is no number in any float format. Under AddressSanitizer
// each array ends where it ends, to the byte. Arrays are aligned as their type asks and no better,
// so that a wider access that was lucky elsewhere faults here.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

namespace octavo::emulation {

/// A declaration of a static array; its address tells it apart.
struct SharedArray {
  const char* name;
  std::size_t size_bytes;
  std::size_t alignment;
};

/// What a block of compute capability 9.0 can have, and how much of it can be static.
inline constexpr std::size_t kSharedBytes = std::size_t{227} * 1024;
inline constexpr std::size_t kStaticSharedBytes = std::size_t{48} * 1024;

class SharedMemory {
 public:
  /// Starts a block: all arrays are gone, `dynamic_bytes` (<= kSharedBytes) are there.
  void reset(std::size_t dynamic_bytes);

  unsigned char* dynamic() const { return dynamic_; }

  /// The array, made if this block has none yet; null when it does not fit.
  void* array(const SharedArray& declaration);

  /// Whether the range lies within.
  bool holds(const void* data, std::size_t size) const;

  ~SharedMemory();
  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

 private:
  struct Place {
    const SharedArray* declaration;
    void* data;
  };
  struct Free {
    void operator()(unsigned char* memory) const noexcept;
  };
  void allocate();

  std::unique_ptr<unsigned char, Free> memory_;
  unsigned char* dynamic_ = nullptr;
  unsigned char* next_ = nullptr;  // Where the next array may begin.
  std::array<Place, 64> places_{};
  std::size_t arrays_ = 0;
  std::size_t static_bytes_ = 0;
  std::size_t dynamic_bytes_ = 0;
};

}  // namespace octavo::emulation
