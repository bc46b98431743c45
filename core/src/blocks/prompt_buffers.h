// The admitted prompts, one buffer a slot.
//
// A buffer grows when its slot sees a longer prompt than ever before, and stays: in the long run
// admitting allocates nothing. Slots that were never used cost nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/virtual_memory.h"
#include "blocks/ids.h"

namespace octavo::blocks {

class PromptBuffers {
 public:
  explicit PromptBuffers(int slots)
      : buffers_(at(slots), VirtualMemory::Pages::Small, "the prompts") {}
  ~PromptBuffers() {
    for (int slot = 0; slot < used_; ++slot) {
      delete[] buffers_[at(slot)].tokens;
    }
  }
  PromptBuffers(const PromptBuffers&) = delete;
  PromptBuffers& operator=(const PromptBuffers&) = delete;

  /// The slot's buffer with room for `count` tokens; what it held is lost. Raises bad_alloc, and
  /// then has changed nothing.
  std::int32_t* room_for(int slot, std::size_t count) {
    Buffer& buffer = buffers_[at(slot)];
    if (buffer.capacity < count) {
      const std::size_t capacity = std::max(count, 2 * buffer.capacity);
      std::int32_t* grown = new std::int32_t[capacity];
      delete[] std::exchange(buffer.tokens, grown);
      buffer.capacity = capacity;
      used_ = std::max(used_, slot + 1);
    }
    return buffer.tokens;
  }

  const std::int32_t* tokens(int slot) const noexcept { return buffers_[at(slot)].tokens; }

 private:
  struct Buffer {
    std::int32_t* tokens;
    std::size_t capacity;
  };

  VirtualArray<Buffer> buffers_;
  int used_ = 0;  ///< Slots from here on never had a buffer.
};

}  // namespace octavo::blocks
