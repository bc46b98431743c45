// Breadth-first search over all states of a small manager that a list of calls can reach, every
// call compared with the naive model.
//
// A manager cannot be copied, so a state is kept as its path, and the manager is reset and led
// there again for every call that is tried; that it gets there is checked by its digest.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "octavo/block_manager.h"
#include "world.h"

namespace octavo::testkit {

struct Scope {
  BlockManagerConfig config;
  std::function<std::vector<Call>(const World&)> calls;  ///< Those to try in a state.
  int depth = 0;                                         ///< Calls of the longest path.
  std::size_t states_max = 0;  ///< No level is begun with more; 0: no limit.
};

struct Explored {
  std::size_t states = 0;  ///< Distinct by digest and model.
  std::size_t calls = 0;
  std::size_t refused = 0;
  int depth = 0;
  std::array<std::int64_t, kBranches> branches{};

  std::string summary() const;
};

/// Throws Mismatch with the path in its text at the first call that goes wrong.
Explored explore(const Scope& scope);

}  // namespace octavo::testkit
