// A number that counts something, as the index of a container.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octavo::sim::check {

inline std::size_t index(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

}  // namespace octavo::sim::check
