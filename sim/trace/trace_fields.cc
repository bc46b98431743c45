#include "trace_fields.h"

#include <limits>
#include <string>

namespace octavo::sim {
namespace {

constexpr auto kInt64Max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
constexpr std::uint64_t kUint64Max = std::numeric_limits<std::uint64_t>::max();

// The integers a field may hold, and how to name the field. Messages are composed only when there
// is something to refuse, so that reading allocates nothing.
struct IntegerField {
  std::string_view name;
  std::uint64_t min;
  std::uint64_t max;
  std::size_t index = kNoIndex;  // Of the element, when the field is an array.

  static constexpr std::size_t kNoIndex = std::numeric_limits<std::size_t>::max();

  [[noreturn]] void refuse(const JsonScanner& scanner, const std::string& what) const {
    std::string full_name(name);
    if (index != kNoIndex) {
      full_name += "[" + std::to_string(index) + "]";
    }
    scanner.refuse(full_name, what + ", expected an integer in [" + std::to_string(min) + ", " +
                                  std::to_string(max) + "]");
  }
};

std::uint64_t read_integer(JsonScanner& scanner, const IntegerField& field) {
  std::uint64_t value = 0;
  if (!scanner.quick_integer(value)) {
    JsonNumber number;
    if (!scanner.number(number)) {
      field.refuse(scanner, "is " + scanner.describe_value());
    }
    if (!number.integral) {
      field.refuse(scanner, "is not written as an integer (" + shown(number.text) + ")");
    }
    if (number.negative && (number.magnitude != 0 || number.overflow)) {
      field.refuse(scanner, "is negative (" + shown(number.text) + ")");
    }
    if (number.overflow) {
      field.refuse(scanner, "does not fit 64 bits (" + shown(number.text) + ")");
    }
    value = number.magnitude;
  }
  if (value < field.min || value > field.max) {
    field.refuse(scanner, "is out of range (" + std::to_string(value) + ")");
  }
  return value;
}

// text, a JSON number that is not negative, times 10^digits, rounded to the nearest integer, halves
// up. Returns false when the result exceeds int64.
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

}  // namespace

std::int64_t read_count(JsonScanner& scanner, std::string_view field, std::int64_t min) {
  return static_cast<std::int64_t>(read_integer(
      scanner, {.name = field, .min = static_cast<std::uint64_t>(min), .max = kInt64Max}));
}

std::uint64_t read_id(JsonScanner& scanner, std::string_view field) {
  return read_integer(scanner, {.name = field, .min = 0, .max = kUint64Max});
}

std::int64_t read_time_ns(JsonScanner& scanner, std::string_view field, int digits) {
  const auto refuse = [&](const std::string& what) {
    std::uint64_t max = kInt64Max;
    for (int i = 0; i < digits; ++i) {
      max /= 10;
    }
    scanner.refuse(field, what + ", expected a number in [0, " + std::to_string(max) + "]");
  };
  JsonNumber number;
  if (!scanner.number(number)) {
    refuse("is " + scanner.describe_value());
  }
  std::int64_t time_ns = 0;
  const std::string_view text = number.negative ? number.text.substr(1) : number.text;
  if (number.negative &&
      text.substr(0, text.find_first_of("eE")).find_first_not_of("0.") != std::string_view::npos) {
    refuse("is negative (" + shown(number.text) + ")");
  }
  if (!scale_decimal(text, digits, time_ns)) {
    refuse("is out of range (" + shown(number.text) + ")");
  }
  return time_ns;
}

void read_ids(JsonScanner& scanner, std::string_view field, std::vector<std::uint64_t>& ids) {
  ids.clear();
  if (!scanner.enter_array()) {
    scanner.refuse(field, "is " + scanner.describe_value() + ", expected an array of integers");
  }
  for (bool first = true; scanner.next_element(first); first = false) {
    ids.push_back(
        read_integer(scanner, {.name = field, .min = 0, .max = kUint64Max, .index = ids.size()}));
  }
}

void check_id_count(const JsonScanner& scanner,
                    std::string_view ids_field,
                    std::string_view length_field,
                    std::size_t ids,
                    std::int64_t input_tokens,
                    std::int64_t block_size) {
  const std::int64_t expected = blocks_of(input_tokens, block_size);
  if (static_cast<std::int64_t>(ids) != expected) {
    scanner.refuse(ids_field, "has " + std::to_string(ids) + " ids, expected " +
                                  std::to_string(expected) + " = ceil(" +
                                  std::string(length_field) + " " + std::to_string(input_tokens) +
                                  " / " + std::to_string(block_size) + " tokens a block)");
  }
}

}  // namespace octavo::sim
