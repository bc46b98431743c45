// Decimal numbers of trace files as exact integers: never through a double, no locale.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace octavo::sim {

/// Decimals that turn seconds, or milliseconds, into nanoseconds.
inline constexpr int kSecondDigits = 9;
inline constexpr int kMillisecondDigits = 6;

/// Whether `text` is digits, then perhaps a fraction, then perhaps an exponent; no sign, no blanks.
bool is_decimal(std::string_view text);

/// `text`, for which `is_decimal` holds, times 10^`digits`, rounded to the nearest integer, halves
/// up. Returns false when the result exceeds int64.
bool scale_decimal(std::string_view text, int digits, std::int64_t& result);

template <typename Integer>
void append_number(std::string& text, Integer value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  text.append(digits, end);
}

}  // namespace octavo::sim
