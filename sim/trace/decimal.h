// Decimal numbers of trace files as exact integers: never through a double, no locale.
#pragma once

#include <cstdint>
#include <string_view>

namespace octavo::sim {

/// Whether `text` is digits, then perhaps a fraction, then perhaps an exponent; no sign, no blanks.
bool is_decimal(std::string_view text);

/// `text`, for which `is_decimal` holds, times 10^`digits`, rounded to the nearest integer, halves
/// up. Returns false when the result exceeds int64.
bool scale_decimal(std::string_view text, int digits, std::int64_t& result);

}  // namespace octavo::sim
