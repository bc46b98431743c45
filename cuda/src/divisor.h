// Division by a number that a whole launch divides by: the host finds the reciprocal, a thread
// multiplies. A GPU has no instruction that divides integers; what stands for it takes some twenty.
//
// Plain data and pure functions of it.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/platform.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// n / by is n * multiplier / 2^shift, both rounded down, for n in [0, 2^31).
///
/// With 2^(s - 1) < by <= 2^s, shift is 31 + s and multiplier is 2^shift / by rounded up, which
/// fits 32 bits. multiplier * by exceeds 2^shift by less than by <= 2^s, so that the quotient
/// exceeds n / by by less than n * 2^s / (by * 2^shift) < 1 / by; and n / by lacks 1 / by at least
/// to the next whole number.
struct Divisor {
  std::uint32_t multiplier = 0;
  std::uint32_t shift = 0;
};

/// For `by` in [1, 2^31).
constexpr Divisor make_divisor(std::int64_t by) {
  const auto number = static_cast<std::uint64_t>(by);
  const auto shift = 31 + static_cast<std::uint32_t>(std::bit_width(number - 1));
  const std::uint64_t power = std::uint64_t{1} << shift;
  return {static_cast<std::uint32_t>((power + number - 1) / number), shift};
}

__device__ __forceinline__ std::uint32_t quotient(std::uint32_t n, Divisor by) {
  return static_cast<std::uint32_t>(std::uint64_t{n} * by.multiplier >> by.shift);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
