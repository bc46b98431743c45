// Prompts and full pools for the block-manager benchmarks.
#pragma once

#include <cstdint>
#include <vector>

#include "octavo/block_manager.h"

namespace octavo::bench {

inline constexpr int kBlockSize = 16;
inline constexpr int kPromptTokens = 4096;

/// Token ids below 2^17, a function of the stream and the position; two a random word.
class TokenStream {
 public:
  explicit TokenStream(std::uint64_t stream) : state_(stream * 0x2545F4914F6CDD1DULL + 1) {}
  void fill(std::int32_t* tokens, int count) {
    for (int i = 0; i < count; i += 2) {
      const std::uint64_t word = next();
      tokens[i] = static_cast<std::int32_t>(word & 0x1FFFF);
      if (i + 1 < count) {
        tokens[i + 1] = static_cast<std::int32_t>((word >> 32) & 0x1FFFF);
      }
    }
  }
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// What a server does with one prompt: admit it, run it in one step, commit, retire.
/// Returns the tokens served from the cache.
inline std::int64_t serve(BlockManager& manager,
                          int slot,
                          const std::vector<std::int32_t>& prompt) {
  const std::int64_t served = manager.admit(slot, prompt);
  const std::int32_t past = static_cast<std::int32_t>(served);
  const std::int32_t cu_seqlens_q[] = {0, static_cast<std::int32_t>(prompt.size()) - past};
  manager.prepare_step(cu_seqlens_q, {&past, 1}, {&slot, 1});
  manager.update_position(slot, static_cast<std::int64_t>(prompt.size()));
  manager.retire(slot, prompt);
  return served;
}

/// Deals all blocks out to 64 slots one by one at random and takes them back, four times over: the
/// free list is then close to a random permutation.
inline void scatter_free_list(BlockManager& manager) {
  TokenStream random(99);
  const int slots = manager.config().max_seqs;
  for (int round = 0; round < 4; ++round) {
    for (std::int64_t i = 0; i < manager.num_blocks(); ++i) {
      const std::int32_t slot =
          static_cast<std::int32_t>(random.next() % static_cast<unsigned>(slots));
      const std::int32_t count = kBlockSize;
      std::int32_t offset = 0;
      manager.reserve({&slot, 1}, {&count, 1}, {&offset, 1});
    }
    for (int slot = 0; slot < slots; ++slot) {
      manager.evict(slot);
    }
  }
}

/// Serves distinct prompts until every block of the pool is parked.
inline void fill_pool(BlockManager& manager) {
  std::vector<std::int32_t> prompt(kPromptTokens);
  for (std::uint64_t stream = 1; manager.parked_blocks() < manager.num_blocks(); ++stream) {
    TokenStream(stream).fill(prompt.data(), kPromptTokens);
    serve(manager, 0, prompt);
  }
}

}  // namespace octavo::bench
