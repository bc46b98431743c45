#include "tests/cuda/simulated_gpu/machine/constants.h"

#include <charconv>
#include <string_view>
#include <system_error>

namespace octavo::simulated_gpu {
namespace {

template <typename T>
std::optional<T> parsed(std::string_view text, int base) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::optional<std::uint64_t> number_of(const std::string& text) {
  constexpr int kHexadecimal = 16;
  constexpr int kDecimal = 10;
  const std::string_view view(text);
  if (view.starts_with("0f") || view.starts_with("0F") || view.starts_with("0x")) {
    return parsed<std::uint64_t>(view.substr(2), kHexadecimal);
  }
  if (view.starts_with('-')) {
    const auto value = parsed<std::int64_t>(view, kDecimal);
    return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
  }
  return parsed<std::uint64_t>(view, kDecimal);
}

std::optional<std::uint64_t> symbol_of(const std::string& text, const Symbols& symbols) {
  const std::size_t plus = text.find('+');
  const auto found = symbols.find(text.substr(0, plus));
  if (found == symbols.end()) {
    return std::nullopt;
  }
  if (plus == std::string::npos) {
    return found->second;
  }
  const auto offset = number_of(text.substr(plus + 1));
  return offset ? std::optional(found->second + *offset) : std::nullopt;
}

}  // namespace octavo::simulated_gpu
