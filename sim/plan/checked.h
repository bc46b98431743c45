// 64-bit arithmetic that raises instead of wrapping. `what` names the quantity in the message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "octavo/error.h"

namespace octavo::sim {

[[noreturn]] inline void raise_overflow(std::string_view what) {
  throw Error(ErrorCode::InvalidArgument, std::string(what) + " does not fit into 63 bits");
}

inline std::int64_t checked_mul(std::int64_t a, std::int64_t b, std::string_view what) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    raise_overflow(what);
  }
  return result;
}

inline std::int64_t checked_add(std::int64_t a, std::int64_t b, std::string_view what) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) {
    raise_overflow(what);
  }
  return result;
}

/// For a >= 0, b > 0.
inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace octavo::sim
