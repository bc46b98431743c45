// The tokens that a trace's ids stand for.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "octavo/sim/trace.h"

namespace octavo::sim {

/// Turns requests into token ids. Two ids give different tokens at every offset; the same id and
/// offset give the same token every time. A tail without an id gives tokens that nothing else has
/// at its offsets.
class PromptTokens {
 public:
  /// `trace_block`: tokens an id; `pseudo_block`: 0, or the block size that divides it and of which
  /// one token is to stand for a whole block.
  PromptTokens(std::int64_t trace_block, std::int64_t pseudo_block)
      : trace_block_(trace_block), pseudo_block_(pseudo_block) {}

  /// The request's prompt: a token a position, or a token a block (the last may stand for a partial
  /// one). Valid until the next call.
  std::span<const std::int32_t> expand(const TraceRequest& request);

 private:
  std::uint32_t name_of(std::uint64_t id);
  std::uint32_t new_name();

  std::int64_t trace_block_;
  std::int64_t pseudo_block_;
  std::vector<std::int32_t> tokens_;
  std::uint64_t given_ = 0;  // Names for large ids and for tails.
  // Looked up by key only, never walked: its order decides nothing.
  std::unordered_map<std::uint64_t, std::uint32_t> names_;
};

}  // namespace octavo::sim
