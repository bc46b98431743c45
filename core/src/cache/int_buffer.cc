#include "cache/int_buffer.h"

#include <algorithm>
#include <limits>

#include "cache/errors.h"

namespace octavo::cache {
namespace {

// No length, id or sum that is ever uploaded.
constexpr std::int32_t kUnknown = std::numeric_limits<std::int32_t>::min();

}  // namespace

IntBuffer::IntBuffer(Tensor tensor) : tensor_(std::move(tensor)) {
  if (tensor_.defined()) {
    tensor_ = tensor_.reshape({tensor_.num_elements()});
    size_ = tensor_.num_elements();
    mirror_ = VirtualArray<std::int32_t>(at(size_), VirtualMemory::Pages::Small, "an upload cache");
  }
}

void IntBuffer::write(std::int64_t first,
                      std::span<const std::int32_t> values,
                      Uploader& uploader) {
  std::int32_t* mirror = mirror_.data() + first;
  const std::size_t count = values.size();
  std::size_t i = 0;
  while (i < count) {
    if (mirror[i] == values[i]) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < count && mirror[i] != values[i]) {
      mirror[i++] = kUnknown;
    }
    const auto length = static_cast<std::ptrdiff_t>(i - begin);
    uploader.upload(tensor_, first + static_cast<std::int64_t>(begin), values.data() + begin,
                    length);
    std::copy_n(values.data() + begin, length, mirror + begin);
  }
}

void IntBuffer::forget() noexcept {
  std::fill_n(mirror_.data(), at(size_), kUnknown);
}

}  // namespace octavo::cache
