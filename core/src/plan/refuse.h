// How the plan refuses an argument: one sentence with the argument, its value and what is legal.
#pragma once

#include <cstdint>
#include <string>

#include "octavo/error.h"

namespace octavo {

[[noreturn]] inline void refuse(const std::string& sentence) {
  throw Error(ErrorCode::InvalidArgument, sentence);
}

/// "max_seqs is 0; it must be in [1, 16777216]".
inline void require_in_range(const std::string& argument,
                             std::int64_t value,
                             std::int64_t low,
                             std::int64_t high) {
  if (value < low || value > high) {
    refuse(argument + " is " + std::to_string(value) + "; it must be in [" + std::to_string(low) +
           ", " + std::to_string(high) + "]");
  }
}

/// "layer_specs[2].window is -1; it must be >= 0".
inline void require_at_least(const std::string& argument, std::int64_t value, std::int64_t low) {
  if (value < low) {
    refuse(argument + " is " + std::to_string(value) + "; it must be >= " + std::to_string(low));
  }
}

/// "layer_specs[2]", and with a field "layer_specs[2].window".
inline std::string row_name(std::size_t layer, const char* field = nullptr) {
  std::string name = "layer_specs[" + std::to_string(layer) + "]";
  return field == nullptr ? name : name + "." + field;
}

}  // namespace octavo
