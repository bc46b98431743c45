// Speculative decoding: a cheap model proposes tokens, the step checks them all at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "octavo/sim/rng.h"
#include "octavo/sim/serve/serving_config.h"

namespace octavo::sim {

/// Tokens that a sequence feeds in one step when `left` are still to be generated: the latest one
/// and the drafts behind it. A step generates one token more than it accepts, so no draft goes
/// beyond the end.
inline std::int64_t fed_tokens(std::int64_t draft_tokens, std::int64_t left) noexcept {
  return 1 + std::min(draft_tokens, left - 1);
}

/// How many of `drafts` are accepted: each one when all before it were, with the probability, in
/// integers and therefore exactly. Draws one number a draft looked at.
inline std::int64_t accepted_drafts(std::int64_t drafts, std::int64_t millionths, Rng& rng) {
  std::int64_t accepted = 0;
  while (accepted < drafts && rng.chance(static_cast<std::uint64_t>(millionths), kMillion)) {
    ++accepted;
  }
  return accepted;
}

}  // namespace octavo::sim
