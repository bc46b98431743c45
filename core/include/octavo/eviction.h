// Which parked block a full pool gives up first: the policies of BlockManagerConfig::policy.
//
// Every policy keeps two rules: only parked blocks leave, and a block leaves after everything that
// continues it. Within them each ranks by its own order; what each does is in core/README.md.
#pragma once

#include <cstdint>
#include <string_view>

namespace octavo {

enum class EvictionPolicy : std::uint8_t {
  Lru,       ///< Least recently parked first; the default.
  Fifo,      ///< First sealed first, however often it was served since.
  Lfu,       ///< Least often served first, ties to the least recently parked.
  Slru,      ///< Segmented LRU: blocks served again live in a protected segment.
  TwoQueue,  ///< 2Q: a FIFO of newcomers, a memory of what left it, an LRU of what came back.
  Arc,       ///< Adaptive replacement between what was seen once and what was seen again.
  S3Fifo,    ///< Three static FIFO queues: small, main and a memory of what left.
  Sieve,     ///< One FIFO with a hand that passes over what was served since its last visit.
  Priority,  ///< Lowest retention priority first, expired ones before, then LRU.
  Hdq,       ///< Hit-density queues, guarded against losing to LRU.
};

/// "lru", "fifo", "lfu", "slru", "2q", "arc", "s3fifo", "sieve", "priority", "hdq".
std::string_view to_string(EvictionPolicy policy) noexcept;

/// The inverse of `to_string`. Raises InvalidArgument for another name.
EvictionPolicy parse_eviction_policy(std::string_view name);

}  // namespace octavo
