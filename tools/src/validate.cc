#include "validate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <system_error>
#include <utility>

#include "command.h"
#include "octavo/error.h"

namespace octavo::tools {
namespace {

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  out += text;
  out += '\'';
  return out;
}

std::string range_text(std::string_view value, std::int64_t least, std::int64_t most) {
  std::string out(value);
  out += " is outside [";
  out += std::to_string(least);
  out += ", ";
  out += std::to_string(most);
  out += ']';
  return out;
}

// Empty when `text` is a decimal integer in the range, else what is wrong with it.
std::string read_integer(std::string_view text,
                         std::int64_t least,
                         std::int64_t most,
                         std::int64_t& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (rest != end || error == std::errc::invalid_argument) {
    return in_quotes(text) + " is not an integer";
  }
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.size() > 1 && digits.front() == '0') {
    return in_quotes(text) + " is not a plain decimal integer";  // CLI11 would convert it as octal
  }
  if (error == std::errc::result_out_of_range || value < least || value > most) {
    return range_text(text, least, most);
  }
  return {};
}

std::string read_number(std::string_view text, double& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (rest != end || error != std::errc() || !std::isfinite(value)) {
    return in_quotes(text) + " is not a finite decimal number";
  }
  return {};
}

enum class SizeError { None, NotANumber, Range };

// Whole numbers are multiplied as such: a double holds no more than 53 bits of them.
SizeError read_whole_size(std::string_view digits, std::int64_t factor, std::int64_t& size_bytes) {
  const char* end = digits.data() + digits.size();
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  if (error == std::errc::invalid_argument || rest != end) {
    return SizeError::NotANumber;
  }
  if (error != std::errc() || number > kInt64Max / factor) {
    return SizeError::Range;
  }
  size_bytes = number * factor;
  return SizeError::None;
}

SizeError read_fraction_size(std::string_view digits,
                             std::int64_t factor,
                             std::int64_t& size_bytes) {
  double number = 0;
  if (!read_number(digits, number).empty()) {
    return SizeError::NotANumber;
  }
  const double bytes = std::floor(number * static_cast<double>(factor));
  if (bytes >= 9223372036854775808.0) {  // 2^63; 2^63 - 1 is no double
    return SizeError::Range;
  }
  size_bytes = static_cast<std::int64_t>(bytes);
  return SizeError::None;
}

[[noreturn]] void refuse(std::string_view name, std::string_view what) {
  std::string message(name);
  message += ": ";
  message += what;
  throw UsageError(message);
}

}  // namespace

CLI::Validator integer_range(std::int64_t least, std::int64_t most) {
  return CLI::Validator(
      [least, most](std::string& text) {
        std::int64_t value = 0;
        return read_integer(text, least, most, value);
      },
      "");
}

CLI::Validator number_range(double least, double most, bool above) {
  return CLI::Validator(
      [least, most, above](std::string& text) {
        double value = 0;
        std::string wrong = read_number(text, value);
        if (wrong.empty() && (value < least || value > most || (above && value == least))) {
          std::ostringstream out;
          out << text << " is outside " << (above ? '(' : '[') << least << ", " << most << ']';
          wrong = out.str();
        }
        return wrong;
      },
      "");
}

CLI::Validator taken_by(void (*parse)(std::string_view name)) {
  return CLI::Validator(
      [parse](std::string& name) {
        try {
          parse(name);
        } catch (const Error& error) {
          const std::string message = error.what();
          const std::size_t end = message.find(": ");
          return end == std::string::npos ? message : message.substr(end + 2);
        }
        return std::string();
      },
      "");
}

CLI::Validator one_of(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](std::string& text) {
        std::string wrong = in_quotes(text) + " is none of ";
        for (const std::string& word : words) {
          if (word == text) {
            return std::string();
          }
          wrong += word;
          wrong += &word == &words.back() ? "" : ", ";
        }
        return wrong;
      },
      "");
}

std::int64_t parse_integer(std::string_view name,
                           std::string_view text,
                           std::int64_t least,
                           std::int64_t most) {
  std::int64_t value = 0;
  if (const std::string wrong = read_integer(text, least, most, value); !wrong.empty()) {
    refuse(name, wrong);
  }
  return value;
}

std::vector<std::int64_t> parse_integer_list(std::string_view name,
                                             std::string_view text,
                                             std::int64_t least,
                                             std::int64_t most) {
  std::vector<std::int64_t> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) {
      refuse(name, in_quotes(text) + " has an empty element");
    }
    values.push_back(parse_integer(name, text.substr(begin, end - begin), least, most));
    begin = end + 1;
  }
  return values;
}

std::int64_t parse_size(std::string_view name, std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 10> kUnits{{
      {"", 1},
      {"B", 1},
      {"KiB", 1LL << 10},
      {"MiB", 1LL << 20},
      {"GiB", 1LL << 30},
      {"TiB", 1LL << 40},
      {"KB", 1'000},
      {"MB", 1'000'000},
      {"GB", 1'000'000'000},
      {"TB", 1'000'000'000'000},
  }};
  const std::size_t length = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view digits = text.substr(0, length);
  std::string_view unit_text = text.substr(length);
  unit_text.remove_prefix(std::min(unit_text.find_first_not_of(' '), unit_text.size()));
  for (const auto& [unit, factor] : kUnits) {
    if (unit != unit_text) {
      continue;
    }
    std::int64_t size_bytes = 0;
    const SizeError error = digits.find('.') == std::string_view::npos
                                ? read_whole_size(digits, factor, size_bytes)
                                : read_fraction_size(digits, factor, size_bytes);
    if (error == SizeError::NotANumber) {
      break;
    }
    if (error == SizeError::Range || size_bytes < 1) {
      refuse(name, in_quotes(text) + " is outside [1, 9223372036854775807] bytes");
    }
    return size_bytes;
  }
  refuse(name,
         in_quotes(text) + " is not a size such as 80GiB (B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)");
}

CLI::Option* add_integer_list(CLI::App& app,
                              const std::string& name,
                              std::vector<std::int64_t>& values,
                              std::int64_t least,
                              std::int64_t most,
                              const std::string& description) {
  const auto read = [&values, name, least, most](const CLI::results_t& texts) {
    values.clear();
    for (const std::string& text : texts) {
      const auto more = parse_integer_list(name, text, least, most);
      values.insert(values.end(), more.begin(), more.end());
    }
    return true;
  };
  return app.add_option(name, read, description)
      ->type_name("N[,N...]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::Option* add_size(CLI::App& app,
                      const std::string& name,
                      std::int64_t& size_bytes,
                      const std::string& description) {
  const auto read = [&size_bytes, name](const CLI::results_t& texts) {
    size_bytes = parse_size(name, texts.front());
    return true;
  };
  return app.add_option(name, read, description)->type_name("SIZE")->expected(1);
}

}  // namespace octavo::tools
