// What each slot was admitted with: for enrolment, and for the check of the history it retires
// with.
//
// A slot's buffer grows when it sees a longer prompt than ever before, and stays: in the long run
// admitting allocates nothing. Slots that were never used cost nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "base/virtual_memory.h"
#include "blocks/ids.h"

namespace octavo::blocks {

/// All zero for a slot that was not admitted, but for the buffer.
struct AdmittedPrompt {
  std::int32_t* tokens;  ///< Owned by AdmittedPrompts.
  std::size_t capacity;
  std::int32_t length;           ///< What is left of the prompt after rewinds (N7).
  std::int32_t admitted_length;  ///< What admit was given,
  std::int32_t admitted_shared;  ///< and min(addressable_len, admitted_length) of then.
};

class AdmittedPrompts {
 public:
  explicit AdmittedPrompts(int slots)
      : prompts_(at(slots), VirtualMemory::Pages::Small, "the prompts") {}
  ~AdmittedPrompts() {
    for (int slot = 0; slot < used_; ++slot) {
      delete[] prompts_[at(slot)].tokens;
    }
  }
  AdmittedPrompts(const AdmittedPrompts&) = delete;
  AdmittedPrompts& operator=(const AdmittedPrompts&) = delete;

  AdmittedPrompt& operator[](int slot) noexcept { return prompts_[at(slot)]; }
  const AdmittedPrompt& operator[](int slot) const noexcept { return prompts_[at(slot)]; }

  /// Makes room for `count` tokens; what the buffer held is lost. Raises bad_alloc, and then has
  /// changed nothing.
  void make_room(int slot, std::size_t count) {
    if (prompts_[at(slot)].capacity < count) {
      enlarge(slot, count);
    }
  }

  /// Keeps a copy of what the slot was admitted with. REQUIRES: there is room for it.
  void keep(int slot, std::span<const std::int32_t> tokens, std::int32_t shared) noexcept {
    AdmittedPrompt& prompt = prompts_[at(slot)];
    std::memcpy(prompt.tokens, tokens.data(), tokens.size_bytes());
    prompt.length = prompt.admitted_length = static_cast<std::int32_t>(tokens.size());
    prompt.admitted_shared = shared;
  }

  void forget(int slot) noexcept {
    AdmittedPrompt& prompt = prompts_[at(slot)];
    prompt.length = prompt.admitted_length = prompt.admitted_shared = 0;
  }
  void forget_all() noexcept {
    for (int slot = 0; slot < used_; ++slot) {
      forget(slot);
    }
  }

 private:
  [[gnu::noinline]] void enlarge(int slot, std::size_t count) {
    AdmittedPrompt& prompt = prompts_[at(slot)];
    const std::size_t capacity = std::max(count, 2 * prompt.capacity);
    auto* grown = new std::int32_t[capacity];
    delete[] std::exchange(prompt.tokens, grown);
    prompt.capacity = capacity;
    used_ = std::max(used_, slot + 1);
  }

  VirtualArray<AdmittedPrompt> prompts_;
  int used_ = 0;  ///< Slots from here on never had a buffer.
};

}  // namespace octavo::blocks
