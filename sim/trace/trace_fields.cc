#include "trace_fields.h"

#include <limits>
#include <string>

#include "decimal.h"

namespace octavo::sim {
namespace {

constexpr auto kSignedMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
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

// An integer of field.max at most, or a negative one of at least -2^63 as the same 64 bits.
std::uint64_t read_signed_integer(JsonScanner& scanner, const IntegerField& field) {
  std::uint64_t value = 0;
  if (scanner.quick_integer(value) && value <= field.max) {
    return value;
  }
  const auto refuse = [&](const std::string& what) {
    std::string full_name(field.name);
    if (field.index != IntegerField::kNoIndex) {
      full_name += "[" + std::to_string(field.index) + "]";
    }
    scanner.refuse(full_name, what + ", expected an integer in [-9223372036854775808, " +
                                  std::to_string(field.max) + "]");
  };
  JsonNumber number;
  if (value != 0 || !scanner.number(number)) {
    refuse(value != 0 ? "is out of range (" + std::to_string(value) + ")"
                      : "is " + scanner.describe_value());
  }
  if (!number.integral) {
    refuse("is not written as an integer (" + shown(number.text) + ")");
  }
  const std::uint64_t most = number.negative ? kSignedMax + 1 : field.max;
  if (number.overflow || number.magnitude > most) {
    refuse("is out of range (" + shown(number.text) + ")");
  }
  return number.negative ? 0 - number.magnitude : number.magnitude;
}

void enter_ids(JsonScanner& scanner, std::string_view field) {
  if (!scanner.enter_array()) {
    scanner.refuse(field, "is " + scanner.describe_value() + ", expected an array of integers");
  }
}

}  // namespace

std::int64_t read_count(JsonScanner& scanner, std::string_view field, std::int64_t min) {
  return static_cast<std::int64_t>(read_integer(
      scanner, {.name = field, .min = static_cast<std::uint64_t>(min), .max = kSignedMax}));
}

std::uint64_t read_id(JsonScanner& scanner, std::string_view field) {
  return read_integer(scanner, {.name = field, .min = 0, .max = kUint64Max});
}

std::int64_t read_time_ns(JsonScanner& scanner, std::string_view field, int digits) {
  const auto refuse = [&](const std::string& what) {
    std::uint64_t max = kSignedMax;
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

std::int64_t read_signed(JsonScanner& scanner, std::string_view field) {
  return static_cast<std::int64_t>(
      read_signed_integer(scanner, {.name = field, .min = 0, .max = kSignedMax}));
}

std::string_view read_name(JsonScanner& scanner, std::string_view field) {
  std::string_view text;
  if (scanner.text(text)) {
    return text;
  }
  JsonNumber number;
  if (!scanner.number(number) || !number.integral) {
    scanner.refuse(field, "is neither a string nor an integer, expected a name");
  }
  return number.text;
}

void read_ids(JsonScanner& scanner, std::string_view field, std::vector<std::uint64_t>& ids) {
  ids.clear();
  enter_ids(scanner, field);
  for (bool first = true; scanner.next_element(first); first = false) {
    ids.push_back(
        read_integer(scanner, {.name = field, .min = 0, .max = kUint64Max, .index = ids.size()}));
  }
}

void read_signed_ids(JsonScanner& scanner,
                     std::string_view field,
                     std::vector<std::uint64_t>& ids) {
  ids.clear();
  enter_ids(scanner, field);
  for (bool first = true; scanner.next_element(first); first = false) {
    ids.push_back(read_signed_integer(
        scanner, {.name = field, .min = 0, .max = kUint64Max, .index = ids.size()}));
  }
}

std::int64_t add_times(const JsonScanner& scanner,
                       std::string_view field,
                       std::int64_t a,
                       std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    scanner.refuse(field, "leads past the largest time (" + std::to_string(b) + " ns after " +
                              std::to_string(a) + " ns), expected a time of at most " +
                              std::to_string(kSignedMax) + " ns");
  }
  return sum;
}

void check_id_count(const JsonScanner& scanner,
                    std::string_view ids_field,
                    std::string_view length_field,
                    std::size_t ids,
                    std::int64_t input_tokens,
                    std::int64_t block_size,
                    bool tail_has_id) {
  const std::int64_t expected = ids_of(input_tokens, block_size, tail_has_id);
  if (static_cast<std::int64_t>(ids) != expected) {
    scanner.refuse(ids_field, "has " + std::to_string(ids) + " ids, expected " +
                                  std::to_string(expected) +
                                  (tail_has_id ? " = ceil(" : " = floor(") +
                                  std::string(length_field) + " " + std::to_string(input_tokens) +
                                  " / " + std::to_string(block_size) + " tokens a block)");
  }
}

}  // namespace octavo::sim
