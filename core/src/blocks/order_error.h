// How an eviction order says that an invariant does not hold.
#pragma once

#include <cstdint>
#include <string>

#include "octavo/error.h"

namespace octavo::blocks {

/// Raises Internal when `invariant` does not hold; `subject` is the block or count to look at.
inline void require_order(bool holds, const char* invariant, std::int64_t subject) {
  if (!holds) {
    throw Error(ErrorCode::Internal,
                std::string("audit: ") + invariant + " (" + std::to_string(subject) + ")");
  }
}

}  // namespace octavo::blocks
