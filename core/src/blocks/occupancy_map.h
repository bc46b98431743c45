// Which of up to 2^18 queues hold something: set, clear and find the first in three words.
#pragma once

#include <bit>
#include <cstdint>

#include "base/virtual_memory.h"
#include "blocks/ids.h"

namespace octavo::blocks {

class OccupancyMap {
 public:
  static constexpr std::uint32_t kSize = 64 * 64 * 64;
  static constexpr std::uint32_t kNone = kSize;

  OccupancyMap() : words_(kWords, VirtualMemory::Pages::Small, "an occupancy map") {}

  void set(std::uint32_t index) noexcept {
    words_[kFine + index / 64] |= bit(index);
    words_[kMiddle + index / 4096] |= bit(index / 64);
    words_[0] |= bit(index / 4096);
  }

  void clear(std::uint32_t index) noexcept {
    if ((words_[kFine + index / 64] &= ~bit(index)) != 0) {
      return;
    }
    if ((words_[kMiddle + index / 4096] &= ~bit(index / 64)) == 0) {
      words_[0] &= ~bit(index / 4096);
    }
  }

  /// The least index that is set; kNone without one.
  std::uint32_t first() const noexcept {
    if (words_[0] == 0) {
      return kNone;
    }
    const std::uint32_t high = lowest(words_[0]);
    const std::uint32_t middle = high * 64 + lowest(words_[kMiddle + high]);
    return middle * 64 + lowest(words_[kFine + middle]);
  }

  /// Calls visit(index) for each that is set, in ascending order.
  template <class Visit>
  void visit(Visit&& visit) const {
    each(words_[0], 0, [&](std::uint32_t high) {
      each(words_[kMiddle + high], high,
           [&](std::uint32_t middle) { each(words_[kFine + middle], middle, visit); });
    });
  }

  void clear_all() noexcept { words_.clear(kWords); }

 private:
  static constexpr std::size_t kMiddle = 1;
  static constexpr std::size_t kFine = kMiddle + 64;
  static constexpr std::size_t kWords = kFine + 4096;

  static std::uint64_t bit(std::uint32_t index) noexcept { return std::uint64_t{1} << index % 64; }
  static std::uint32_t lowest(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(std::countr_zero(word));
  }
  template <class Visit>
  static void each(std::uint64_t word, std::uint32_t index, Visit&& visit) {
    for (; word != 0; word &= word - 1) {
      visit(index * 64 + lowest(word));
    }
  }

  VirtualArray<std::uint64_t> words_;  ///< The summary of summaries, the summaries, the bits.
};

}  // namespace octavo::blocks
