// Numbers for the prefixes of a trace, dense from 0 in the order in which they first appear.
//
// A prefix is told by the number of the one before it and the id that follows, so that two prefixes
// have one number exactly when their ids agree from the front, whatever a trace does with its ids.
// One open-addressed table; memory follows the distinct prefixes. Driven from one thread.
#pragma once

#include <cstdint>
#include <vector>

namespace octavo::sim {

class PrefixNodes {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  PrefixNodes();

  /// The number of `id` behind the prefix `parent` (kNone: at the front). Raises ResourceExhausted
  /// beyond 2^32 - 1 numbers.
  std::uint32_t find_or_add(std::uint32_t parent, std::uint64_t id);

  /// A number that find_or_add never returns.
  std::uint32_t add_unnamed();

  /// Fetches what a coming find_or_add of `id` looks at first.
  void prefetch(std::uint64_t id) const noexcept { __builtin_prefetch(&slots_[home(id)]); }

  std::uint32_t size() const noexcept { return next_; }

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
  std::size_t used_ = 0;
  std::uint32_t next_ = 0;
};

}  // namespace octavo::sim
