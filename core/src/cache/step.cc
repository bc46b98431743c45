// Steps: check, send what is known already, apply, send what only now is known.

#include <string>
#include <utility>

#include "cache/errors.h"
#include "cache/kv_cache_impl.h"

namespace octavo {

using cache::at;
using cache::refuse;

// --- Checks: nothing changes ---

void KVCache::Impl::check_step_size(const char* call,
                                    std::int64_t sequence,
                                    std::int64_t count) const {
  const std::int64_t limit = plan().max_step_tokens;
  if (limit > 0 && count > limit) {
    refuse(ErrorCode::InvalidArgument, call,
           "sequence " + std::to_string(sequence) + " adds " + std::to_string(count) +
               " tokens; the cache was sized for steps of at most " + std::to_string(limit) +
               " (max_step_tokens)");
  }
}

void KVCache::Impl::check_step(Ids cu_seqlens_q, Ids past_len, Ids slots) {
  with_slots([&](auto& book) { book.check_step(cu_seqlens_q, past_len, slots); });
  for (std::size_t i = 0; i < slots.size(); ++i) {
    require_healthy("prepare_step", slots[i]);
    check_step_size("prepare_step", static_cast<std::int64_t>(i),
                    cu_seqlens_q[i + 1] - cu_seqlens_q[i]);
    rings_.check("prepare_step", slots[i], past_len[i]);
  }
}

// --- Parts of a step ---

// cu_seqlens_k: lengths after the append, or their running sum.
KVCache::Impl::Ids KVCache::Impl::stage_lengths(Ids cu_seqlens_q,
                                                Ids past_len,
                                                bool cumulative) noexcept {
  const std::size_t batch = past_len.size();
  std::int32_t* out = staged_.data();
  std::int32_t sum = 0;
  if (cumulative) {
    *out++ = 0;
  }
  for (std::size_t i = 0; i < batch; ++i) {
    const std::int32_t length = past_len[i] + cu_seqlens_q[i + 1] - cu_seqlens_q[i];
    *out++ = cumulative ? sum += length : length;
  }
  return {staged_.data(), cumulative ? batch + 1 : batch};
}

// A sequence that begins begins with zeroed states, whoever had the slot before and whatever a
// failed device left there.
void KVCache::Impl::collect_beginners(Ids slots, Ids positions) noexcept {
  beginners_.clear();
  if (storage_ops_.has_states()) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (positions[i] == 0) {
        beginners_.push_back(slots[i]);
      }
    }
  }
}

// The slots have not moved yet: an error takes back the lengths that `work` has noted for them.
template <class Work>
void KVCache::Impl::before_apply(Ids slots, Work&& work) {
  try {
    on_device(std::forward<Work>(work));
  } catch (...) {
    for (const std::int32_t slot : slots) {
      note_length(slot, with_slots([&](const auto& book) { return book.reserved_len(slot); }));
    }
    throw;
  }
}

void KVCache::Impl::after_apply(Ids slots, bool gathers) {
  if (blocks() == nullptr) {
    return;
  }
  try {
    on_device([&] {
      storage_ops_.copy_blocks(blocks()->copies(), uploader_);
      flush_rows();
      if (gathers) {
        table_.gather(slots, slot_id_buffer(), uploader_);
      }
    });
  } catch (...) {
    for (const std::int32_t slot : slots) {
      notes_[at(slot)].is_failed = true;
    }
    throw;
  }
}

// In a cache of paged rows alone only the gather reads slot ids, so they share the buffer of
// reserve's offsets: either is valid until the next step only.
cache::IntBuffer& KVCache::Impl::slot_id_buffer() noexcept {
  return plan().has_slot_rows ? slot_ids_ : offsets_;
}

KVCache::StepIndices KVCache::Impl::indices_of_step(std::int64_t batch,
                                                    std::int64_t lengths) const {
  StepIndices indices;
  indices.cu_seqlens_q = cu_seqlens_q_.head(batch + 1);
  indices.cu_seqlens_k = cu_seqlens_k_.head(lengths);
  if (plan().has_slot_rows) {
    indices.slot_ids = slot_ids_.head(batch);
  }
  indices.kvcache_start = plan().has_paged_rows ? table_.gathered(batch) : indices.slot_ids;
  return indices;
}

// --- The verbs ---

Tensor KVCache::Impl::reserve(Tensor slot_ids, Ids n_new) {
  BlockManager* const manager = blocks();
  if (manager == nullptr) {
    refuse(ErrorCode::FailedPrecondition, "reserve",
           "the cache has no paged rows, so there are no blocks to acquire; prepare_step reserves");
  }
  const cache::HostIds ids = host_ids("reserve", "slot_ids", std::move(slot_ids));
  const Ids slots = ids.span();
  manager->check_reserve(slots, n_new);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    require_healthy("reserve", slots[i]);
    if (rings_.active()) {
      check_step_size("reserve", static_cast<std::int64_t>(i), n_new[i]);
    }
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    staged_[i] = static_cast<std::int32_t>(manager->reserved_len(slots[i]));
  }
  const Ids offsets = {staged_.data(), slots.size()};
  collect_beginners(slots, offsets);
  before_apply(slots, [&] {
    storage_ops_.zero_states(beginners_, uploader_);
    offsets_.write(0, offsets, uploader_);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      note_length(slots[i], std::int64_t{offsets[i]} + n_new[i]);
    }
    flush_lens();
  });

  manager->reserve(slots, n_new, {staged_.data(), slots.size()});
  for (std::size_t i = 0; i < slots.size(); ++i) {
    rings_.note(slots[i], offsets[i], std::int64_t{offsets[i]} + n_new[i]);
    note_row(slots[i], offsets[i]);
  }
  after_apply(slots, false);
  return offsets_.head(static_cast<std::int64_t>(slots.size()));
}

KVCache::StepIndices KVCache::Impl::prepare_step(Ids cu_seqlens_q, Ids past_len, Ids slots) {
  check_step(cu_seqlens_q, past_len, slots);
  const std::size_t batch = slots.size();
  const bool decode = at(cu_seqlens_q[batch]) == batch;  // Every query length is at least 1.
  const Ids lengths = stage_lengths(cu_seqlens_q, past_len, plan().has_paged_rows && !decode);
  collect_beginners(slots, past_len);
  const auto end_of = [&](std::size_t i) {
    return std::int64_t{past_len[i]} + cu_seqlens_q[i + 1] - cu_seqlens_q[i];
  };
  before_apply(slots, [&] {
    storage_ops_.zero_states(beginners_, uploader_);
    cu_seqlens_q_.write(0, cu_seqlens_q, uploader_);
    cu_seqlens_k_.write(0, lengths, uploader_);
    slot_id_buffer().write(0, slots, uploader_);
    for (std::size_t i = 0; i < batch; ++i) {
      note_length(slots[i], end_of(i));
    }
    flush_lens();
  });

  if (BlockManager* const manager = blocks()) {
    (void)manager->prepare_step(cu_seqlens_q, past_len, slots);
  } else {
    std::get<cache::ContinuousSlots>(slots_).apply_step(cu_seqlens_q, past_len, slots);
  }
  for (std::size_t i = 0; i < batch; ++i) {
    rings_.note(slots[i], past_len[i], end_of(i));
    note_row(slots[i], past_len[i]);
  }
  after_apply(slots, true);
  return indices_of_step(static_cast<std::int64_t>(batch),
                         static_cast<std::int64_t>(lengths.size()));
}

}  // namespace octavo
