#include "report_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "number_text.h"

namespace octavo::sim::report {

std::string number(double value, int decimals) {
  std::string text = decimal(value, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') {
      text.pop_back();
    }
  }
  return text == "-0" ? "0" : text;
}

std::string significant(double value, int digits) {
  if (value == 0) {
    return "0";
  }
  const int magnitude = static_cast<int>(std::floor(std::log10(std::fabs(value))));
  return number(value, std::clamp(digits - 1 - magnitude, 0, 12));
}

std::string short_number(double value) {
  static constexpr const char* kSuffixes[] = {"", "k", "M", "G", "T"};
  std::size_t suffix = 0;
  // 999,950 is shown as 1M, not as 1,000k.
  while (std::fabs(value) >= 999.5 && suffix + 1 < std::size(kSuffixes)) {
    value /= 1000;
    ++suffix;
  }
  return significant(value, 3) + kSuffixes[suffix];
}

std::string plain(double value, int decimals) {
  char digits[400];  // The largest double has 309 digits before the point.
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, decimals).ptr;
  std::string text(digits, end);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') {
      text.pop_back();
    }
  }
  return text == "-0" ? "0" : text;
}

std::string counted(double count, const std::string& one) {
  return number(count, 2) + " " + one + (count == 1 ? "" : "s");
}

}  // namespace octavo::sim::report
