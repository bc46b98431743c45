// The figures of a trace: how much there is of what, and how much of it a cache could serve at all.
//
// Counting takes memory for each distinct id (in a trace with sessions, for each one of each
// session besides) and eight bytes a request for each percentile.
#pragma once

#include <cstdint>
#include <string>

#include "octavo/sim/trace.h"

namespace octavo::sim {

/// Sum, mean and spread of one non-negative integer per request. Percentiles are values that occur:
/// p is the smallest value that at least p % of the requests do not exceed (nearest rank).
struct Summary {
  std::int64_t sum = 0;
  double mean = 0;
  std::int64_t p50 = 0;
  std::int64_t p90 = 0;
  std::int64_t p99 = 0;
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// `hits` of `total`.
struct HitCount {
  std::int64_t hits = 0;
  std::int64_t total = 0;

  double rate() const noexcept {
    return total == 0 ? 0.0 : static_cast<double>(hits) / static_cast<double>(total);
  }
};

/// What a cache that never evicts would serve, requests taken in file order, the prompt of each one
/// cached before the next one comes. A request hits as many blocks as its leading ids have all been
/// seen before; outputs are not cached.
struct IdealHits {
  HitCount blocks;       ///< Ids, partial tails included: an upper bound on sharing.
  HitCount full_blocks;  ///< Ids of whole blocks only, hit by whole blocks only.
  HitCount
      tokens;  ///< Prompt tokens that the hits of `blocks` cover, a tail counted as long as it is.

  /// Prompt tokens that an engine can serve which shares whole blocks and never serves a whole
  /// prompt, since one token must be computed: at most (input_tokens - 1) / block size blocks.
  HitCount servable_tokens;

  std::int64_t whole_requests =
      0;  ///< Requests all ids of which had been seen, partial tail included.
  double mean_request_blocks = 0;  ///< Mean over the requests of their own rate of `blocks`.
  double mean_request_tokens = 0;  ///< Mean over the requests of their own rate of `tokens`.
};

/// How much of each session a cache of its own would serve that never evicts: the rate of
/// `IdealHits::blocks` of each one. Sub-agents are left out: their requests neither count nor leave
/// anything in the cache.
struct SessionHits {
  std::int64_t sessions = 0;  ///< Those with ids; the figures below are over them.
  double mean = 0;
  double min = 0;
  double p25 = 0;
  double p50 = 0;
  double p75 = 0;
  double max = 0;
};

struct TraceStats {
  std::string name;
  TraceFormat format = TraceFormat::Auto;
  std::int64_t block_size = 0;
  TraceTraits traits;  ///< What is not known is 0 below: lengths of outputs, arrivals, all of ids.

  std::int64_t requests = 0;
  std::int64_t skipped = 0;           ///< Records that are no requests, see TraceReader::skipped.
  std::int64_t sessions = 0;          ///< Distinct session ids; 0 when the trace has none.
  std::int64_t sub_requests = 0;      ///< Requests of sub-agents: those with a parent session.
  std::int64_t delayed_requests = 0;  ///< Requests that wait for the end of others.
  std::int64_t empty_outputs = 0;     ///< Requests of which nothing was generated.
  std::int64_t media = 0;             ///< Images and the like, all requests together.
  std::int64_t first_arrival_ns = 0;  ///< The least arrival, whichever line it stands on.
  std::int64_t last_arrival_ns = 0;   ///< The greatest.
  std::int64_t distinct_arrivals = 0;
  std::int64_t unsorted_requests = 0;  ///< Requests that arrive before the one on the line above.

  Summary input_tokens;
  Summary output_tokens;
  Summary blocks;  ///< Ids a request; the sum is the number of ids in the trace.

  std::int64_t distinct_blocks = 0;
  std::int64_t blocks_used_once = 0;  ///< Distinct ids that occur once in the whole trace.
  std::uint64_t max_block_id = 0;

  /// Distinct ids that occur at two positions or behind two different ids. Zero in a trace of
  /// prefix ids; otherwise the ids name contents of single blocks and the hit counts below are too
  /// high.
  std::int64_t unchained_blocks = 0;

  IdealHits ideal;
  SessionHits session_hits;

  /// What the recorded engine served from its cache, of the prompt tokens of those requests that
  /// say so.
  HitCount recorded_tokens;
  std::int64_t recorded_requests = 0;  ///< How many say so.

  bool sorted() const noexcept { return unsorted_requests == 0; }
  bool prefix_chained() const noexcept { return unchained_blocks == 0; }
  std::int64_t duration_ns() const noexcept { return last_arrival_ns - first_arrival_ns; }
};

/// Reads `reader` to its end, or `limit` requests of it when that is not 0. Raises what
/// `TraceReader::next` raises, InvalidArgument for a negative limit, and InputError when a sum
/// exceeds 64 bits.
TraceStats compute_trace_stats(TraceReader& reader, std::int64_t limit = 0);

/// One JSON object on one line, without a newline; "schema_version" is 1. The fields are described
/// in traces/FORMAT.md.
std::string to_json(const TraceStats& stats);

}  // namespace octavo::sim
