#include "octavo/sim/mrc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "lru_stack.h"
#include "octavo/error.h"
#include "prompt_blocks.h"
#include "spread_sizes.h"
#include "study_input.h"

namespace octavo::sim {
namespace {

// A stack of pools that have accepted the same requests so far.
struct Pools {
  std::vector<std::int64_t> sizes;  // That were asked for, ascending.
  LruStack stack;
  DepthCounts depths;
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
};

class CurveBuilder {
 public:
  CurveBuilder(std::int64_t trace_block, const MrcOptions& options)
      : blocks_(trace_block, options.block_size), pools_(1) {
    pools_[0].sizes = options.at;
    std::sort(pools_[0].sizes.begin(), pools_[0].sizes.end());
    pools_[0].sizes.erase(std::unique(pools_[0].sizes.begin(), pools_[0].sizes.end()),
                          pools_[0].sizes.end());
  }

  void add(const TraceRequest& request) {
    const std::int64_t needed = blocks_.blocks_of(request.input_tokens);
    longest_ = std::max(longest_, needed);
    divide(needed);
    const std::span<const PathPiece> path = blocks_.walk(request);
    const bool partial_tail = request.input_tokens % blocks_.block_size() != 0;
    for (std::size_t i = 0; i < pools_.size(); ++i) {
      Pools& pools = pools_[i];
      for (const auto& [piece, rest] : blocks_.cuts()) {
        pools.stack.cut(piece, rest);
      }
      if (i == 0 || pools.sizes.back() >= needed) {
        pools.stack.touch(path, partial_tail, pools.depths);
        ++pools.requests;
        pools.prompt_tokens += request.input_tokens;
      }
    }
  }

  Mrc finish() && {
    Mrc mrc;
    mrc.block_size = blocks_.block_size();
    mrc.requests = pools_[0].requests;
    mrc.prompt_tokens = pools_[0].prompt_tokens;
    mrc.distinct_blocks = pools_[0].stack.distinct_blocks();
    mrc.longest_blocks = longest_;
    mrc.hits = std::move(pools_[0].depths).cumulative();
    for (std::size_t i = 1; i < pools_.size(); ++i) {
      const std::vector<std::int64_t> hits = std::move(pools_[i].depths).cumulative();
      for (const std::int64_t size : pools_[i].sizes) {
        MrcPoint point;
        point.blocks = size;
        point.requests = pools_[i].requests;
        point.rejected_requests = mrc.requests - pools_[i].requests;
        point.prompt_tokens = pools_[i].prompt_tokens;
        point.hit_tokens =
            mrc.block_size * hits[std::min(static_cast<std::size_t>(size), hits.size() - 1)];
        mrc.small.push_back(point);
      }
    }
    std::sort(mrc.small.begin(), mrc.small.end(),
              [](const MrcPoint& a, const MrcPoint& b) { return a.blocks < b.blocks; });
    return mrc;
  }

 private:
  // Before a request of `needed` blocks: pools that accept it part from those that do not. Entry 0
  // keeps none of the latter.
  void divide(std::int64_t needed) {
    const std::size_t count = pools_.size();
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<std::int64_t>& sizes = pools_[i].sizes;
      const auto accepting = std::lower_bound(sizes.begin(), sizes.end(), needed);
      if (accepting == sizes.begin() || (i > 0 && accepting == sizes.end())) {
        continue;
      }
      std::vector<std::int64_t> rejecting(sizes.begin(), accepting);
      sizes.erase(sizes.begin(), accepting);
      Pools copy = pools_[i];
      copy.sizes = std::move(rejecting);
      pools_.push_back(std::move(copy));
    }
  }

  PromptBlocks blocks_;
  std::vector<Pools> pools_;  // [0]: of every size from the longest request so far.
  std::int64_t longest_ = 0;
};

void check(const MrcOptions& options) {
  check_range("mrc", "block_size", options.block_size, 1, 65536);
  check_range("mrc", "limit", options.limit, 0, std::numeric_limits<std::int64_t>::max());
  for (const std::int64_t blocks : options.at) {
    check_range("mrc", "blocks", blocks, 1, std::numeric_limits<std::int32_t>::max());
  }
}

}  // namespace

std::int64_t Mrc::working_set_blocks() const {
  return std::max(longest_blocks, static_cast<std::int64_t>(hits.size()) - 1);
}

MrcPoint Mrc::at(std::int64_t blocks) const {
  if (blocks < longest_blocks) {
    const auto point = std::find_if(small.begin(), small.end(), [blocks](const MrcPoint& each) {
      return each.blocks == blocks;
    });
    if (point == small.end()) {
      throw Error(ErrorCode::InvalidArgument,
                  "mrc: blocks " + std::to_string(blocks) +
                      " is below the longest request and was not asked for, expected at least " +
                      std::to_string(longest_blocks));
    }
    return *point;
  }
  MrcPoint point;
  point.blocks = blocks;
  point.requests = requests;
  point.prompt_tokens = prompt_tokens;
  if (!hits.empty()) {
    point.hit_tokens =
        block_size * hits[std::min(static_cast<std::size_t>(blocks), hits.size() - 1)];
  }
  return point;
}

std::vector<std::int64_t> Mrc::breakpoints() const {
  std::vector<std::int64_t> sizes{longest_blocks};
  for (std::int64_t size = longest_blocks + 1; size < static_cast<std::int64_t>(hits.size());
       ++size) {
    const auto at = static_cast<std::size_t>(size);
    if (hits[at] != hits[at - 1]) {
      sizes.push_back(size);
    }
  }
  return sizes;
}

std::vector<std::int64_t> Mrc::spread_sizes(int count) const {
  return sim::spread_sizes(longest_blocks, working_set_blocks(), count);
}

Mrc compute_mrc(TraceReader& trace, const MrcOptions& options, const MrcProgress& progress) {
  check(options);
  require_prefix_ids(trace);
  CurveBuilder builder(trace.block_size(), options);
  TraceRequest request;
  for (std::int64_t done = 0; next_request(trace, options.limit, done, request);) {
    builder.add(request);
    ++done;
    if (progress) {
      progress(done);
    }
  }
  return std::move(builder).finish();
}

}  // namespace octavo::sim
