// Ways of a warp through a kernel's machine code, from its first instruction to an exit.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tests/cuda/compiled/sass.h"

namespace octavo::compiled {

/// What a way has to do. Instructions are meant by index.
struct WayRules {
  /// Of each list it passes at least one, in any order; at most eight lists.
  std::vector<std::vector<std::size_t>> passes = {};
  std::vector<std::size_t> avoids = {};  ///< It passes none of these.
  std::vector<std::size_t> free = {};  ///< These do not make it longer: they are counted elsewhere.
};

/// The way with the fewest instructions, without the free ones, in the order in which they run;
/// nothing where there is none. A loop runs once at most unless a rule makes it run again, and of
/// every condition the shorter side is taken that the rules allow: no warp that does what they say
/// runs less.
std::optional<std::vector<std::size_t>> shortest_way(const SassCode& code, const WayRules& rules);

}  // namespace octavo::compiled
