// Seeded random compositions that are legal by construction, from one slot to terabytes of pool.
#pragma once

#include <cstdint>
#include <vector>

#include "octavo/kv_config.h"

namespace octavo::testing {

/// splitmix64: every platform draws the same.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  /// In [low, high].
  int between(int low, int high) {
    return low + static_cast<int>(next() % static_cast<std::uint64_t>(high - low + 1));
  }

  /// In [1, 2^bits), small ones as likely as large ones.
  int magnitude(int bits) {
    const int width = between(1, bits);
    return static_cast<int>((std::uint64_t{1} << (width - 1)) |
                            (next() & ((std::uint64_t{1} << (width - 1)) - 1)));
  }

  bool one_in(int n) { return between(1, n) == 1; }

 private:
  std::uint64_t state_;
};

struct Composition {
  KVCacheConfig config;
  std::vector<KVLayerSpec> specs;
};

/// `size_bits` bounds the counts: slots below 2^size_bits, blocks below 2^(2 * size_bits).
Composition random_composition(Random& random, int size_bits);

}  // namespace octavo::testing
