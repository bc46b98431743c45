#include "octavo/sim/replay.h"

#include <limits>
#include <utility>

#include "parallel.h"
#include "pool_replay.h"
#include "prompt_tokens.h"
#include "request_batch.h"
#include "study_input.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

void check(const ReplayOptions& options) {
  const auto check = [](const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
    check_range("replay", name, value, low, high);
  };
  check("block_size", options.block_size, 1, 65536);
  check("live", options.live, 1, 1 << 24);
  check("limit", options.limit, 0, std::numeric_limits<std::int64_t>::max());
  check("threads", options.threads, 0, 1024);
  check("number of pool sizes", static_cast<std::int64_t>(options.blocks.size()), 1, 1 << 16);
  check("number of policies", static_cast<std::int64_t>(options.policies.size()), 1, 64);
  for (const std::int64_t blocks : options.blocks) {
    check("blocks", blocks, 1, kInt32Max);
  }
}

// Whether a block's content is told by the id it lies in and its place there, and nothing else can
// be shared.
bool pseudo_tokens_suffice(const TraceReader& trace, const ReplayOptions& options) {
  return options.full_blocks_only && !options.expand_tokens &&
         trace.block_size() % options.block_size == 0;
}

// Fills a batch with what comes next; it is empty at the end of the trace.
class BatchReader {
 public:
  BatchReader(TraceReader& trace,
              const ReplayOptions& options,
              ReplayResult& result,
              const ReplayProgress& progress)
      : trace_(trace),
        limit_(options.limit),
        tokens_(trace.block_size(), result.pseudo_tokens ? options.block_size : 0),
        result_(result),
        progress_(progress) {}

  void read(RequestBatch& batch) {
    batch.clear();
    while (!batch.full() && next_request(trace_, limit_, result_.requests, request_)) {
      batch.add(tokens_.expand(request_), request_.input_tokens, request_.output_tokens);
      ++result_.requests;
      result_.prompt_tokens += request_.input_tokens;
      if (progress_) {
        progress_(result_.requests);
      }
    }
  }

 private:
  TraceReader& trace_;
  std::int64_t limit_;
  PromptTokens tokens_;
  ReplayResult& result_;
  const ReplayProgress& progress_;
  TraceRequest request_;
};

}  // namespace

ReplayResult replay(TraceReader& trace,
                    const ReplayOptions& options,
                    const ReplayProgress& progress) {
  check(options);
  require_prefix_ids(trace);
  ReplayResult result;
  result.pseudo_tokens = pseudo_tokens_suffice(trace, options);
  std::vector<PoolReplay> pools;
  pools.reserve(options.policies.size() * options.blocks.size());
  for (const EvictionPolicy policy : options.policies) {
    for (const std::int64_t blocks : options.blocks) {
      pools.emplace_back(options, policy, blocks, result.pseudo_tokens);
    }
  }

  const int threads = resolve_threads(options.threads);
  BatchReader reader(trace, options, result, progress);
  RequestBatch batch;
  RequestBatch coming;
  for (reader.read(batch); !batch.empty(); std::swap(batch, coming)) {
    run_parallel(
        threads, static_cast<std::int64_t>(pools.size()),
        [&](std::int64_t pool) { pools[static_cast<std::size_t>(pool)].serve(batch); },
        [&] { reader.read(coming); });
  }
  for (PoolReplay& pool : pools) {
    result.runs.push_back(pool.finish());
  }
  return result;
}

}  // namespace octavo::sim
