#include "router.h"

namespace octavo::sim {

int Router::choose(std::span<const std::int64_t> loads, std::span<const std::int64_t> uncached) {
  const std::size_t replicas = loads.size();
  switch (kind_) {
    case RouterKind::LeastLoaded:
      return least(loads);
    case RouterKind::LongestPrefix:
      costs_.assign(loads.begin(), loads.end());
      for (std::size_t i = 0; i < replicas; ++i) {
        costs_[i] += prefix_weight_ * uncached[i];
      }
      return least(costs_);
    case RouterKind::PowerOfTwo: {
      if (replicas == 1) {
        return 0;
      }
      const std::size_t first = rng_.below(replicas);
      std::size_t second = rng_.below(replicas - 1);
      second += second >= first ? 1 : 0;
      return static_cast<int>(loads[second] < loads[first] ? second : first);
    }
    case RouterKind::RoundRobin:
      break;
  }
  const std::size_t chosen = turn_;
  turn_ = (turn_ + 1) % replicas;
  return static_cast<int>(chosen);
}

// The least; of equal ones the first from the one whose turn it is.
int Router::least(std::span<const std::int64_t> costs) {
  std::size_t best = turn_;
  for (std::size_t i = 1; i < costs.size(); ++i) {
    const std::size_t candidate = (turn_ + i) % costs.size();
    if (costs[candidate] < costs[best]) {
      best = candidate;
    }
  }
  turn_ = (best + 1) % costs.size();
  return static_cast<int>(best);
}

}  // namespace octavo::sim
