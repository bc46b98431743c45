// An engine's KV-event log as the oracle of the block manager: the same requests are served by
// BlockManager, and what it stores and evicts is compared with what the engine said.
//
// Two sequences are compared, each in its order: the blocks stored and the blocks removed. How they
// interleave is not, since engines report stores when a step is scheduled and we when it is
// committed. Engines hash differently, so that names are not compared but paired: the n-th block
// that we store and the n-th that the engine stored are one block, with parents that must be a pair
// too, and removals must then name the two of one pair.
//
// The requests come from a trace or from the log itself. From the log: a chain of stores that
// continue each other is a request; its prompt are the tokens from the root to its end, and one
// token more, since the last is never served. Then tokens are compared as well. A request that
// stored no block leaves no mark in the log; it is not replayed, and if it changed the order of
// evictions the comparison will say so.
//
// One request lives at a time, and only whole blocks are shared, as the engines do it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "octavo/eviction.h"
#include "octavo/sim/kv_event_log.h"
#include "octavo/sim/trace.h"

namespace octavo::sim {

struct OracleOptions {
  std::int64_t blocks = 0;  ///< The engine's pool, [1, 2^31 - 1].
  EvictionPolicy policy = EvictionPolicy::Lru;
  std::optional<std::int64_t> rank{};  ///< Whose events; needed when the log has several.
  std::int64_t group = 0;              ///< Events of other groups are passed over.
  std::int64_t limit = 0;              ///< Only the first so many requests; 0 is all.
};

/// A block as one of the two sides names it.
struct OracleBlock {
  std::string name;            ///< For people; empty when this side has no such event at all.
  std::int64_t position = -1;  ///< Its place in its prefix, from 0; -1: not known.
};

struct OracleDifference {
  enum class Kind {
    Stored,        ///< Another block was stored.
    Removed,       ///< Another block was evicted.
    OursLeft,      ///< The log ended; the replay did more.
    EngineLeft,    ///< The requests ended; the log goes on.
    EngineCleared  ///< The engine cleared its cache, which the requests of a trace do not tell.
  };
  Kind kind = Kind::Stored;
  KvEventKind event = KvEventKind::BlockStored;  ///< Which of the two sequences.
  std::string what;                              ///< One sentence.
  std::int64_t request = 0;                      ///< That was being replayed, from 1.
  std::int64_t batch = 0;  ///< Of the engine's event, from 1; 0: there is none.
  OracleBlock engine;
  OracleBlock ours;
};

struct OracleResult {
  std::int64_t block_size = 0;
  std::int64_t requests = 0;  ///< Replayed.
  std::int64_t prompt_tokens = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t stores_agreed = 0;    ///< Blocks, before the first difference.
  std::int64_t removals_agreed = 0;  ///< Blocks, before the first difference.
  std::int64_t clears_agreed = 0;
  std::int64_t events_passed_over = 0;  ///< Of other media, groups and ranks.
  std::optional<OracleDifference> difference;
};

/// Replays `requests`, or the requests of the log itself when there are none, and compares until
/// the first difference. Raises InvalidArgument for an option outside its range, InputError for
/// what is wrong with a file: no log, several ranks and none chosen, missing batches, blocks of
/// several sizes, a store behind a block that is not cached (when the log is the source of
/// requests), a prompt that the pool cannot hold.
OracleResult check_events(const std::string& log_path,
                          const OracleOptions& options,
                          TraceReader* requests = nullptr);

}  // namespace octavo::sim
