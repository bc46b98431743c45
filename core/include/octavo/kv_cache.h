// KVCache: the serving-side cache of a model: its rows' storage, which tokens of which session
// stand where, and the index tensors that a step's operations read.
//
// Rows are attention K/V (continuous per slot, paged, windowed), cross-attention K/V and recurrent
// state, mixed freely. A *slot* is a running session's place in the batch, [0, max_seqs); all rows
// share its lengths. The order in which a server calls:
//
//                 admit            binds the cached prefix of a prompt, returns its length
//     repeated:   prepare_step     reserves the step's tokens in all rows, returns the indices
//                 ...              group_query_attention_varlen and the other free functions
//                 update_position  after speculation: what was accepted
//     one of:     retire           the session is over and its history stays servable
//                 evict_batch      it was cancelled
//                 abandon_batch    its device failed
//
// Lengths. A slot has a `reserved` length, which seq_lens() shows, and a `committed` one: what is
// known to be written. `prepare_step` commits past_len and reserves the step's tokens behind it, so
// a step's tokens are committed by the next step, by update_position or by retire.
//
// Device. Storage lives on KVCacheConfig::device. Handles share it: they stay valid after the cache
// is gone. A step's index tensors and what `reserve` returns are views of persistent buffers, at
// the same addresses in every step, with the values of the latest one. Uploads are cached by
// content: only runs of changed values travel. All device work of a call is issued inside it, in
// order with the caller's other work on that device, before the call's own results are needed.
//
// Threads: one thread drives a cache; distinct caches are independent. `paged_free_blocks`,
// `counters` and `stats` may be read from any thread.
//
// Errors. A call that raises for its arguments, a precondition, exhaustion or a failed host
// allocation has changed nothing observable: digest() is the same. DeviceError: everything that can
// be sent before the host's state moves is; when that fails nothing has changed and the call may be
// repeated. When what follows fails (new cells of the block table, the gathered table, copies of
// blocks), the named slots have moved and count as *failed*: their K/V is unspecified, and only
// evict_batch, abandon_batch and reset take them; every other call raises FailedPrecondition. Other
// slots are untouched either way, and everything is uploaded anew at its next use.
// Common to all calls: FailedPrecondition on a cache that was moved from; InvalidArgument for a
// slot outside [0, max_seqs).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "octavo/block_manager.h"
#include "octavo/kv_config.h"
#include "octavo/kv_footprint.h"
#include "octavo/kv_stats.h"
#include "octavo/tensor.h"

namespace octavo {

/// What a cache has sent to its device since it was made.
struct KVCacheCounters {
  std::int64_t uploads = 0;  ///< Transfers of indices, lengths and table cells, host to device.
  std::int64_t uploaded_bytes = 0;
  std::int64_t cleared_bytes = 0;  ///< Table cells set to -1 on the device itself.
  std::int64_t table_gathers = 0;  ///< Launches that gathered block table rows for a step.
  std::int64_t copied_blocks = 0;  ///< Blocks copied for partial hits and for writes after rewinds.
  std::int64_t zeroed_slots = 0;   ///< State slots set to zero before their first step.
  std::int64_t downloaded_ids = 0;  ///< Token and slot ids fetched from a device (blocking).
};

class KVCache {
 public:
  /// Allocates a cache, each tensor by one call of the device; nothing else is allocated on the
  /// device later. A null device is the host, whose plain memory has no kernels.
  /// Raises InvalidArgument for a composition that breaks its contract (the same sentence as
  /// `footprint`), and what the device raises.
  static KVCache make(const KVCacheConfig& config, std::span<const KVLayerSpec> layer_specs);

  /// What `make` would allocate, by storage class and layer, without allocating.
  static KVCacheFootprint footprint(const KVCacheConfig& config,
                                    std::span<const KVLayerSpec> layer_specs);

  ~KVCache();
  KVCache(KVCache&&) noexcept;
  KVCache& operator=(KVCache&&) noexcept;
  KVCache(const KVCache&) = delete;
  KVCache& operator=(const KVCache&) = delete;

  /// A step's index tensors, Int32 on the cache's device; valid until the next step.
  struct StepIndices {
    Tensor cu_seqlens_q;   ///< [B + 1] cumulative query lengths.
    Tensor kvcache_start;  ///< Paged: [B, blocks_per_seq] block ids; else [B] slot ids.
    Tensor cu_seqlens_k;   ///< [B] lengths after the append; a paged prefill: [B + 1] cumulative.
    Tensor slot_ids;       ///< [B]; undefined when all rows are paged.
  };

  /// `addressable_len`: prefixes may be shared over the whole token history.
  static constexpr std::int64_t kAddressableAll = octavo::kAddressableAll;

  // --- Storage ---

  /// Paged: [num_blocks, kv_heads, block_size, head_dim], continuous and cross rows:
  /// [max_seqs, kv_heads, capacity, head_dim]; Int4 as UInt8 with the last dimension halved.
  /// Raise InvalidArgument for a layer outside [0, num_layers) and for a State row.
  Tensor keys(int layer) const;
  Tensor values(int layer) const;
  /// [max_seqs, dim, width]. Raises InvalidArgument for a layer outside [0, num_layers), a row of
  /// another kind, an index outside the row's windows.
  Tensor conv_state(int layer, int index = 0) const;
  /// [max_seqs, heads, k_dim, v_dim]. Raises InvalidArgument for a layer outside [0, num_layers), a
  /// row of another kind, a State row without a slab.
  Tensor recurrent_state(int layer) const;

  /// [max_seqs] Int32: reserved lengths, one for all rows. Uploads what has changed.
  Tensor seq_lens() const;
  /// [max_seqs] Int32: what `fill` gave a cross-attention layer; 0: nothing. Uploads what has
  /// changed. Raises InvalidArgument for a layer outside [0, num_layers) or of another kind.
  Tensor cross_seq_lens(int layer) const;
  /// [max_seqs, max_blocks_per_seq] Int32, -1 where no block is bound; undefined without paged
  /// rows. Uploads what has changed.
  Tensor paged_block_table() const;

  KVCacheMode mode() const;
  int num_layers() const;
  std::int64_t paged_free_blocks() const;         ///< Free + parked; -1 without paged rows.
  std::int64_t paged_num_blocks() const;          ///< -1 without paged rows.
  std::int64_t paged_parked_blocks() const;       ///< Of the free ones; -1 without paged rows.
  std::int64_t paged_quarantined_blocks() const;  ///< -1 without paged rows.
  std::int64_t reserved_len(int batch_idx) const;
  std::int64_t committed_len(int batch_idx) const;

  // --- A session's life ---

  /// Whose prefixes the slot shares: tenant, adapter, weight version; 0 without this call. Raises
  /// FailedPrecondition unless the slot is fresh.
  void set_namespace(int batch_idx, std::uint64_t namespace_id);

  /// Binds the longest cached prefix of the prompt and returns its length, strictly less than the
  /// prompt's; the slot's lengths become that. 0 where some row could not answer for skipped
  /// tokens (any continuous, cross or State row, a releasing window) or caching is off. Not
  /// block-aligned where a partial key serves more; then the tail's rows are copied here.
  /// `prompt_ids`: [n] Int32 on any device; ids that the host cannot read are fetched (blocking).
  /// `addressable_len` limits sharing to tokens whose K/V depend on the ids alone.
  /// Raises InvalidArgument for ids that are no contiguous [n] Int32, an empty prompt, one longer
  /// than a row holds, a negative addressable_len other than kAddressableAll; FailedPrecondition
  /// unless the slot is fresh; ResourceExhausted for a prompt that the whole pool cannot hold.
  std::int64_t admit(int batch_idx,
                     Tensor prompt_ids,
                     std::int64_t addressable_len = kAddressableAll);

  /// Commits what each slot had reserved, acquires blocks for `n_new_per_seq[i]` (>= 0) more tokens
  /// of slot `slot_ids[i]` and returns the offsets before, [B] Int32. All or nothing.
  /// `slot_ids`: [B] Int32 on any device (fetched as by admit).
  /// Raises FailedPrecondition without paged rows; InvalidArgument for ids that are no contiguous
  /// [B] Int32, counts of another number, duplicate slots, negative counts, a sequence that
  /// outgrows its row, more than max_step_tokens where a continuous row has a window;
  /// ResourceExhausted when the pool has too few blocks.
  Tensor reserve(Tensor slot_ids, std::span<const std::int32_t> n_new_per_seq);

  /// Begins a step: for every i, update_position(slot_ids[i], past_len[i]) and then a reservation
  /// of cu_seqlens_q[i + 1] - cu_seqlens_q[i] tokens, once for all rows; all or nothing. A sequence
  /// that begins at 0 begins with its states zeroed. Allocates nothing, waits for nothing.
  /// Raises InvalidArgument for spans whose lengths are not [B + 1], [B], [B], duplicate slots, a
  /// first cumulative length other than 0, a query length below 1 or above max_step_tokens (where
  /// that is set), a past_len outside [0, reserved], a sequence that outgrows its row;
  /// FailedPrecondition for a rewind deeper than a window still holds, and for a failed slot;
  /// ResourceExhausted when the pool has too few blocks.
  StepIndices prepare_step(std::span<const std::int32_t> cu_seqlens_q,
                           std::span<const std::int32_t> past_len,
                           std::span<const std::int32_t> slot_ids);

  /// Sets reserved and committed length to `new_pos` in [0, reserved]. Blocks stay bound: they
  /// serve later tokens before new ones are acquired. State rows are not rewound, except that a
  /// sequence that begins at 0 again begins with zeros.
  /// Raises InvalidArgument outside the range, FailedPrecondition for a rewind deeper than a window
  /// still holds.
  void update_position(int batch_idx, std::int64_t new_pos);

  /// Ends a session and keeps its blocks servable under its whole history ([N] Int32 on any device,
  /// committed <= N <= reserved; its head is the admitted prompt), up to `addressable_len`;
  /// `boundaries` name further lengths that later prompts may be served up to. Frees the slot.
  /// Raises FailedPrecondition for a free slot; InvalidArgument for ids that are no contiguous [N]
  /// Int32, a length or head that is wrong, an addressable_len that cuts the admitted prompt
  /// elsewhere than at admit, a negative boundary.
  void retire(int batch_idx,
              Tensor full_token_ids,
              std::int64_t addressable_len = kAddressableAll,
              std::span<const std::int64_t> boundaries = {});

  /// For a caller whose histories do not say what a session generated: the eviction policy is to go
  /// by so many generated tokens. Only EvictionPolicy::Hdq heeds it. Forgotten with the session.
  /// Raises InvalidArgument for a negative count, FailedPrecondition for a free slot.
  void note_output(int batch_idx, std::int64_t output_tokens);

  /// Frees the slot and caches nothing new. A free slot: nothing but its namespace goes.
  void evict_batch(int batch_idx);

  /// Frees the slot of a session whose device failed: host bookkeeping only, no call of the device.
  /// Blocks that a step in flight may still be writing are quarantined.
  void abandon_batch(int batch_idx);

  /// Returns quarantined blocks to the pool, how many: the device is known to be idle and healthy.
  std::int64_t release_quarantined();

  /// Makes every cached prefix of the namespace unservable, O(1).
  void invalidate_namespace(std::uint64_t namespace_id);

  /// Drops everything: slots, cached prefixes, quarantine, namespaces. No call of the device.
  void reset();

  // --- Retention (EvictionPolicy::Priority) ---

  /// What the slot's blocks are worth once it has parked them, and for how long: as
  /// BlockManager::set_retention. Raises InvalidArgument for a priority outside [0, 100] or a
  /// ttl_ticks outside [0, 2^62]; FailedPrecondition under another policy and without paged rows.
  void set_retention(int batch_idx, int priority, std::int64_t ttl_ticks = kNeverExpires);

  /// Says what time it is, in ticks of the caller's; blocks whose time has come are expired.
  /// Raises InvalidArgument for a time before the latest one or above 2^62; FailedPrecondition
  /// under another policy and without paged rows.
  void advance_clock(std::int64_t now_ticks);

  // --- Cross-attention ---

  /// Writes the encoder's keys [t_enc, kv_heads, head_dim] and values [t_enc, kv_heads, v_head_dim]
  /// of one layer of a slot, F32, F16 or BF16 on the cache's device, converted or quantized to the
  /// row's storage; the layer's length becomes t_enc. The same t_enc overwrites in place.
  /// Raises InvalidArgument for a layer outside [0, num_layers), a row of another kind, another
  /// shape, type or device, t_enc outside [1, max_tokens_per_seq]; FailedPrecondition for a t_enc
  /// other than the layer has, until the slot is evicted, retired or abandoned.
  void fill(int layer, int batch_idx, Tensor k, Tensor v);

  /// Indices of a read-only attend over one cross-attention layer: lengths come from `fill` (0
  /// where there was none) and never show in seq_lens(). Valid until the next prepare_cross.
  /// Raises InvalidArgument as `fill` for the layer and as `prepare_step` for the spans.
  StepIndices prepare_cross(int layer,
                            std::span<const std::int32_t> cu_seqlens_q,
                            std::span<const std::int32_t> slot_ids);

  // --- What is so ---

  /// What `admit` would serve of the prompt to a fresh slot of the namespace now; nothing changes,
  /// not even a recency. (Where a partial key needs a copy and no block is left for it, admit
  /// serves whole blocks only.) For routers and admission control. O(prompt / block_size).
  /// Raises InvalidArgument for a negative addressable_len other than kAddressableAll.
  CachedPrefix cached_prefix(std::span<const std::int32_t> prompt,
                             std::int64_t addressable_len = kAddressableAll,
                             std::uint64_t namespace_id = 0) const;

  KVCacheCounters counters() const;
  BlockManagerStats stats() const;  ///< Zeros without paged rows.

  /// Recomputes the invariants of the host's state from scratch, those of the block manager
  /// included; raises Internal naming the first that does not hold. No call of the device.
  void audit() const;

  /// A hash of the host's state: lengths, tables, prompts, blocks, keys, namespaces, what `fill`
  /// gave; not of counters, nor of which slots a device has failed.
  std::uint64_t digest() const;

 private:
  class Impl;
  explicit KVCache(std::unique_ptr<Impl> impl);
  Impl& whole(const char* call) const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace octavo
