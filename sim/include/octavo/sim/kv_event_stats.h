// The figures of a KV-event log.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "octavo/sim/kv_event_log.h"

namespace octavo::sim {

/// A block counts once a data-parallel rank, medium and group. Memory grows with the blocks that
/// are cached at one time.
struct KvEventStats {
  std::string name;
  KvEventFraming framing = KvEventFraming::Values;
  std::int64_t batches = 0;
  double first_time_s = 0;  ///< Unix time of the first batch and of the last one.
  double last_time_s = 0;

  std::int64_t stored_events = 0;
  std::int64_t removed_events = 0;
  std::int64_t cleared_events = 0;
  std::int64_t stored_blocks = 0;
  std::int64_t removed_blocks = 0;
  std::int64_t cached_blocks = 0;      ///< At the end.
  std::int64_t cached_blocks_max = 0;  ///< At any time.

  std::int64_t stored_twice = 0;     ///< Blocks stored while they were cached.
  std::int64_t removed_unknown = 0;  ///< Blocks removed that were not cached.
  std::int64_t unknown_parents = 0;  ///< Events that continue a block that was not cached.
  std::int64_t without_tokens = 0;   ///< Events of an offload that leave the tokens out.

  std::int64_t sequence_gaps = 0;    ///< Places where sequence numbers do not follow each other,
  std::int64_t missing_batches = 0;  ///< and how many batches are missing there in all.

  std::map<std::int64_t, std::int64_t> ranks;        ///< Batches of each rank; -1: not said.
  std::map<std::string, std::int64_t> media;         ///< Stored blocks; "": not said.
  std::map<std::int64_t, std::int64_t> groups;       ///< Stored blocks.
  std::map<std::int64_t, std::int64_t> block_sizes;  ///< Stored blocks, by tokens a block.
};

/// Reads a log to its end. Raises InputError.
KvEventStats compute_event_stats(KvEventReader& log);

}  // namespace octavo::sim
