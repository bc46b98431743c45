#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "lru_stack.h"
#include "octavo/error.h"
#include "octavo/sim/mrc.h"
#include "octavo/sim/rng.h"
#include "prefix_nodes.h"
#include "spread_sizes.h"
#include "study_input.h"

namespace octavo::sim {
namespace {

constexpr int kParts = SampledMrc::kParts;
constexpr double kTwoTo64 = 18446744073709551616.0;

// Of Student's distribution with kParts - 1 = 7 degrees of freedom, two-sided, 95 %.
constexpr double kStudent = 2.3646;
static_assert(kParts == 8);

std::uint64_t hashed(std::uint64_t word) {
  return splitmix64(word);
}

// The sampled blocks of one part.
class Part {
 public:
  void begin() {
    path_.clear();
    unserved_ = false;
  }

  // The next sampled block or blocks of the current prompt; `unserved`: the last of them ends the
  // prompt and is never served.
  void add(std::uint64_t name, std::int64_t blocks, bool unserved) {
    const std::uint32_t piece = nodes_.find_or_add(PrefixNodes::kNone, name);
    if (piece == blocks_.size()) {
      blocks_.push_back(static_cast<std::uint32_t>(blocks));
    }
    path_.push_back({piece, blocks_[piece]});
    unserved_ = unserved;
    touches_ += blocks_[piece] - (unserved ? 1 : 0);
  }

  void end() {
    if (!path_.empty()) {
      stack_.touch_sample(path_, unserved_, depths_);
    }
  }

  MrcSample finish() && {
    return {stack_.distinct_blocks(), touches_, std::move(depths_).cumulative()};
  }

 private:
  PrefixNodes nodes_;
  std::vector<std::uint32_t> blocks_;  // By piece.
  LruStack stack_;
  DepthCounts depths_;
  std::vector<PathPiece> path_;
  bool unserved_ = false;
  std::int64_t touches_ = 0;
};

class Sampler {
 public:
  Sampler(std::int64_t trace_block, const SampledMrcOptions& options)
      : trace_block_(trace_block),
        block_size_(options.block_size),
        seed_(hashed(options.seed)),
        all_(options.rate >= 1.0),
        bound_(all_ ? 0 : static_cast<std::uint64_t>(options.rate * kTwoTo64)) {}

  void add(const TraceRequest& request) {
    for (Part& part : parts_) {
      part.begin();
    }
    const std::int64_t whole = request.input_tokens / block_size_;
    const bool unserved = request.input_tokens % block_size_ == 0;
    if (trace_block_ % block_size_ == 0) {
      add_trace_blocks(request, whole, unserved);
    } else {
      add_pool_blocks(request, whole, unserved);
    }
    for (Part& part : parts_) {
      part.end();
    }
  }

  void finish(SampledMrc& mrc) && {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      mrc.parts[i] = std::move(parts_[i]).finish();
    }
  }

 private:
  // All pool blocks of a trace block are sampled together.
  void add_trace_blocks(const TraceRequest& request, std::int64_t whole, bool unserved) {
    const std::int64_t factor = trace_block_ / block_size_;
    std::int64_t left = whole;
    for (std::size_t i = 0; left > 0; ++i) {
      const bool named = i < request.block_ids.size();
      const std::int64_t here = std::min(factor, left);
      left -= here;
      offer(named ? hashed(request.block_ids[i] ^ seed_) : fresh(), here, unserved && left == 0);
    }
  }

  // Pool blocks that end where trace blocks do, or across them: told by the prefix that they end in
  // and where.
  void add_pool_blocks(const TraceRequest& request, std::int64_t whole, bool unserved) {
    for (std::int64_t block = 0; block < whole; ++block) {
      const std::int64_t last_token = (block + 1) * block_size_ - 1;
      const auto id = static_cast<std::size_t>(last_token / trace_block_);
      const auto offset = static_cast<std::uint64_t>(last_token % trace_block_);
      offer(id < request.block_ids.size() ? hashed(hashed(request.block_ids[id] ^ seed_) + offset)
                                          : fresh(),
            1, unserved && block + 1 == whole);
    }
  }

  // A name that nothing else has.
  std::uint64_t fresh() { return hashed(hashed(~seed_) + fresh_++); }

  void offer(std::uint64_t name, std::int64_t blocks, bool unserved) {
    if (all_ || name < bound_) {
      parts_[hashed(name) % kParts].add(name, blocks, unserved);
    }
  }

  std::int64_t trace_block_;
  std::int64_t block_size_;
  std::uint64_t seed_;
  bool all_;
  std::uint64_t bound_;  // Names below it are sampled.
  std::uint64_t fresh_ = 0;
  std::array<Part, kParts> parts_;
};

// The miss ratio among servable blocks is estimated by the misses of the sample; the depths in a
// part are those of its blocks alone, hence shorter by its share of all blocks.
double estimated_hits(const SampledMrc& mrc, const MrcSample& part, std::int64_t blocks) {
  const double share = mrc.rate / kParts;
  const double depth = static_cast<double>(blocks - 1) * share + 1;
  const double deepest = static_cast<double>(part.hits.size() - 1);
  const auto hits =
      static_cast<double>(part.hits[static_cast<std::size_t>(std::min(depth, deepest))]);
  const double misses = (static_cast<double>(part.touches) - hits) / share;
  return static_cast<double>(mrc.servable_blocks) - misses;
}

}  // namespace

std::int64_t SampledMrc::sampled_blocks() const {
  std::int64_t sum = 0;
  for (const MrcSample& part : parts) {
    sum += part.distinct_blocks;
  }
  return sum;
}

double SampledMrc::distinct_blocks() const {
  return static_cast<double>(sampled_blocks()) / rate;
}

SampledPoint SampledMrc::at(std::int64_t blocks) const {
  if (blocks < longest_blocks) {
    throw Error(ErrorCode::InvalidArgument,
                "mrc: blocks " + std::to_string(blocks) +
                    " is below the longest request, which a sampled curve begins with, expected "
                    "at least " +
                    std::to_string(longest_blocks));
  }
  SampledPoint point;
  point.blocks = blocks;
  if (prompt_tokens == 0) {
    return point;
  }
  const double scale = static_cast<double>(block_size) / static_cast<double>(prompt_tokens);
  std::array<double, kParts> rates{};
  double sum = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    rates[i] = estimated_hits(*this, parts[i], blocks) * scale;
    sum += rates[i];
  }
  const double mean = sum / kParts;
  double squares = 0;
  for (const double each : rates) {
    squares += (each - mean) * (each - mean);
  }
  point.hit_rate = std::clamp(mean, 0.0, 1.0);
  point.error = kStudent * std::sqrt(squares / (kParts - 1) / kParts);
  return point;
}

std::vector<std::int64_t> SampledMrc::spread_sizes(int count) const {
  std::int64_t deepest = 0;
  for (const MrcSample& part : parts) {
    deepest = std::max(deepest, static_cast<std::int64_t>(part.hits.size()) - 1);
  }
  const auto most = static_cast<std::int64_t>(static_cast<double>(deepest) * kParts / rate);
  return sim::spread_sizes(longest_blocks, std::max(most, longest_blocks), count);
}

SampledMrc compute_sampled_mrc(TraceReader& trace,
                               const SampledMrcOptions& options,
                               const MrcProgress& progress) {
  check_range("mrc", "block_size", options.block_size, 1, 65536);
  check_range("mrc", "limit", options.limit, 0, std::numeric_limits<std::int64_t>::max());
  if (!(options.rate > 0 && options.rate <= 1)) {
    throw Error(ErrorCode::InvalidArgument,
                "mrc: rate " + std::to_string(options.rate) + " is outside (0, 1]");
  }
  require_prefix_ids(trace);
  SampledMrc mrc;
  mrc.block_size = options.block_size;
  mrc.rate = options.rate;
  Sampler sampler(trace.block_size(), options);
  TraceRequest request;
  while (next_request(trace, options.limit, mrc.requests, request)) {
    const std::int64_t needed =
        (request.input_tokens + options.block_size - 1) / options.block_size;
    mrc.longest_blocks = std::max(mrc.longest_blocks, needed);
    mrc.servable_blocks += needed - 1;
    mrc.prompt_tokens += request.input_tokens;
    ++mrc.requests;
    sampler.add(request);
    if (progress) {
      progress(mrc.requests);
    }
  }
  std::move(sampler).finish(mrc);
  return mrc;
}

}  // namespace octavo::sim
