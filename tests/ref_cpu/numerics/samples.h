// Inputs for the tests of the arithmetic: a small generator of its own, since the standard
// distributions are not the same everywhere, and a dense sample of all floats.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace octavo::numerics_test {

inline float from_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
inline std::uint32_t to_bits(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

/// The same bits, where all NaNs are one.
inline bool same(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : to_bits(a) == to_bits(b);
}

/// splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
  }
  /// Uniform in [-1, 1), 24 bits.
  float unit() {
    return static_cast<float>(static_cast<std::int64_t>(next() >> 39) - (1 << 24)) * 0x1p-24f;
  }
  float between(float low, float high) { return low + (high - low) * (0.5f + 0.5f * unit()); }
  std::vector<float> units(std::int64_t n, float scale = 1.0f) {
    std::vector<float> values(static_cast<std::size_t>(n));
    for (float& value : values) {
      value = unit() * scale;
    }
    return values;
  }

 private:
  std::uint64_t state_;
};

/// Calls `visit(bits)` for floats of every sign and exponent (subnormals, infinities and NaNs
/// included), with every pattern of the mantissa's leading 11 bits and eight patterns of the
/// others that sit on and around the ties of all narrower formats: 8.4 million values.
template <typename Visit>
void visit_dense_floats(Visit visit) {
  constexpr std::uint32_t kTails[] = {0, 1, 0x2AA, 0x7FF, 0x800, 0x801, 0xABC, 0xFFF};
  for (std::uint32_t head = 0; head < 1u << 20; ++head) {
    for (const std::uint32_t tail : kTails) {
      visit(head << 12 | tail);
    }
  }
}

}  // namespace octavo::numerics_test
