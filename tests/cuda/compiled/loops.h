// The loops of a kernel's machine code: natural loops of its flow graph, so that a jump back which
// closes no loop is not taken for one.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "tests/cuda/compiled/sass.h"

namespace octavo::compiled {

/// How often each operation occurs.
using OperationCounts = std::map<unsigned, std::size_t>;

struct Loop {
  std::size_t header = 0;         ///< The instruction that every iteration begins with.
  std::vector<std::size_t> body;  ///< All its instructions, those of inner loops among them.
  bool is_innermost = true;
  OperationCounts operations;  ///< Of the body.

  std::size_t count(unsigned operation) const;
};

/// By header. Code that begins where threads of a warp have parted is left out, and so are the
/// subroutines that a loop calls: the former is not run where they have not, of the latter nothing
/// says how long they run.
std::vector<Loop> find_loops(const SassCode& code);

/// What of a loop's body lies on some way round it that has no `operation`; both sides of every
/// other condition.
std::vector<std::size_t> iteration_without(const SassCode& code,
                                           const Loop& loop,
                                           unsigned operation);

}  // namespace octavo::compiled
