// Random numbers that are the same everywhere: xoshiro256** seeded through splitmix64 (Blackman and
// Vigna, "Scrambled linear pseudorandom number generators", 2019; both in the public domain), and
// the few distributions that workloads need.
//
// Nothing here is floating point and nothing calls libm, whose results differ between versions; the
// distributions of the standard library are not used because their algorithms are unspecified.
// A value type without hidden state: copying it copies the sequence.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace octavo::sim {

/// Advances `state` and returns the next number of the splitmix64 sequence.
constexpr std::uint64_t splitmix64(std::uint64_t& state) noexcept {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed) noexcept {
    for (std::uint64_t& word : state_) {
      word = splitmix64(seed);
    }
  }

  /// Starts from this state, which must not be all zero.
  explicit constexpr Rng(const std::array<std::uint64_t, 4>& state) noexcept : state_(state) {}

  /// Uniform over all 64-bit numbers.
  constexpr std::uint64_t next() noexcept {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform over [0, bound), exactly; bound must not be 0. Numbers from the incomplete last run of
  /// `bound` numbers below 2^64 are drawn again.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    const std::uint64_t rest = (0 - bound) % bound;  // 2^64 mod bound
    for (;;) {
      const std::uint64_t value = next();
      if (value <= ~std::uint64_t{0} - rest) {
        return value % bound;
      }
    }
  }

  /// Uniform over [low, high], both included; low <= high, and high - low < 2^63.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }

  /// True in `numerator` of `denominator` cases.
  constexpr bool chance(std::uint64_t numerator, std::uint64_t denominator) noexcept {
    return below(denominator) < numerator;
  }

  /// An index into `weights`, each as likely as its weight; the weights must not all be 0.
  constexpr std::size_t weighted(std::span<const std::uint32_t> weights) noexcept {
    std::uint64_t sum = 0;
    for (const std::uint32_t weight : weights) {
      sum += weight;
    }
    std::uint64_t left = below(sum);
    std::size_t index = 0;
    while (left >= weights[index]) {
      left -= weights[index];
      ++index;
    }
    return index;
  }

  /// A long-tailed length: octave k is [low * 2^k, low * 2^(k+1)), drawn with weights[k], and the
  /// length is uniform within its octave. low >= 1.
  constexpr std::int64_t octaves(std::int64_t low,
                                 std::span<const std::uint32_t> weights) noexcept {
    const std::int64_t start = low << weighted(weights);
    return between(start, 2 * start - 1);
  }

  /// An exponentially distributed time by von Neumann's method of comparing uniform numbers (1951),
  /// which is exact up to the resolution of 2^-32 means. 0 <= mean < 2^56.
  constexpr std::int64_t exponential(std::int64_t mean) noexcept {
    for (std::int64_t whole_means = 0;; ++whole_means) {
      const std::uint64_t first = next() >> 32;
      std::uint64_t last = first;
      bool accepted = false;  // Whether the falling run from `first` has odd length.
      for (bool odd = true;; odd = !odd) {
        const std::uint64_t value = next() >> 32;
        if (value >= last) {
          accepted = odd;
          break;
        }
        last = value;
      }
      if (accepted) {
        const auto high = static_cast<std::uint64_t>(mean) >> 32;
        const auto low = static_cast<std::uint64_t>(mean) & 0xffffffffULL;
        return whole_means * mean + static_cast<std::int64_t>(high * first + ((low * first) >> 32));
      }
    }
  }

  /// An independent generator for another component.
  constexpr Rng fork() noexcept { return Rng(next()); }

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace octavo::sim
