// Hits of each session in a cache of its own.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "octavo/sim/trace_stats.h"

namespace octavo::sim {

class SessionHitCounter {
 public:
  void add(const TraceRequest& request);

  SessionHits finish() const;

 private:
  // Never iterated: the position of a session in counts_.
  std::unordered_map<std::uint64_t, std::size_t> sessions_;
  std::vector<HitCount> counts_;  // In order of first appearance.
  // Never iterated, only asked: session and id mixed into one number.
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace octavo::sim
