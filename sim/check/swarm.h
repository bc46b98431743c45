// What a seed chooses: the make-up of the cache, which faults there are and how often, and how the
// server behaves. Some are off, others wildly likely, so that runs differ in kind and not only in
// detail (swarm testing: Groce et al., ISSTA 2012).
//
// Pure functions of the generator.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "octavo/sim/check/check.h"
#include "octavo/sim/rng.h"

namespace octavo::sim::check {

struct Swarm {
  CheckSetup setup;
  std::array<std::uint32_t, kCheckFaults> weights = {};
  /// A fault comes with one of so many steps; 0: never.
  std::int64_t fault_every = 0;
  std::int64_t chunk = 16;               ///< Prompt tokens that a sequence appends in one step.
  std::int64_t drafts = 0;               ///< Tokens speculated beside the next one.
  std::int64_t boundary_chance = 0;      ///< Of 16 retirements, so many name boundaries.
  std::int64_t partial_addressable = 0;  ///< Of 16 prompts, so many may be shared in part only.
  std::int64_t other_namespaces = 0;     ///< Of 16 sessions, so many are not in namespace 0.
  std::int64_t rare_every = 0;  ///< Resets, invalidations and the like, once in so many steps.

  std::uint32_t weight(CheckFault fault) const { return weights[static_cast<std::size_t>(fault)]; }
};

Swarm draw_swarm(Rng& rng, const CheckOptions& options, std::int64_t max_output);

/// In one line, the seed first.
std::string describe(const Swarm& swarm, std::uint64_t seed);

}  // namespace octavo::sim::check
