#include "decimal.h"

#include <limits>

namespace octavo::sim {

bool scale_decimal(std::string_view text, int digits, std::int64_t& result) {
  // The exponent decides how many digits of the mantissa stand before the point.
  const std::size_t e = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, e);
  std::int64_t exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view written = text.substr(e + 1);
    const bool negative = written.front() == '-';
    if (negative || written.front() == '+') {
      written.remove_prefix(1);
    }
    for (const char c : written) {
      // An exponent that large moves every digit out, whatever follows; the cap keeps it in range.
      exponent = exponent > 1'000'000'000'000 ? exponent : exponent * 10 + (c - '0');
    }
    exponent = negative ? -exponent : exponent;
  }
  const std::size_t dot = mantissa.find('.');
  const std::size_t whole_digits = dot == std::string_view::npos ? mantissa.size() : dot;
  const std::int64_t before_point =
      static_cast<std::int64_t>(whole_digits) + exponent + std::int64_t{digits};

  std::int64_t value = 0;
  std::int64_t position = 0;  // Of the digit at hand, counted without the point.
  for (const char c : mantissa) {
    if (c == '.') {
      continue;
    }
    const int digit = c - '0';
    if (position == before_point) {
      if (digit >= 5) {
        if (value == std::numeric_limits<std::int64_t>::max()) {
          return false;
        }
        ++value;
      }
      result = value;
      return true;
    }
    if (position > before_point) {
      break;  // The first digit already lies more than one place behind the point.
    }
    if (__builtin_mul_overflow(value, std::int64_t{10}, &value) ||
        __builtin_add_overflow(value, std::int64_t{digit}, &value)) {
      return false;
    }
    ++position;
  }
  for (; value != 0 && position < before_point; ++position) {
    if (__builtin_mul_overflow(value, std::int64_t{10}, &value)) {
      return false;
    }
  }
  result = value;
  return true;
}

namespace {

std::size_t digits_from(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    ++at;
  }
  return at;
}

}  // namespace

bool is_decimal(std::string_view text) {
  std::size_t at = digits_from(text, 0);
  if (at == 0) {
    return false;
  }
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = at + 1;
    at = digits_from(text, fraction);
    if (at == fraction) {
      return false;
    }
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
      ++at;
    }
    const std::size_t exponent = at;
    at = digits_from(text, exponent);
    if (at == exponent) {
      return false;
    }
  }
  return at == text.size();
}

}  // namespace octavo::sim
