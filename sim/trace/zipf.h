// A choice among ranked items, the one of rank r with a probability proportional to r^-s, in
// integer arithmetic alone.
#pragma once

#include <cstdint>
#include <vector>

#include "octavo/sim/rng.h"

namespace octavo::sim {

/// r^-s in units of 2^-40, rounded, at least 1; off by a part of (s + 1) 2^-30 at most (tested).
/// r in [1, 2^32), s = exponent_permille / 1000 in [0, 100].
std::uint64_t zipf_weight(std::uint64_t rank, std::uint64_t exponent_permille);

/// Owns a table of one number an item; choosing is O(log items).
class Zipf {
 public:
  /// Ranks 1 to `items`; items in [1, 2^20].
  Zipf(std::int64_t items, std::int64_t exponent_permille);

  /// An index from 0, the most popular first.
  std::uint64_t choose(Rng& rng) const;

 private:
  std::vector<std::uint64_t> sums_;  // sums_[i]: the weights of the items up to and with i.
};

}  // namespace octavo::sim
