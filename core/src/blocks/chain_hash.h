// The built-in chained hash of a block.
#pragma once

#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace octavo::blocks {

/// Folds two words into one; every bit of either reaches every bit of the result.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t x = (a ^ (b << 31 | b >> 33)) * 0x9E3779B185EBCA87ULL;
  x ^= x >> 32;
  x = (x + b) * 0xC2B2AE3D27D4EB4FULL;
  return x ^ (x >> 29);
}

/// The content of a block of one token, which a replay of block ids has. The mix spreads it; here
/// it only becomes a number that nobody uses for a namespace or a generation.
inline std::uint64_t hash_token(std::int32_t token) noexcept {
  return static_cast<std::uint32_t>(token) ^ 0x6F637461766F3136ULL;
}

/// That of more tokens. Apart, so that chain_hash stays small where a block is one token.
[[gnu::noinline]] inline std::uint64_t hash_tokens(const std::int32_t* tokens,
                                                   std::size_t count) noexcept {
  return XXH3_64bits(tokens, count * sizeof *tokens);
}

/// The content is hashed apart from the parent, so that the hashes of consecutive blocks overlap in
/// the processor and only the short mix is a chain.
inline std::uint64_t chain_hash(std::uint64_t parent_hash,
                                const std::int32_t* tokens,
                                std::size_t count) noexcept {
  return mix(count == 1 ? hash_token(*tokens) : hash_tokens(tokens, count), parent_hash);
}

}  // namespace octavo::blocks
