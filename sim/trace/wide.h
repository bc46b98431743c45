// 128-bit intermediates, so that scaling a 64-bit number by a ratio loses nothing on the way.
#pragma once

#include <cstdint>

namespace octavo::sim {

__extension__ using Wide = unsigned __int128;

/// floor(a * b / c). c must not be 0; the result must fit.
constexpr std::uint64_t mul_div(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return static_cast<std::uint64_t>(Wide{a} * b / c);
}

}  // namespace octavo::sim
