#include "number_text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace octavo::sim {
namespace {

std::string grouped_digits(const std::string& digits) {
  std::string result;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) {
      result += ',';
    }
    result += digits[i];
  }
  return result;
}

}  // namespace

std::string grouped(std::int64_t value) {
  const std::string text = std::to_string(value);
  return value < 0 ? "-" + grouped_digits(text.substr(1)) : grouped_digits(text);
}

std::string decimal(double value, int decimals) {
  std::array<char, 512> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::fixed, decimals);
  std::string text(buffer.data(), error == std::errc{} ? end : buffer.data());
  if (!std::isfinite(value) || text.empty()) {
    return text;
  }
  const bool negative = text[0] == '-';
  if (negative) {
    text.erase(0, 1);
  }
  const std::size_t point = text.find('.');
  std::string result = grouped_digits(text.substr(0, point));
  if (point != std::string::npos) {
    result += text.substr(point);
  }
  const bool zero = result.find_first_not_of("0.,") == std::string::npos;
  return negative && !zero ? "-" + result : result;
}

std::string gib_text(std::int64_t bytes, int decimals) {
  return decimal(static_cast<double>(bytes) / kGib, decimals);
}

}  // namespace octavo::sim
