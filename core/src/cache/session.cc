// The verbs of a session around its steps.

#include <utility>

#include "cache/errors.h"
#include "cache/kv_cache_impl.h"

namespace octavo {

using cache::at;

cache::HostIds KVCache::Impl::host_ids(const char* call, const char* argument, Tensor ids) {
  try {
    return {call, argument, std::move(ids), fetched_, uploader_.counters()};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::DeviceError) {
      forget_uploads();
    }
    throw;
  }
}

void KVCache::Impl::set_namespace(int slot, std::uint64_t namespace_id) {
  require_slot("set_namespace", slot);
  with_slots([&](auto& slots) { slots.set_namespace(slot, namespace_id); });
}

std::int64_t KVCache::Impl::admit(int slot, Tensor prompt_ids, std::int64_t addressable_len) {
  require_slot("admit", slot);
  require_healthy("admit", slot);
  const cache::HostIds ids = host_ids("admit", "prompt_ids", std::move(prompt_ids));
  const std::int64_t served =
      with_slots([&](auto& slots) { return slots.admit(slot, ids.span(), addressable_len); });
  note_length(slot, served);
  note_row(slot, 0);
  if (blocks() != nullptr && !blocks()->copies().empty()) {
    try {
      on_device([&] { storage_ops_.copy_blocks(blocks()->copies(), uploader_); });
    } catch (...) {
      notes_[at(slot)].is_failed = true;
      throw;
    }
  }
  return served;
}

void KVCache::Impl::update_position(int slot, std::int64_t new_pos) {
  if (new_pos <= reserved_len("update_position", slot)) {
    require_healthy("update_position", slot);
    rings_.check("update_position", slot, new_pos);
  }
  with_slots([&](auto& slots) { slots.update_position(slot, new_pos); });
  rings_.note(slot, new_pos, new_pos);
  note_length(slot, new_pos);
  note_row(slot, new_pos);
}

void KVCache::Impl::retire(int slot,
                           Tensor history,
                           std::int64_t addressable_len,
                           std::span<const std::int64_t> boundaries) {
  require_slot("retire", slot);
  require_healthy("retire", slot);
  const cache::HostIds ids = host_ids("retire", "full_token_ids", std::move(history));
  with_slots([&](auto& slots) { slots.retire(slot, ids.span(), addressable_len, boundaries); });
  forget_slot(slot);
}

// A device that failed may still be writing what it was told to: that is abandon's case.
void KVCache::Impl::evict(int slot) {
  require_slot("evict_batch", slot);
  if (notes_[at(slot)].is_failed) {
    with_slots([&](auto& slots) { slots.abandon(slot); });
  } else {
    with_slots([&](auto& slots) { slots.evict(slot); });
  }
  forget_slot(slot);
}

void KVCache::Impl::abandon(int slot) {
  require_slot("abandon_batch", slot);
  with_slots([&](auto& slots) { slots.abandon(slot); });
  forget_slot(slot);
}

}  // namespace octavo
