// The token ids that each sealed or named block stands for, by block.
//
// What decides a hit: never a hash. Rows of blocks without a key hold leftovers nobody reads.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/virtual_memory.h"
#include "blocks/ids.h"

namespace octavo::blocks {

/// Whether two rows of `count` ids are equal. Sixteen at a time without a branch between them.
inline bool equal_tokens(const std::int32_t* a, const std::int32_t* b, std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    std::uint64_t x[8];
    std::uint64_t y[8];
    std::memcpy(x, a + i, sizeof x);
    std::memcpy(y, b + i, sizeof y);
    std::uint64_t difference = 0;
    for (int word = 0; word < 8; ++word) {
      difference |= x[word] ^ y[word];
    }
    if (difference != 0) {
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
  void write_block(BlockId block, const std::int32_t* tokens) noexcept {
    if (block_size_ == 16) {  // The usual size, as two plain cache-line moves.
      std::memcpy(tokens_.data() + at(block) * 16, tokens, 16 * sizeof *tokens);
    } else {
      write(block, tokens, block_size_);
    }
  }
  bool block_equals(BlockId block, const std::int32_t* tokens) const noexcept {
    return equal_tokens(row(block), tokens, block_size_);
  }
  void prefetch(BlockId block) const noexcept { __builtin_prefetch(row(block)); }
  std::size_t block_size() const noexcept { return block_size_; }

 private:
  std::size_t block_size_;
  VirtualArray<std::int32_t> tokens_;
};

}  // namespace octavo::blocks
