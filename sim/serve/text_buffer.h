// Numbers appended to a string without locale or allocation beyond the string's own.
#pragma once

#include <charconv>
#include <cstdint>
#include <ostream>
#include <string>

namespace octavo::sim {

inline constexpr std::size_t kFlushBytes = std::size_t{1} << 16;

inline void append(std::string& text, std::int64_t value) {
  char digits[24];
  const auto result = std::to_chars(digits, digits + sizeof(digits), value);
  text.append(digits, result.ptr);
}

inline void append(std::string& text, std::uint64_t value) {
  char digits[24];
  const auto result = std::to_chars(digits, digits + sizeof(digits), value);
  text.append(digits, result.ptr);
}

/// `thousandths` / 1000 with three decimals: 12345 -> "12.345". Not negative.
inline void append_thousandths(std::string& text, std::int64_t thousandths) {
  append(text, thousandths / 1000);
  const auto rest = static_cast<int>(thousandths % 1000);
  text += '.';
  text += static_cast<char>('0' + rest / 100);
  text += static_cast<char>('0' + rest / 10 % 10);
  text += static_cast<char>('0' + rest % 10);
}

inline void flush(std::string& text, std::ostream& out) {
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  text.clear();
}

inline void flush_when_full(std::string& text, std::ostream& out) {
  if (text.size() >= kFlushBytes) {
    flush(text, out);
  }
}

}  // namespace octavo::sim
