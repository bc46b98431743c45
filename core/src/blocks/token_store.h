// The token ids that each sealed or named block stands for, by block.
//
// What decides a hit: never a hash. Rows of blocks without a key hold leftovers nobody reads.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/virtual_memory.h"
#include "blocks/ids.h"

namespace octavo::blocks {

/// Whether two rows of sixteen ids are equal, without a branch inside.
inline bool equal_sixteen(const std::int32_t* a, const std::int32_t* b) noexcept {
#if defined(__SSE2__)
  const auto difference = [&](int quarter) {
    return _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + 4 * quarter)),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + 4 * quarter)));
  };
  const __m128i any = _mm_or_si128(_mm_or_si128(difference(0), difference(1)),
                                   _mm_or_si128(difference(2), difference(3)));
  return _mm_movemask_epi8(_mm_cmpeq_epi8(any, _mm_setzero_si128())) == 0xFFFF;
#else
  return std::memcmp(a, b, 16 * sizeof *a) == 0;
#endif
}

/// Whether two rows of `count` ids are equal.
inline bool equal_tokens(const std::int32_t* a, const std::int32_t* b, std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    if (!equal_sixteen(a + i, b + i)) {
      return false;
    }
  }
  for (; i < count; ++i) {
    if (a[i] != b[i]) {
      return false;
    }
  }
  return true;
}

class TokenStore {
 public:
  TokenStore(std::int64_t num_blocks, int block_size)
      : block_size_(at(block_size)),
        tokens_(at(num_blocks) * at(block_size),
                VirtualMemory::Pages::Huge,
                "the tokens of the pool's blocks") {}

  const std::int32_t* row(BlockId block) const noexcept {
    return tokens_.data() + at(block) * block_size_;
  }
  void write(BlockId block, const std::int32_t* tokens, std::size_t count) noexcept {
    std::memcpy(tokens_.data() + at(block) * block_size_, tokens, count * sizeof *tokens);
  }
  /// Writes the rows of `count` blocks, whose tokens stand one after the other.
  void write_blocks(const BlockId* blocks,
                    std::uint32_t count,
                    const std::int32_t* tokens) noexcept {
    if (block_size_ == 16) {  // The usual size, as plain moves of a cache line.
      for (std::uint32_t i = 0; i < count; ++i) {
        std::memcpy(tokens_.data() + at(blocks[i]) * 16, tokens + i * std::size_t{16},
                    16 * sizeof *tokens);
      }
    } else if (block_size_ == 1) {
      for (std::uint32_t i = 0; i < count; ++i) {
        tokens_[at(blocks[i])] = tokens[i];
      }
    } else {
      for (std::uint32_t i = 0; i < count; ++i) {
        write(blocks[i], tokens + i * block_size_, block_size_);
      }
    }
  }
  bool block_equals(BlockId block, const std::int32_t* tokens) const noexcept {
    if (block_size_ == 16) {
      return equal_sixteen(row(block), tokens);
    }
    return block_size_ == 1 ? tokens_[at(block)] == *tokens
                            : equal_tokens(row(block), tokens, block_size_);
  }
  void prefetch(BlockId block) const noexcept { __builtin_prefetch(row(block)); }
  std::size_t block_size() const noexcept { return block_size_; }

 private:
  std::size_t block_size_;
  VirtualArray<std::int32_t> tokens_;
};

}  // namespace octavo::blocks
