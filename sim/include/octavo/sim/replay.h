// Replaying a trace through the production block manager: what would a pool of N blocks have
// served?
//
// Only prompts are replayed. Each request is admitted, stepped through its prompt in one chunk,
// committed, and later retired with the prompt as its history; time does not pass. At most `live`
// requests are held at a time: the oldest retires first, also when there is no room for the next.
//
// A trace names blocks of its own size by id; the replay makes a token for every position, a
// function of the id and the offset in it that differs for different ids at the same offset, and
// hands the tokens to a manager with the engine's block size. Where only whole engine blocks are
// shared and each lies inside one id, a block can be told by one token as well, and one
// pseudo-token a block takes the place of all of its tokens: the results are the same (tested), and
// the replay is faster by the size of a block.
//
// What a trace does not name (the tails of prompts where tails have no ids) is shared by none. A
// trace without prefix ids is refused.
//
// Every pool size is replayed under every policy asked for, each pool in a manager of its own. The
// trace is read once, in batches of some millions of tokens; while the pools work through one of
// them, spread over the threads, the next one is read. A pool's result depends on the trace and on
// its own options alone, so the number of threads changes nothing but the time. Memory grows with
// the pools, the longest prompts and the live requests, not with the trace: two batches of 4 MiB or
// of the longest prompt, whatever is more, are all that is held of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "octavo/eviction.h"
#include "octavo/sim/trace.h"

namespace octavo::sim {

struct ReplayOptions {
  std::int64_t block_size = 16;      ///< Of the engine, in tokens, [1, 65536].
  std::vector<std::int64_t> blocks;  ///< Pool sizes, each [1, 2^31 - 1]; one run each
  std::vector<EvictionPolicy> policies{EvictionPolicy::Lru};  ///< under each of these.
  int live = 1;                   ///< Requests held at a time, [1, 2^24].
  std::int64_t limit = 0;         ///< Replay the first `limit` requests; 0 = all.
  bool full_blocks_only = false;  ///< No partial keys: only whole blocks are shared.
  bool expand_tokens = false;     ///< Never let a pseudo-token stand for a block.
  int threads = 1;                ///< That work on the pools, [0, 1024]; 0 = one a core.
};

/// What one pool served. Rejected requests (longer than the whole pool) count in nothing else.
struct ReplayRun {
  std::int64_t blocks = 0;
  std::int64_t block_size = 0;
  EvictionPolicy policy = EvictionPolicy::Lru;
  std::int64_t requests = 0;  ///< Served ones.
  std::int64_t rejected_requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t evicted_blocks = 0;
  std::int64_t bound_blocks_max = 0;   ///< The most that live requests held.
  std::int64_t parked_blocks_max = 0;  ///< The most that were kept for later ones.
  double seconds = 0;                  ///< Processor time of serving, without reading the trace.
  std::uint64_t digest = 0;            ///< Of the manager at the end, see BlockManager::digest.

  double hit_rate() const {
    return prompt_tokens > 0 ? static_cast<double>(hit_tokens) / static_cast<double>(prompt_tokens)
                             : 0.0;
  }
  double ns_per_token() const {
    return prompt_tokens > 0 ? seconds * 1e9 / static_cast<double>(prompt_tokens) : 0.0;
  }
};

struct ReplayResult {
  std::int64_t requests = 0;       ///< Read from the trace.
  std::int64_t prompt_tokens = 0;  ///< Of all of them.
  bool pseudo_tokens = false;      ///< One token stood for a block.
  std::vector<ReplayRun> runs;     ///< By policy, then by pool size, in the order asked for.
};

/// Called after every request with the number done.
using ReplayProgress = std::function<void(std::int64_t)>;

/// Reads the trace once and replays it through all pools side by side. Raises InvalidArgument for
/// an option outside its range, Unimplemented for a policy that the block manager does not have,
/// InputError for what is wrong with the trace, for one without prefix ids too.
ReplayResult replay(TraceReader& trace,
                    const ReplayOptions& options,
                    const ReplayProgress& progress = {});

}  // namespace octavo::sim
