// The random generators of a simulation, each for one purpose and each from the one seed, so that
// another router, say, leaves every client's patience what it was.
#pragma once

#include <cstdint>

#include "octavo/sim/rng.h"

namespace octavo::sim {

/// Patience and think times, drawn for each request in the order of the trace.
inline Rng client_stream(std::uint64_t seed) {
  return Rng(seed);
}

/// Draws of the router.
inline Rng router_stream(std::uint64_t seed) {
  return Rng(seed ^ 0x726F75746572ULL);
}

/// Speculation in one replica.
inline Rng replica_stream(std::uint64_t seed, int replica) {
  Rng seeds(seed ^ 0x7265706C69636173ULL);
  for (int i = 0; i < replica; ++i) {
    seeds.next();
  }
  return seeds.fork();
}

}  // namespace octavo::sim
