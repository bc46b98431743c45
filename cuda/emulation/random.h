// The random numbers of the emulation: small, fast, the same everywhere.
#pragma once

#include <cstdint>

namespace octavo::emulation {

/// A counter through the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : state_(seed) {}

  std::uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15u); }

  /// In [0, limit), for a limit > 0 below 2^32.
  std::uint32_t below(std::uint32_t limit) {
    return static_cast<std::uint32_t>((next() >> 32) * limit >> 32);
  }

  /// The generator of one part of the work of this one, whatever the others draw.
  Random part(std::uint64_t number) const {
    return Random(mixed(state_ ^ mixed(number + 0x632BE59BD9B4E019u)));
  }

 private:
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }

  std::uint64_t state_;
};

}  // namespace octavo::emulation
