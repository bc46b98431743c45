// The requests of a trace, scaled down to what a check can compute in seconds.
//
// Who shares what with whom is kept, sizes are not: an id stands for fewer tokens, all ids for the
// same number, and what is still longer than the limit is cut at its end. The rules: sim/CHECK.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "octavo/sim/check/check_log.h"
#include "octavo/sim/trace.h"

namespace octavo::sim::check {

/// Tokens from here on are generated and in no prompt of the trace.
inline constexpr std::int32_t kGeneratedTokens = 1 << 30;

struct CheckRequest {
  std::vector<TokenRun> prompt;
  /// What is generated: where the session's next prompt goes on behind this one, what stands there.
  std::vector<TokenRun> output;
  std::optional<std::uint64_t> session;
};

std::int64_t token_count(const std::vector<TokenRun>& runs);

/// All requests, or the first `limit` (> 0). Prompts get at most `max_prompt` tokens, outputs at
/// most `max_output`.
std::vector<CheckRequest> scaled_requests(TraceReader& trace,
                                          std::int64_t max_prompt,
                                          std::int64_t max_output,
                                          std::int64_t limit);

}  // namespace octavo::sim::check
