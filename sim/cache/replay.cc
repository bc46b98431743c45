#include "octavo/sim/replay.h"

#include <limits>
#include <string>

#include "octavo/error.h"
#include "octavo/sim/input_error.h"
#include "pool_replay.h"
#include "prompt_tokens.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

void check(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) {
    return;
  }
  throw Error(ErrorCode::InvalidArgument,
              std::string("replay: ") + name + " " + std::to_string(value) + " is outside [" +
                  std::to_string(low) + ", " + std::to_string(high) + "]");
}

void check(const ReplayOptions& options) {
  check("block_size", options.block_size, 1, 65536);
  check("live", options.live, 1, 1 << 24);
  check("limit", options.limit, 0, std::numeric_limits<std::int64_t>::max());
  check("number of pool sizes", static_cast<std::int64_t>(options.blocks.size()), 1, 1 << 16);
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

}  // namespace

ReplayResult replay(TraceReader& trace,
                    const ReplayOptions& options,
                    const ReplayProgress& progress) {
  check(options);
  ReplayResult result;
  result.pseudo_tokens = pseudo_tokens_suffice(trace, options);
  PromptTokens tokens(trace.block_size(), result.pseudo_tokens ? options.block_size : 0);
  std::vector<PoolReplay> pools;
  pools.reserve(options.blocks.size());
  for (const std::int64_t blocks : options.blocks) {
    pools.emplace_back(options, blocks, result.pseudo_tokens);
  }

  TraceRequest request;
  while ((options.limit == 0 || result.requests < options.limit) && trace.next(request)) {
    if (request.input_tokens > kInt32Max) {
      throw InputError(trace.name(), trace.line(), "input_length",
                       std::to_string(request.input_tokens) + " tokens; a replay takes at most " +
                           std::to_string(kInt32Max));
    }
    const std::span<const std::int32_t> prompt = tokens.expand(request);
    for (PoolReplay& pool : pools) {
      pool.serve(prompt, request.input_tokens, request.output_tokens);
    }
    ++result.requests;
    result.prompt_tokens += request.input_tokens;
    if (progress) {
      progress(result.requests);
    }
  }
  for (PoolReplay& pool : pools) {
    result.runs.push_back(pool.finish());
  }
  return result;
}

}  // namespace octavo::sim
