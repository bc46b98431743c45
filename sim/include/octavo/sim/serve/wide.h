// 128-bit counts for times: products of counts and rates that 64 bits would not hold.
#pragma once

#include <cstdint>
#include <limits>

namespace octavo::sim {

__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): no such alias is ISO

inline constexpr std::int64_t kPicosecondsPerNs = 1000;
inline constexpr std::int64_t kPicosecondsPerS = 1'000'000'000'000;

/// For a value that is not negative.
constexpr Wide wide(std::int64_t value) {
  return static_cast<Wide>(value);
}

/// `value`, or the largest time where it is larger.
constexpr std::int64_t clamped(Wide value) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  return value > wide(kMax) ? kMax : static_cast<std::int64_t>(value);
}

/// Picoseconds as nanoseconds, rounded up, at least 1.
constexpr std::int64_t ns_of_picoseconds(Wide picoseconds) {
  const Wide ns = (picoseconds + (kPicosecondsPerNs - 1)) / kPicosecondsPerNs;
  return ns == 0 ? 1 : clamped(ns);
}

}  // namespace octavo::sim
