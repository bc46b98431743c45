// Small traces from a seed: prompts that share prefixes, come back, and end where they like.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "octavo/sim/loaded_trace.h"
#include "octavo/sim/rng.h"

namespace octavo::sim {

struct RandomTraceOptions {
  std::int64_t trace_block = 16;
  int requests = 60;
  int blocks_most = 6;       ///< Trace blocks of a prompt.
  int fan_out = 2;           ///< Continuations of a prefix; more make fewer hits.
  bool tail_has_id = true;
  bool prefix_ids = true;    ///< false: an id may come behind any other.
};

/// With prefix ids as the trace model has them: one for each prefix, and one of its own for each
/// prefix with a partial tail of some length.
inline LoadedTrace random_trace(std::uint64_t seed, const RandomTraceOptions& options) {
  Rng rng(seed);
  const std::int64_t block = options.trace_block;
  const auto fan_out = static_cast<std::uint64_t>(options.fan_out);
  std::vector<TraceRequest> requests;
  std::vector<std::vector<std::uint64_t>> choices;  // Of the prompts so far, to be repeated.
  for (int i = 0; i < options.requests; ++i) {
    std::vector<std::uint64_t> path(rng.below(static_cast<std::uint64_t>(options.blocks_most) + 1));
    for (std::uint64_t& choice : path) {
      choice = rng.below(fan_out);
    }
    if (!choices.empty() && rng.chance(1, 3)) {  // Some prompt again, or a longer or shorter one.
      std::vector<std::uint64_t> again = choices[rng.below(choices.size())];
      again.resize(std::min(again.size(), path.size() + 1));
      path = again;
    }
    choices.push_back(path);
    TraceRequest request;
    std::uint64_t prefix = 0;
    for (const std::uint64_t choice : path) {
      prefix = options.prefix_ids ? prefix * (fan_out + 1) + choice + 1 : choice;
      request.block_ids.push_back(prefix);
    }
    std::int64_t tail = 0;
    if (rng.chance(2, 3)) {
      tail = rng.between(0, block - 1);
    }
    request.input_tokens = static_cast<std::int64_t>(path.size()) * block + tail;
    if (tail > 0 && options.tail_has_id) {
      request.block_ids.push_back(
          options.prefix_ids
              ? (std::uint64_t{1} << 40) + prefix * static_cast<std::uint64_t>(block) +
                    static_cast<std::uint64_t>(tail)
              : rng.below(fan_out));
    }
    if (request.input_tokens == 0) {
      continue;
    }
    requests.push_back(std::move(request));
  }
  TraceTraits traits;
  traits.tail_has_id = options.tail_has_id;
  return LoadedTrace("random", block, std::move(requests), traits);
}

}  // namespace octavo::sim
