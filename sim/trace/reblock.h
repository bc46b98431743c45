// Splits the ids of a trace into ids of smaller blocks.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "octavo/sim/trace.h"

namespace octavo::sim {

/// Part j of id i becomes the id name(i) * parts + j, so that two results are equal exactly where
/// the ids and the places in them were. Small ids name themselves, which takes no memory; larger
/// ones are numbered as they appear and remembered. Blocks without an id (tails of traces that name
/// whole blocks only, all blocks of traces without ids) get one that never comes again.
class Reblock {
 public:
  /// `block_size` must divide `trace_block` when the trace has ids.
  Reblock(const TraceTraits& traits, std::int64_t trace_block, std::int64_t block_size);

  /// Replaces the ids: ceil(input_tokens / block_size) of them are there afterwards.
  void apply(TraceRequest& request);

 private:
  std::uint64_t name_of(std::uint64_t id);
  std::uint64_t new_name();

  bool has_ids_;
  bool is_identity_;
  std::int64_t trace_block_;
  std::int64_t block_size_;
  std::uint64_t parts_;
  std::uint64_t own_names_;  // Ids below it name themselves; given names follow it.
  std::uint64_t given_ = 0;
  // Looked up by key only, never iterated: its order decides nothing.
  std::unordered_map<std::uint64_t, std::uint64_t> names_;
  std::vector<std::uint64_t> ids_;  // Kept for its capacity.
};

}  // namespace octavo::sim
