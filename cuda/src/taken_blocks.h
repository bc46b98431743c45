// Which blocks the copies of a launch read and write: a table of fixed size, so that a long list is
// looked through once and nothing is allocated.
//
// Owned by one call, used by its thread.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace octavo::cuda {

/// For at most kMostCopies copies. Block ids are not negative.
template <std::uint32_t kMostCopies>
class TakenBlocks {
 public:
  /// Takes in a copy between two different blocks that may run beside all that are in; false, and
  /// nothing changed, when it reads what one of them writes, or writes what one reads or writes.
  bool take(std::int32_t src, std::int32_t dst) {
    const std::size_t from = place_of(src);
    const std::size_t to = place_of(dst);
    if (blocks_[to] != kNone || (blocks_[from] != kNone && is_written_[from])) {
      return false;
    }
    put(to, dst, true);
    // The destination may lie where the source was to go.
    if (const std::size_t place = place_of(src); blocks_[place] == kNone) {
      put(place, src, false);
    }
    return true;
  }

  void clear() {
    for (const std::size_t place : std::span(used_).first(num_used_)) {
      blocks_[place] = kNone;
    }
    num_used_ = 0;
  }

 private:
  static constexpr std::size_t kPlaces =
      std::bit_ceil(std::size_t{4} * kMostCopies);  // Half of them empty.
  static constexpr std::int32_t kNone = -1;

  /// Where the block is, or where it goes.
  std::size_t place_of(std::int32_t block) const {
    constexpr int kShift = 32 - std::countr_zero(kPlaces);
    std::size_t place = static_cast<std::uint32_t>(block) * 0x9E3779B1u >> kShift;
    while (blocks_[place] != block && blocks_[place] != kNone) {
      place = (place + 1) % kPlaces;
    }
    return place;
  }

  void put(std::size_t place, std::int32_t block, bool is_written) {
    blocks_[place] = block;
    is_written_[place] = is_written;
    used_[num_used_++] = static_cast<std::uint32_t>(place);
  }

  std::array<std::int32_t, kPlaces> blocks_ = filled();
  std::array<bool, kPlaces> is_written_;             // Of places that are not empty.
  std::array<std::uint32_t, 2 * kMostCopies> used_;  // Places, the first num_used_.
  std::size_t num_used_ = 0;

  static constexpr std::array<std::int32_t, kPlaces> filled() {
    std::array<std::int32_t, kPlaces> none;
    none.fill(kNone);
    return none;
  }
};

}  // namespace octavo::cuda
