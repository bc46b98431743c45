// Miss-ratio curves: what LRU pools of every size would have served of a trace, in one pass.
//
// What is counted is what `replay` counts with one request live, whole blocks only and the policy
// lru: the same hits at every size, to the block. A request of more blocks than a pool has is
// rejected by that pool and changes nothing in it, so pools below the longest request see different
// traces and have no curve in common. The curve therefore begins at the longest request; smaller
// pools can be asked for by size, each of which costs a pass of its own beside the curve's, at
// most.
//
// The sampled curve follows only blocks whose hashed id falls below a bound (Waldspurger, Park,
// Garthwaite and Ahmad, "Efficient MRC construction with SHARDS", 2015), and estimates the misses:
// hits crowd on few blocks, which a sample has or has not, misses do not. All blocks that could be
// hits are counted, so hits = those - misses. The sample is split into groups that are measured
// separately; from their spread comes the stated error.
//
// One pass over the reader. The exact curve takes memory for each distinct block, the sampled one
// for each sampled block; neither grows with the number of requests.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "octavo/sim/trace.h"

namespace octavo::sim {

/// Called after every request with the number done.
using MrcProgress = std::function<void(std::int64_t)>;

struct MrcOptions {
  std::int64_t block_size = 16;    ///< Tokens a block of the pool, [1, 65536].
  std::vector<std::int64_t> at{};  ///< Pool sizes that may be below the longest request, each
                                   ///< [1, 2^31 - 1]; those above need not be named here.
  std::int64_t limit = 0;          ///< Of the first `limit` requests; 0 = of all.
};

/// What a pool of one size served. Rejected requests count in nothing else.
struct MrcPoint {
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

struct Mrc {
  std::int64_t block_size = 0;
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t distinct_blocks = 0;  ///< Whole ones.
  std::int64_t longest_blocks = 0;   ///< Of the longest request; the curve begins here.
  std::vector<std::int64_t> hits{};  ///< [d]: blocks hit by a pool of d >= longest_blocks blocks; a
                                     ///< pool beyond the end hits as many as the last element says.
  std::vector<MrcPoint> small{};     ///< Those of `MrcOptions::at` below longest_blocks, ascending.

  /// The least pool that hits as much as any.
  std::int64_t working_set_blocks() const;

  /// What a pool of `blocks` served. Raises InvalidArgument for a size below longest_blocks that
  /// was not asked for.
  MrcPoint at(std::int64_t blocks) const;

  /// The curve as steps: each size at which a pool hits more than one of one block less, the first
  /// being longest_blocks.
  std::vector<std::int64_t> breakpoints() const;

  /// About `count` >= 2 sizes from longest_blocks to working_set_blocks, each a constant factor
  /// larger than the one before; both ends are there.
  std::vector<std::int64_t> spread_sizes(int count) const;
};

/// Raises InvalidArgument for an option outside its range, InputError for what is wrong with the
/// trace, for one without prefix ids too.
Mrc compute_mrc(TraceReader& trace, const MrcOptions& options, const MrcProgress& progress = {});

struct SampledMrcOptions {
  std::int64_t block_size = 16;
  double rate = 0.1;       ///< Of the blocks, (0, 1].
  std::uint64_t seed = 1;  ///< Which blocks.
  std::int64_t limit = 0;
};

/// An estimated point and how sure it is.
struct SampledPoint {
  std::int64_t blocks = 0;
  double hit_rate = 0;
  /// Half the width of a nominal 95 % interval for the exact hit rate; measured on recorded and
  /// generated traces, it holds it in 85 to 100 % of the cases (sim/README.md).
  double error = 0;
};

/// What one independent part of a sample saw, in sampled blocks.
struct MrcSample {
  std::int64_t distinct_blocks = 0;
  std::int64_t touches = 0;          ///< That could have been hits.
  std::vector<std::int64_t> hits{};  ///< [d]: touches at depths up to d; the last element for more.
};

struct SampledMrc {
  /// Parts that a sample is split into.
  static constexpr int kParts = 8;

  std::int64_t block_size = 0;
  double rate = 0;
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t servable_blocks = 0;  ///< Touches that could have been hits, of all blocks.
  std::int64_t longest_blocks = 0;   ///< Of the longest request; the curve begins here.
  std::array<MrcSample, kParts> parts{};

  std::int64_t sampled_blocks() const;  ///< Distinct ones.
  double distinct_blocks() const;       ///< Estimated.

  /// The estimate for a pool of `blocks` >= longest_blocks. Raises InvalidArgument below.
  SampledPoint at(std::int64_t blocks) const;

  /// As Mrc::spread_sizes, to about the largest size that hits more than a smaller one.
  std::vector<std::int64_t> spread_sizes(int count) const;
};

/// Raises as compute_mrc.
SampledMrc compute_sampled_mrc(TraceReader& trace,
                               const SampledMrcOptions& options,
                               const MrcProgress& progress = {});

}  // namespace octavo::sim
