// The flow graph of a kernel's machine code: blocks of instructions that run one after the other,
// and where each can go on.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "tests/cuda/compiled/sass.h"

namespace octavo::compiled {

struct FlowBlock {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  std::size_t begin = 0;  ///< Of its instructions.
  std::size_t end = 0;
  std::vector<std::size_t> successors;
  std::vector<std::size_t> predecessors;  ///< Those that are reached.
  std::size_t order = kNone;              ///< In reverse postorder; none for what is not reached.
  std::size_t dominator = kNone;          ///< The immediate one; its own for the first block.
};

struct FlowGraph {
  std::vector<FlowBlock> blocks;   ///< By address; the first is the entry.
  std::vector<std::size_t> order;  ///< What is reached, in reverse postorder.

  /// Whether every way to `b` passes `a`; both are reached.
  bool dominates(std::size_t a, std::size_t b) const;
};

/// Blocks end after every branch and before every target. A branch for warps whose threads have
/// parted leads on alone, and a call of a subroutine comes back.
FlowGraph flow_of(const SassCode& code);

}  // namespace octavo::compiled
