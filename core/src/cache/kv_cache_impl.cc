#include "cache/kv_cache_impl.h"

#include <algorithm>
#include <string>

#include "cache/errors.h"

namespace octavo {

using cache::at;
using cache::refuse;

namespace {

constexpr VirtualMemory::Pages kSmall = VirtualMemory::Pages::Small;

BlockManagerConfig manager_config(const KVPlan& plan, const KVCacheConfig& config) {
  return {.num_blocks = plan.num_blocks,
          .block_size = static_cast<int>(plan.block_size),
          .max_seqs = static_cast<int>(plan.max_seqs),
          .max_tokens_per_seq = plan.max_tokens_per_seq,
          .max_blocks_per_seq = plan.max_blocks_per_seq,
          .window = static_cast<int>(plan.release_window),
          .prefix_caching = plan.serves_prefixes,
          .policy = plan.policy,
          .events = config.paged->events};
}

std::variant<BlockManager, cache::ContinuousSlots> make_slots(const KVPlan& plan,
                                                              const KVCacheConfig& config) {
  if (plan.has_paged_rows) {
    return BlockManager(manager_config(plan, config));
  }
  return cache::ContinuousSlots(static_cast<int>(plan.max_seqs), plan.max_tokens_per_seq);
}

std::int64_t count_cross_rows(const KVPlan& plan) {
  return std::count_if(plan.rows.begin(), plan.rows.end(), [](const KVRowPlan& row) {
    return row.kind == KVLayerKind::CrossAttentionKV;
  });
}

}  // namespace

KVCache::Impl::Impl(KVPlan plan, const KVCacheConfig& config)
    : storage_(std::move(plan), config.device),
      uploader_(config.device == nullptr ? host_device() : config.device),
      slots_(make_slots(storage_.plan(), config)),
      storage_ops_(storage_),
      rings_(storage_.plan()),
      notes_(at(storage_.plan().max_seqs), kSmall, "the slots' notes"),
      lens_(at(storage_.plan().max_seqs), kSmall, "the lengths"),
      cross_rows_(count_cross_rows(storage_.plan())),
      staged_(at(storage_.plan().max_seqs) + 1, kSmall, "a step's lengths") {
  const KVTablesPlan& tables = storage_.plan().tables;
  const std::size_t max_seqs = at(storage_.plan().max_seqs);
  const auto buffer = [&](int table) { return cache::IntBuffer(storage_.table(table)); };
  lens_buffer_ = buffer(tables.seq_lens);
  cu_seqlens_q_ = buffer(tables.cu_seqlens_q);
  cu_seqlens_k_ = buffer(tables.cu_seqlens_k);
  slot_ids_ = buffer(tables.slot_ids);
  offsets_ = buffer(tables.reserve_offsets);
  cross_cu_seqlens_q_ = buffer(tables.cross_cu_seqlens_q);
  cross_cu_seqlens_k_ = buffer(tables.cross_cu_seqlens_k);
  cross_slot_ids_ = buffer(tables.cross_slot_ids);
  if (cross_rows_ > 0) {
    cross_lens_buffer_ = buffer(tables.cross_lens);
    cross_lens_ = VirtualArray<std::int32_t>(at(cross_rows_) * max_seqs, kSmall,
                                             "the cross-attention lengths");
  }
  if (storage_.plan().has_paged_rows) {
    table_ = cache::BlockTableBuffer(
        storage_.table(tables.block_table), storage_.table(tables.step_block_table),
        storage_.plan().max_blocks_per_seq, storage_.plan().release_window > 0);
    dirty_rows_.reserve(max_seqs);
  }
  beginners_.reserve(max_seqs);
}

// --- Lookups ---

void KVCache::Impl::require_slot(const char* call, int slot) const {
  cache::require_slot(call, slot, plan().max_seqs);
}

void KVCache::Impl::require_healthy(const char* call, int slot) const {
  if (notes_[at(slot)].is_failed) {
    refuse(ErrorCode::FailedPrecondition, call,
           "the device failed while the K/V of slot " + std::to_string(slot) +
               " was being arranged; abandon_batch, evict_batch and reset take it");
  }
}

std::int64_t KVCache::Impl::reserved_len(const char* call, int slot) const {
  require_slot(call, slot);
  return with_slots([&](const auto& slots) { return slots.reserved_len(slot); });
}

std::int64_t KVCache::Impl::committed_len(const char* call, int slot) const {
  require_slot(call, slot);
  return with_slots([&](const auto& slots) { return slots.committed_len(slot); });
}

Tensor KVCache::Impl::seq_lens() {
  on_device([&] { flush_lens(); });
  return lens_buffer_.tensor();
}

Tensor KVCache::Impl::block_table() {
  if (blocks() == nullptr) {
    return {};
  }
  on_device([&] { flush_rows(); });
  return table_.table();
}

// --- What the device must learn of ---

void KVCache::Impl::note_length(int slot, std::int64_t length) noexcept {
  lens_[at(slot)] = static_cast<std::int32_t>(length);
  if (dirty_lens_begin_ == dirty_lens_end_) {
    dirty_lens_begin_ = slot;
    dirty_lens_end_ = std::int64_t{slot} + 1;
  } else {
    dirty_lens_begin_ = std::min<std::int64_t>(dirty_lens_begin_, slot);
    dirty_lens_end_ = std::max<std::int64_t>(dirty_lens_end_, std::int64_t{slot} + 1);
  }
}

// Cells wholly below the lowest committed length do not change (BlockManager::block_table).
void KVCache::Impl::note_row(int slot, std::int64_t committed) noexcept {
  if (blocks() == nullptr) {
    return;
  }
  SlotNote& note = notes_[at(slot)];
  note.lowest_commit = std::min(note.lowest_commit, static_cast<std::int32_t>(committed));
  if (!note.row_is_dirty) {
    note.row_is_dirty = true;
    dirty_rows_.push_back(slot);
  }
}

void KVCache::Impl::flush_lens() {
  if (dirty_lens_begin_ < dirty_lens_end_) {
    lens_buffer_.write(dirty_lens_begin_,
                       {lens_.data() + dirty_lens_begin_, at(dirty_lens_end_ - dirty_lens_begin_)},
                       uploader_);
    dirty_lens_begin_ = dirty_lens_end_ = 0;
  }
}

void KVCache::Impl::flush_rows() {
  table_.ensure_known(uploader_);
  const BlockManager& manager = *blocks();
  for (const std::int32_t slot : dirty_rows_) {
    SlotNote& note = notes_[at(slot)];
    table_.sync(slot, manager.block_table(slot), note.lowest_commit / plan().block_size, uploader_);
    note.lowest_commit = static_cast<std::int32_t>(manager.committed_len(slot));
    note.row_is_dirty = false;
  }
  dirty_rows_.clear();
}

void KVCache::Impl::forget_uploads() noexcept {
  for (cache::IntBuffer* buffer :
       {&lens_buffer_, &cross_lens_buffer_, &cu_seqlens_q_, &cu_seqlens_k_, &slot_ids_, &offsets_,
        &cross_cu_seqlens_q_, &cross_cu_seqlens_k_, &cross_slot_ids_}) {
    buffer->forget();
  }
  dirty_lens_begin_ = 0;
  dirty_lens_end_ = plan().max_seqs;
  if (blocks() != nullptr) {
    table_.forget();
    dirty_rows_.clear();
    for (std::int32_t slot = 0; slot < plan().max_seqs; ++slot) {
      notes_[at(slot)].row_is_dirty = false;
      note_row(slot, 0);
    }
  }
}

// After the slot was freed: host mirrors only, the device learns of it at the next flush.
void KVCache::Impl::forget_slot(int slot) noexcept {
  notes_[at(slot)].is_failed = false;
  note_length(slot, 0);
  note_row(slot, 0);
  rings_.forget(slot);
  for (std::int64_t row = 0; row < cross_rows_; ++row) {
    cross_lens_[at(row * plan().max_seqs + slot)] = 0;
  }
}

void KVCache::Impl::invalidate_namespace(std::uint64_t namespace_id) {
  with_slots([&](auto& slots) { slots.invalidate_namespace(namespace_id); });
}

void KVCache::Impl::reset() {
  with_slots([](auto& slots) { slots.reset(); });
  for (int slot = 0; slot < plan().max_seqs; ++slot) {
    forget_slot(slot);
  }
}

}  // namespace octavo
