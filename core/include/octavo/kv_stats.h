// Counters of a block manager, since it was made (reset() does not clear them).
#pragma once

#include <cstdint>

namespace octavo {

struct BlockManagerStats {
  std::int64_t admits = 0;
  std::int64_t prompt_tokens = 0;       ///< Over all admits.
  std::int64_t hit_tokens = 0;          ///< Of those, served from the cache.
  std::int64_t hit_blocks = 0;          ///< Whole blocks served.
  std::int64_t missed_blocks = 0;       ///< Whole blocks of prompts that were not.
  std::int64_t partial_hits = 0;        ///< Admits whose last served block was a partial key's.
  std::int64_t partial_takeovers = 0;   ///< Of those, without a copy.
  std::int64_t copied_blocks = 0;       ///< Copies ordered, by admit and by writes after a rewind.
  std::int64_t sealed_blocks = 0;       ///< Blocks that became servable.
  std::int64_t duplicate_blocks = 0;    ///< Copies freed since their node had a block already.
  std::int64_t evicted_for_step = 0;    ///< Parked blocks taken for tokens of a step.
  std::int64_t evicted_for_copy = 0;    ///< Parked blocks taken for the copy of a partial hit.
  std::int64_t dropped_keys = 0;        ///< Partial keys that a later one displaced.
  std::int64_t quarantined_blocks = 0;  ///< Ever put into quarantine.
  std::int64_t bound_blocks_max = 0;    ///< High-water mark of blocks held by slots.
  std::int64_t parked_blocks_max = 0;   ///< High-water mark of parked blocks.

  std::int64_t evicted_blocks() const { return evicted_for_step + evicted_for_copy; }
};

}  // namespace octavo
