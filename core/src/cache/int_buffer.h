// IntBuffer: a persistent Int32 tensor on the device and the host's memory of what it holds.
//
// Uploads are cached by content: only runs of elements that differ travel, each exactly as long as
// it is. New device memory reads as zero, and so does the mirror.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/virtual_memory.h"
#include "cache/uploader.h"

namespace octavo::cache {

class IntBuffer {
 public:
  IntBuffer() = default;
  /// An undefined tensor makes a buffer of no elements.
  explicit IntBuffer(Tensor tensor);

  /// Makes elements [first, first + values.size()) equal to `values`. After a device's error the
  /// mirror says what has arrived; what was on its way counts as unknown.
  /// Raises what the device raises.
  void write(std::int64_t first, std::span<const std::int32_t> values, Uploader& uploader);

  /// Nothing is known of the device's elements any more: each is sent anew when it is written.
  void forget() noexcept;

  /// What the device holds at `index`, as far as is known.
  bool holds(std::int64_t index, std::int32_t value) const noexcept {
    return mirror_[static_cast<std::size_t>(index)] == value;
  }
  std::int64_t size() const noexcept { return size_; }
  const Tensor& tensor() const noexcept { return tensor_; }
  /// The first `count` elements, [count].
  Tensor head(std::int64_t count) const { return tensor_.slice(0, 0, count); }

 private:
  Tensor tensor_;
  std::int64_t size_ = 0;
  VirtualArray<std::int32_t> mirror_;
};

}  // namespace octavo::cache
