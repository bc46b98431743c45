#include "tests/cuda/simulated_gpu/machine/small_floats.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace octavo::simulated_gpu {
namespace {

int exponent_min(const SmallFloat& format) {
  return 2 - (1 << (format.exponent_bits - 1));
}

std::uint32_t sign_bit(const SmallFloat& format) {
  return 1u << (format.exponent_bits + format.mantissa_bits);
}

}  // namespace

std::uint32_t encode(const SmallFloat& format, float x) {
  if (x != x) {
    return format.nan;
  }
  const std::uint32_t sign = std::signbit(x) ? sign_bit(format) : 0;
  const double size = std::fabs(double{x});
  if (std::isinf(size)) {
    return sign | format.overflow;
  }
  // Of the binade, or of the subnormals below the first.
  const int least = exponent_min(format);
  const int exponent = size == 0 ? least : std::max(std::ilogb(size), least);
  const double steps = std::nearbyint(std::ldexp(size, format.mantissa_bits - exponent));
  // A step is a code: past the last of a binade comes the first of the next.
  const auto code = static_cast<std::uint32_t>(steps) +
                    (static_cast<std::uint32_t>(exponent - least) << format.mantissa_bits);
  return sign | (code > format.largest ? format.overflow : code);
}

float decode(const SmallFloat& format, std::uint32_t code) {
  const std::uint32_t size = code & (sign_bit(format) - 1);
  const float sign = (code & sign_bit(format)) != 0 ? -1.0f : 1.0f;
  const bool has_infinity = format.largest != 0x7E;
  if (!has_infinity && size == format.nan) {
    return std::bit_cast<float>(0x7FFFFFFFu);
  }
  const std::uint32_t field = size >> format.mantissa_bits;
  const std::uint32_t mantissa = size & ((1u << format.mantissa_bits) - 1);
  if (has_infinity && field == (1u << format.exponent_bits) - 1) {
    return mantissa == 0 ? sign * INFINITY : std::bit_cast<float>(0x7FFFFFFFu);
  }
  const std::uint32_t implicit = field == 0 ? 0 : 1u << format.mantissa_bits;
  const int exponent = exponent_min(format) + std::max(static_cast<int>(field) - 1, 0);
  return sign *
         std::ldexp(static_cast<float>(implicit + mantissa), exponent - format.mantissa_bits);
}

}  // namespace octavo::simulated_gpu
