// What a server may tell the eviction policy, and what a router asks of the cached prefixes. None
// of it moves a slot, so the device need not hear of it.

#include "cache/errors.h"
#include "cache/kv_cache_impl.h"

namespace octavo {

using cache::refuse;

BlockManager& KVCache::Impl::paged(const char* call) {
  if (blocks() == nullptr) {
    refuse(ErrorCode::FailedPrecondition, call,
           "the cache has no paged rows, so there are no blocks to keep or evict");
  }
  return *blocks();
}

void KVCache::Impl::note_output(int slot, std::int64_t output_tokens) {
  require_slot("note_output", slot);
  require_healthy("note_output", slot);
  with_slots([&](auto& slots) { slots.note_output(slot, output_tokens); });
}

void KVCache::Impl::set_retention(int slot, int priority, std::int64_t ttl_ticks) {
  require_slot("set_retention", slot);
  require_healthy("set_retention", slot);
  paged("set_retention").set_retention(slot, priority, ttl_ticks);
}

void KVCache::Impl::advance_clock(std::int64_t now_ticks) {
  paged("advance_clock").advance_clock(now_ticks);
}

CachedPrefix KVCache::Impl::cached_prefix(Ids prompt,
                                          std::int64_t addressable_len,
                                          std::uint64_t namespace_id) const {
  return with_slots([&](const auto& slots) {
    return slots.cached_prefix(prompt, addressable_len, namespace_id);
  });
}

}  // namespace octavo
