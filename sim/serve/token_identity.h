// Which token stands at which position of a request: what a cache compares.
//
// A trace's id names a block of a prompt and everything before it, so the token at an offset inside
// the block is a function of the id and the offset. What no id names, nobody shares: those tokens
// are the request's own.
//
// Generated tokens are not in a trace. Where the next turn of the session continues this one, its
// ids at the positions behind this prompt name them. A block that is only begun in this prompt has
// another id when it is filled up by a later turn; the first turn of the session that fills it
// names it, so that all turns agree. A continuation is a prompt that is not shorter and agrees in
// all of the whole blocks; that it differs inside of the last, unfinished block cannot be seen.
//
// Two different ids differ in every stretch of two or more positions, and in a single one but for
// one case in 2^32 (the two halves of a mixed id take turns); of own tokens, against ids, the same
// holds but for one case in 2^64.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "octavo/sim/trace.h"

namespace octavo::sim {

/// Names of a request's positions, from the front.
struct TokenNames {
  std::vector<std::uint64_t> ids{};  ///< One a trace block.
  std::int64_t named_tokens = 0;     ///< Positions that the ids name; the rest is own.
  std::int64_t owner = 0;            ///< The request's place in the trace.
  std::int64_t trace_block = 1;      ///< Tokens an id.

  /// Writes the tokens of positions [begin, end) to `out`.
  void write(std::int64_t begin, std::int64_t end, std::int32_t* out) const;
};

/// Finds the names of one request: begin, then extend by the later turns of its session, in order,
/// until it wants no more, then finish.
class TokenNamer {
 public:
  TokenNamer(std::int64_t trace_block, const TraceTraits& traits)
      : trace_block_(trace_block), traits_(traits) {}

  /// Reuses the memory of `names`, which must stay until finish. Returns whether later turns could
  /// name more.
  bool begin(const TraceRequest& request, std::int64_t index, TokenNames& names);
  bool extend(const TraceRequest& later);
  void finish();

 private:
  std::int64_t whole_blocks(const TraceRequest& request) const {
    return request.input_tokens / trace_block_;
  }

  std::int64_t trace_block_;
  TraceTraits traits_;
  const TraceRequest* first_ = nullptr;
  const TraceRequest* last_ = nullptr;  ///< The latest turn that continues all before it.
  TokenNames* names_ = nullptr;
  std::int64_t end_ = 0;  ///< Positions that can have names at all.
};

}  // namespace octavo::sim
