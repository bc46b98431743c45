// The numbers that name things inside the block manager.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octavo::blocks {

/// A block of the pool, [0, num_blocks). The same number that a block table carries.
using BlockId = std::int32_t;
inline constexpr BlockId kNoBlock = -1;

/// A record of the prefix tree (root, run or leaf); 0 is nobody.
using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = 0;

/// Ids and counts are never negative where they index; this says so to the compiler.
template <class Integer>
constexpr std::size_t at(Integer index) noexcept {
  return static_cast<std::size_t>(index);
}

}  // namespace octavo::blocks
