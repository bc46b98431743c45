// Prefix ids out of ids of contents, or out of tokens.
#pragma once

#include <cstdint>

namespace octavo::sim {

/// A bijection of 64 bits in which every bit of the result depends on every bit of the argument
/// (the finalizer of MurmurHash3 with Stafford's constants, as splitmix64 has it).
constexpr std::uint64_t mix64(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// The parent of a first block.
inline constexpr std::uint64_t kChainRoot = 0;

/// The id of the block of this content behind the prefix `parent`. Different contents behind one
/// parent never collide; any two prefixes of a trace of n distinct ones do with probability
/// n^2 / 2^65, 3 in 10^7 for three million.
constexpr std::uint64_t chain_id(std::uint64_t parent, std::uint64_t content) noexcept {
  return mix64(mix64(parent + 0x9e3779b97f4a7c15ULL) ^ content);
}

}  // namespace octavo::sim
