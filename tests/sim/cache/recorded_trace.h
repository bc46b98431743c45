// The recorded traces of a folder `shared` beside the checkout, where it is there.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>

namespace octavo::sim {

/// The path of Mooncake's "conversation" or "synthetic" trace.
inline std::filesystem::path mooncake_trace(const std::string& name) {
  return std::filesystem::path(OCTAVO_SOURCE_DIR) / "../shared/traces/mooncake" /
         (name + "_trace.jsonl");
}

/// A rate as tables print it.
inline std::string with_digits(double rate, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, rate);
  return text;
}

}  // namespace octavo::sim
