// Arithmetic on sizes that refuses to wrap: 64 bits or an Error that says what did not fit.
#pragma once

#include <cstdint>
#include <string_view>

#include "octavo/error.h"

namespace octavo {

/// An InvalidArgument whose cause is the size itself, so that a search for the largest size that
/// fits can tell it from a composition that is illegal at any size.
class SizeOverflow : public Error {
 public:
  explicit SizeOverflow(std::string_view what);
};

/// a + b. Raises SizeOverflow naming `what` ("the total footprint").
std::int64_t checked_add(std::int64_t a, std::int64_t b, std::string_view what);

/// a * b. Raises SizeOverflow naming `what`.
std::int64_t checked_mul(std::int64_t a, std::int64_t b, std::string_view what);

/// ceil(a / b) for a >= 0, b >= 1; cannot overflow.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace octavo
