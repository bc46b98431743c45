#include "octavo/eviction.h"

#include <string>

#include "octavo/error.h"

namespace octavo {
namespace {

constexpr std::string_view kNames[] = {"lru", "fifo",   "lfu",   "slru",     "2q",
                                       "arc", "s3fifo", "sieve", "priority", "hdq"};

}  // namespace

std::string_view to_string(EvictionPolicy policy) noexcept {
  return kNames[static_cast<std::size_t>(policy)];
}

EvictionPolicy parse_eviction_policy(std::string_view name) {
  std::string known;
  for (std::size_t index = 0; index < std::size(kNames); ++index) {
    if (name == kNames[index]) {
      return static_cast<EvictionPolicy>(index);
    }
    known += (index == 0 ? "" : ", ") + std::string(kNames[index]);
  }
  throw Error(ErrorCode::InvalidArgument,
              "parse_eviction_policy: \"" + std::string(name) + "\" is none of " + known);
}

}  // namespace octavo
