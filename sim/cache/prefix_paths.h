// Numbers for the prefixes of prompts, dense from 0 in the order in which they first appear.
//
// Nothing is known behind the place where a prompt leaves what is known, so its new prefixes get
// numbers in a row: a *stretch*. Every other walk enters a stretch at its head, follows its ids one
// by one and leaves it for the head of another, so that only heads must be found: by the prefix
// before them and their id, in a table. A prompt adds at most one stretch. Memory follows the
// distinct prefixes. Driven from one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "prefix_nodes.h"

namespace octavo::sim {

class PrefixPaths {
 public:
  /// The numbers of the prefixes that end with each of `ids`. Valid until the next call. Raises
  /// ResourceExhausted beyond 2^32 - 1 numbers.
  std::span<const std::uint32_t> walk(std::span<const std::uint64_t> ids);

  /// A number that walk never returns.
  std::uint32_t add_unnamed() { return take(1); }

  /// All numbers are below it.
  std::uint32_t size() const noexcept { return next_; }

 private:
  // Prefixes that a prompt added.
  struct Stretch {
    std::size_t begin;  // Of its ids.
    std::uint32_t length;
    std::uint32_t first;  // The number of its head; the others follow.
  };

  std::uint32_t take(std::size_t count);
  void add_stretch(std::span<const std::uint64_t> ids);

  PrefixNodes heads_;  // Numbers the stretches.
  std::vector<Stretch> stretches_;
  std::vector<std::uint64_t> ids_;  // Of the stretches, one after the other.
  std::vector<std::uint32_t> numbers_;
  std::uint32_t next_ = 0;
};

}  // namespace octavo::sim
