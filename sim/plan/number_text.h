// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace octavo::sim {

/// 1234567 -> "1,234,567".
std::string grouped(std::int64_t value);

/// With `decimals` digits after the point and the thousands grouped: 1234.5 -> "1,234.50".
std::string decimal(double value, int decimals);

/// Bytes as GiB: "3.81".
std::string gib_text(std::int64_t bytes, int decimals = 2);

inline constexpr double kGib = 1073741824.0;

}  // namespace octavo::sim
