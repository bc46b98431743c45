// How the cache refuses: a sentence that begins with the call and names argument, value and range.
#pragma once

#include <cstdint>
#include <string>

#include "octavo/error.h"

namespace octavo::cache {

/// Ids and counts are never negative where they index; this says so to the compiler.
template <class Integer>
constexpr std::size_t at(Integer index) noexcept {
  return static_cast<std::size_t>(index);
}

[[noreturn]] inline void refuse(ErrorCode code, const char* call, const std::string& what) {
  throw Error(code, std::string(call) + ": " + what);
}

/// "admit: prompt length 0 is outside [1, 64]".
[[noreturn]] inline void refuse_outside(const char* call,
                                        const std::string& name,
                                        std::int64_t value,
                                        std::int64_t low,
                                        std::int64_t high) {
  refuse(ErrorCode::InvalidArgument, call,
         name + " " + std::to_string(value) + " is outside [" + std::to_string(low) + ", " +
             std::to_string(high) + "]");
}

/// "evict_batch: slot 4 is outside [0, 4)".
inline void require_slot(const char* call, std::int64_t slot, std::int64_t max_seqs) {
  if (slot < 0 || slot >= max_seqs) {
    refuse(ErrorCode::InvalidArgument, call,
           "slot " + std::to_string(slot) + " is outside [0, " + std::to_string(max_seqs) + ")");
  }
}

}  // namespace octavo::cache
