// The cache's state and its verbs, which live in one file each group: kv_cache.cc (the public
// face), kv_cache_impl.cc (construction, accessors, what a release leaves behind), step.cc
// (reserve, prepare_step), session.cc (the other verbs of a session), hints.cc (what the eviction
// policy is told, what a router asks), cross.cc (cross-attention), audit.cc.
//
// The lengths of the slots have one owner: the block manager when there are paged rows, else
// ContinuousSlots. Everything else here is storage, or a mirror of what the device holds.
//
// A step is: check everything (nothing changes); send what is known already (indices, lengths,
// zeroed states); apply to the slots, noexcept; send what only now is known (copies of blocks, new
// cells, the gathered table). So an error of the device in the second part leaves everything as it
// was, and only one in the last part leaves slots that count as failed.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/virtual_memory.h"
#include "cache/block_table_buffer.h"
#include "cache/continuous_slots.h"
#include "cache/host_ids.h"
#include "cache/int_buffer.h"
#include "cache/ring_guard.h"
#include "cache/storage_ops.h"
#include "cache/uploader.h"
#include "octavo/block_manager.h"
#include "octavo/kv_cache.h"
#include "plan/kv_storage.h"

namespace octavo {

class KVCache::Impl {
 public:
  using Ids = std::span<const std::int32_t>;

  Impl(KVPlan plan, const KVCacheConfig& config);

  const KVStorage& storage() const noexcept { return storage_; }
  const KVPlan& plan() const noexcept { return storage_.plan(); }
  /// Null without paged rows.
  BlockManager* blocks() noexcept { return std::get_if<BlockManager>(&slots_); }
  KVCacheCounters counters() noexcept { return uploader_.counters().read(); }

  Tensor seq_lens();
  Tensor cross_seq_lens(int layer);
  Tensor block_table();
  std::int64_t reserved_len(const char* call, int slot) const;
  std::int64_t committed_len(const char* call, int slot) const;

  void set_namespace(int slot, std::uint64_t namespace_id);
  std::int64_t admit(int slot, Tensor prompt_ids, std::int64_t addressable_len);
  Tensor reserve(Tensor slot_ids, Ids n_new);
  StepIndices prepare_step(Ids cu_seqlens_q, Ids past_len, Ids slots);
  void update_position(int slot, std::int64_t new_pos);
  void retire(int slot,
              Tensor history,
              std::int64_t addressable_len,
              std::span<const std::int64_t> boundaries);
  void note_output(int slot, std::int64_t output_tokens);
  void evict(int slot);
  void abandon(int slot);
  void invalidate_namespace(std::uint64_t namespace_id);
  void set_retention(int slot, int priority, std::int64_t ttl_ticks);
  void advance_clock(std::int64_t now_ticks);
  CachedPrefix cached_prefix(Ids prompt,
                             std::int64_t addressable_len,
                             std::uint64_t namespace_id) const;
  void reset();
  void fill(int layer, int slot, const Tensor& k, const Tensor& v);
  StepIndices prepare_cross(int layer, Ids cu_seqlens_q, Ids slots);

  void audit() const;
  std::uint64_t digest() const;

 private:
  // What the cache remembers of a slot beside its lengths.
  struct SlotNote {
    std::int32_t lowest_commit;  ///< Lowest committed length since its table row was synced.
    std::uint32_t batch;         ///< The latest prepare_cross that named it: finds duplicates.
    bool row_is_dirty;           ///< It is in dirty_rows_.
    bool is_failed;              ///< The device failed when its K/V was being arranged.
  };

  template <class Work>
  auto with_slots(Work&& work) {
    return std::visit(std::forward<Work>(work), slots_);
  }
  template <class Work>
  auto with_slots(Work&& work) const {
    return std::visit(std::forward<Work>(work), slots_);
  }
  template <class Work>
  void on_device(Work&& work);

  // --- Checks ---
  void require_slot(const char* call, int slot) const;
  void require_healthy(const char* call, int slot) const;
  void check_step_size(const char* call, std::int64_t sequence, std::int64_t count) const;
  BlockManager& paged(const char* call);
  const KVRowPlan& cross_row(const char* call, int layer) const;

  cache::HostIds host_ids(const char* call, const char* argument, Tensor ids);

  // --- Lengths and rows that the device must learn of ---
  void note_length(int slot, std::int64_t length) noexcept;
  void note_row(int slot, std::int64_t committed) noexcept;
  void forget_slot(int slot) noexcept;
  void forget_uploads() noexcept;
  void flush_lens();
  void flush_rows();

  // --- Steps ---
  void check_step(Ids cu_seqlens_q, Ids past_len, Ids slots);
  Ids stage_lengths(Ids cu_seqlens_q, Ids past_len, bool cumulative) noexcept;
  void collect_beginners(Ids slots, Ids positions) noexcept;
  template <class Work>
  void before_apply(Ids slots, Work&& work);
  void after_apply(Ids slots, bool gathers);
  StepIndices indices_of_step(std::int64_t batch, std::int64_t lengths) const;
  cache::IntBuffer& slot_id_buffer() noexcept;

  KVStorage storage_;
  cache::Uploader uploader_;
  std::variant<BlockManager, cache::ContinuousSlots> slots_;
  cache::StorageOps storage_ops_;
  cache::RingGuard rings_;

  VirtualArray<SlotNote> notes_;
  VirtualArray<std::int32_t> lens_;        ///< Reserved lengths, as seq_lens must read.
  VirtualArray<std::int32_t> cross_lens_;  ///< [cross rows, max_seqs]
  std::int64_t cross_rows_ = 0;
  std::int64_t dirty_lens_begin_ = 0;  ///< Slots whose lengths may differ on the device.
  std::int64_t dirty_lens_end_ = 0;
  std::vector<std::int32_t> dirty_rows_;  ///< Slots whose rows may; capacity max_seqs.

  cache::BlockTableBuffer table_;
  cache::IntBuffer lens_buffer_;
  cache::IntBuffer cross_lens_buffer_;
  cache::IntBuffer cu_seqlens_q_;
  cache::IntBuffer cu_seqlens_k_;
  cache::IntBuffer slot_ids_;
  cache::IntBuffer offsets_;  ///< Of reserve.
  cache::IntBuffer cross_cu_seqlens_q_;
  cache::IntBuffer cross_cu_seqlens_k_;
  cache::IntBuffer cross_slot_ids_;

  VirtualArray<std::int32_t> staged_;    ///< [max_seqs + 1], cu_seqlens_k or offsets on their way.
  std::vector<std::int32_t> beginners_;  ///< Slots of a step that begin at 0; capacity max_seqs.
  std::vector<std::int32_t> fetched_;    ///< Ids from a device.
  std::uint32_t batch_ = 0;
};

/// Runs device work; after an error nothing is known of what the device holds.
template <class Work>
void KVCache::Impl::on_device(Work&& work) {
  try {
    std::forward<Work>(work)();
  } catch (...) {
    forget_uploads();
    throw;
  }
}

}  // namespace octavo
