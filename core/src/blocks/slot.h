// What the block manager knows of one slot.
//
// The slot's cells, left to right: `released` cells that a window gave back (-1); then
// `path_blocks` cells of sealed blocks, which the slot holds through `node`; then private cells. Of
// the private ones, at most the first may be a leaf: a block taken over behind the partial keys
// that name it. Lengths: 0 <= committed <= reserved <= cells * block_size.
#pragma once

#include <cstdint>
#include <limits>

#include "blocks/ids.h"

namespace octavo::blocks {

struct alignas(64) Slot {
  static constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();

  // What a decode step reads.
  std::int32_t reserved;
  std::int32_t committed;
  std::int32_t writable_from;  ///< A step that writes below here must first look closer (N8).
  std::int32_t seal_at;        ///< Committing this length may seal a block; kNever: none is due.
  std::int32_t cells;
  std::int32_t in_flight_end;  ///< End of what a device may be writing (N9); 0: nothing.
  std::uint32_t batch;         ///< The latest batch that named the slot: finds duplicates.
  bool active;                 ///< Admitted or reserved: not fresh. All zero is a fresh slot.
  bool admitted;
  bool stepped;  ///< Something was reserved since the last rewind.

  // Where its prefix stands.
  NodeId root;  ///< The generation it was given; kNoNode before.
  NodeId node;  ///< Where its path ends; the root when path_blocks is 0.
  NodeId own;   ///< The run it is growing, if any.
  NodeId leaf;  ///< The leaf it has taken over, at cell leaf_cell.
  std::int32_t leaf_cell;
  std::int32_t path_blocks;
  std::int32_t released;
  std::int32_t enroll_blocks;  ///< Blocks of the prompt to be sealed as they are committed.
};
static_assert(sizeof(Slot) == 64);

}  // namespace octavo::blocks
