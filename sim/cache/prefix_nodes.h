// Numbers for ids behind parents, dense from 0 in the order in which the pairs first appear.
//
// What is told by the number of something before it and an id is told exactly, whatever a trace
// does with its ids. One open-addressed table; memory follows the pairs. Driven from one thread.
#pragma once

#include <cstdint>
#include <vector>

namespace octavo::sim {

class PrefixNodes {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  PrefixNodes();

  /// The number of `id` behind `parent` (kNone: behind nothing). Raises ResourceExhausted beyond
  /// 2^32 - 1 numbers.
  std::uint32_t find_or_add(std::uint32_t parent, std::uint64_t id);

 private:
  struct Slot {
    std::uint64_t id = 0;
    std::uint32_t parent = kNone;
    std::uint32_t node = kNone;  // kNone: empty.
  };

  static std::uint64_t mix(std::uint64_t word) noexcept;
  std::size_t home(std::uint64_t id) const noexcept { return mix(id) & mask_; }
  // The slot of the pair, or the empty one where it belongs.
  Slot& find(std::uint32_t parent, std::uint64_t id) noexcept;
  void grow();

  std::vector<Slot> slots_;  // A power of two of them, at most five eighths in use.
  std::size_t mask_;
  std::uint32_t next_ = 0;  // As many slots are in use.
};

}  // namespace octavo::sim
