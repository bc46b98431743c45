#include "decimal.h"

#include <algorithm>

#include "command.h"
#include "validate.h"

namespace octavo::tools {
namespace {

[[noreturn]] void refuse(std::string_view name, std::string_view text, const std::string& what) {
  throw UsageError(std::string(name) + ": '" + std::string(text) + "' " + what);
}

}  // namespace

std::string decimal_text(std::int64_t value, int digits) {
  std::string text = std::to_string(value < 0 ? -value : value);
  const auto places = static_cast<std::size_t>(digits);
  if (text.size() <= places) {
    text.insert(0, places + 1 - text.size(), '0');
  }
  text.insert(text.size() - places, ".");
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') {
    text.pop_back();
  }
  return (value < 0 ? "-" : "") + text;
}

std::int64_t parse_decimal(std::string_view name,
                           std::string_view text,
                           int digits,
                           std::int64_t least,
                           std::int64_t most) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = point < text.size() ? text.substr(point + 1) : "";
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (whole.empty() || (point < text.size() && fraction.empty()) ||
      !std::all_of(whole.begin(), whole.end(), is_digit) ||
      !std::all_of(fraction.begin(), fraction.end(), is_digit)) {
    refuse(name, text, "is not a plain decimal number");
  }
  if (fraction.size() > static_cast<std::size_t>(digits)) {
    refuse(name, text, "has more than " + std::to_string(digits) + " digits behind the point");
  }
  std::string all(whole);
  all += fraction;
  all.append(static_cast<std::size_t>(digits) - fraction.size(), '0');
  std::int64_t value = 0;
  for (const char c : all) {
    const std::int64_t digit = c - '0';
    if (value > (kInt64Max - digit) / 10) {
      value = kInt64Max;
      break;
    }
    value = value * 10 + digit;
  }
  if (value < least || value > most) {
    refuse(name, text,
           "is outside [" + decimal_text(least, digits) + ", " + decimal_text(most, digits) + "]");
  }
  return value;
}

CLI::Option* add_decimal(CLI::App& app,
                         const std::string& name,
                         std::int64_t& value,
                         int digits,
                         std::int64_t least,
                         std::int64_t most,
                         const std::string& description) {
  const auto read = [&value, name, digits, least, most](const CLI::results_t& texts) {
    value = parse_decimal(name, texts.front(), digits, least, most);
    return true;
  };
  return app.add_option(name, read, description)
      ->expected(1)
      ->type_name("X")
      ->default_str(decimal_text(value, digits));
}

}  // namespace octavo::tools
