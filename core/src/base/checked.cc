#include "base/checked.h"

#include <string>

namespace octavo {

SizeOverflow::SizeOverflow(std::string_view what)
    : Error(ErrorCode::InvalidArgument,
            std::string(what) + " does not fit into 64 bits; the largest is 9223372036854775807") {}

std::int64_t checked_add(std::int64_t a, std::int64_t b, std::string_view what) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    throw SizeOverflow(what);
  }
  return sum;
}

std::int64_t checked_mul(std::int64_t a, std::int64_t b, std::string_view what) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    throw SizeOverflow(what);
  }
  return product;
}

}  // namespace octavo
