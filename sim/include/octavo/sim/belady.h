// Belady's bound: what no policy can beat that must serve the same requests in the same order.
//
// The bound is for the hits of whole-block prompt replay with one request live (what `replay`
// counts with `full_blocks_only` and `live` 1): a request hits the blocks that the pool has kept of
// its prompt's head, all but the last token. A block is worth keeping until its next use, the next
// request that it could be a hit of. Of a prompt's blocks, a parent's next use is never later than
// its child's, so giving up the block with the farthest next use first, the deepest of those first,
// keeps prefixes whole, and the bound over single blocks is reached by prefixes.
//
// Two bounds. *Dropping* lets a request's own new blocks go as soon as they are computed: at most
// the pool's blocks are kept from one request to the next, nothing else is demanded. *Pinned* also
// demands that a request's own whole blocks are all in the pool while it is served, as they are in
// the production pool; it is lower and closer. Both are optimal for what they demand, and both are
// above every policy of the production pool, which has to find room for the partial tail as well.
//
// They say nothing about requests served at the same time, partial keys, generated tokens, or an
// order that depends on hits.
//
// Offline: the trace is held in memory, about 12 bytes a named block of each prompt while it is
// read and 8 bytes for each group of blocks with the same next use afterwards.
#pragma once

#include <cstdint>
#include <memory>

#include "octavo/sim/trace.h"

namespace octavo::sim {

enum class BeladyBound {
  Dropping,  ///< New blocks may be dropped at once: MIN.
  Pinned,    ///< The live request's own whole blocks stay until it ends.
};

/// What a pool could at best have served. Rejected requests (longer than the whole pool) count in
/// nothing else.
struct BeladyRun {
  std::int64_t blocks = 0;
  std::int64_t requests = 0;
  std::int64_t rejected_requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t hit_tokens = 0;

  double hit_rate() const {
    return prompt_tokens > 0 ? static_cast<double>(hit_tokens) / static_cast<double>(prompt_tokens)
                             : 0.0;
  }
};

/// A trace prepared for the bound at any pool size. Immutable; `run` may be called from many
/// threads.
class Belady {
 public:
  /// Reads the first `limit` (0: all) requests of the trace; blocks of `block_size` tokens. Raises
  /// InvalidArgument for an argument outside its range, InputError for what is wrong with the
  /// trace.
  Belady(TraceReader& trace, std::int64_t block_size, std::int64_t limit = 0);
  ~Belady();
  Belady(Belady&&) noexcept;
  Belady& operator=(Belady&&) noexcept;

  /// For a pool of `blocks` in [1, 2^31 - 1]. A pool below the longest request costs a preparation
  /// of its own.
  BeladyRun run(std::int64_t blocks, BeladyBound bound) const;

  std::int64_t longest_blocks() const;   ///< Of the longest request.
  std::int64_t distinct_blocks() const;  ///< Whole ones.

 private:
  struct Data;
  std::unique_ptr<const Data> data_;
};

}  // namespace octavo::sim
