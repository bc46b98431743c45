// BlockManager: which block of the pool holds which tokens of which slot, and what may be shared.
//
// Plain host code that never touches a device. It owns the pool's bookkeeping, the block tables and
// the prefix cache; a KVCache drives it and performs the copies it asks for, a simulator drives it
// alone. The words: a *slot* is a running session's place in the batch; a *cell* is one entry of
// its row of the block table; a block is *bound* while a cell names it, *sealed* once all its
// tokens are written and it can be served to others, *parked* when it is kept for reuse and nobody
// holds it, *quarantined* when a failed device may still write it, else *free*. Life of a slot and
// of a block: core/README.md; the invariants: core/INVARIANTS.md.
//
// Threads: one thread drives a manager; distinct managers are independent. `stats`, `free_blocks`
// and the other counters may be read from any thread.
//
// Errors: a call that throws has changed nothing observable (digest() is the same before and
// after). Common to all calls that take one: InvalidArgument for a slot outside [0, max_seqs).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "octavo/eviction.h"
#include "octavo/kv_events.h"
#include "octavo/kv_stats.h"

namespace octavo {

/// Prefixes may be shared over the whole token history.
inline constexpr std::int64_t kAddressableAll = -1;

/// A chained hash of one block: of the hash of everything before it and of the block's tokens. It
/// chooses where a lookup begins and never decides a hit; a constant is legal and merely slow.
using BlockHash = std::uint64_t (*)(std::uint64_t parent_hash,
                                    std::span<const std::int32_t> tokens);

// Retention, under EvictionPolicy::Priority: what TensorRT-LLM calls priority and duration.
inline constexpr int kHighestPriority = 100;  ///< Priorities are [0, 100]; the lowest leaves first.
inline constexpr int kDefaultPriority = 35;   ///< Of a slot that was told nothing.
inline constexpr std::int64_t kNeverExpires = 0;

struct BlockManagerConfig {
  std::int64_t num_blocks = 0;          ///< Blocks in the pool, [1, 2^31 - 1].
  int block_size = 16;                  ///< Tokens a block, [1, 65536].
  int max_seqs = 0;                     ///< Slots, [1, 2^24].
  std::int64_t max_tokens_per_seq = 0;  ///< Longest sequence; 0 = as many as the row holds.
  std::int64_t max_blocks_per_seq =
      0;                       ///< Cells a row; 0 = by max_tokens_per_seq, else num_blocks.
  int window = 0;              ///< > 0: tokens a query sees, its own included; no sharing.
  bool prefix_caching = true;  ///< false: admit serves 0 and nothing is ever cached.
  bool partial_keys = true;    ///< false: only whole blocks are cached and served.
  EvictionPolicy policy = EvictionPolicy::Lru;  ///< Who leaves a full pool.
  int policy_block_tokens = 0;  ///< Tokens a block counts for in a policy's eyes; 0 = block_size.
  BlockHash block_hash = nullptr;  ///< nullptr: the built-in (xxHash).
  KVEventSink* events = nullptr;   ///< Not owned; must outlive the manager.
};

/// A device must copy `rows` token rows (K, V and their scales, in every pool) of block `src` to
/// block `dst` before anything writes or reads `dst`.
struct BlockCopy {
  std::int32_t src = 0;
  std::int32_t dst = 0;
  std::int32_t rows = 0;
  friend bool operator==(const BlockCopy&, const BlockCopy&) = default;
};

/// What the cache holds of a prompt.
struct CachedPrefix {
  std::int64_t tokens = 0;         ///< The length that `admit` would return.
  std::int64_t parked_blocks = 0;  ///< Whole blocks of it that nobody holds: free until bound.
  friend bool operator==(const CachedPrefix&, const CachedPrefix&) = default;
};

/// What prepare_step hands to a device. Views of the manager's own buffers, valid until its next
/// reserve or prepare_step.
struct StepPlan {
  /// Decode (every query length is 1): [B] lengths after the append. Else [B + 1] cumulative ones.
  std::span<const std::int32_t> cu_seqlens_k;
  bool decode = false;
};

class BlockManager {
 public:
  /// Reserves address space for the tables and the index; touches memory only as it is used.
  /// Raises InvalidArgument for a config out of range, ResourceExhausted without address space.
  explicit BlockManager(const BlockManagerConfig& config);
  ~BlockManager();
  BlockManager(BlockManager&&) noexcept;
  BlockManager& operator=(BlockManager&&) noexcept;
  BlockManager(const BlockManager&) = delete;
  BlockManager& operator=(const BlockManager&) = delete;

  // --- A session's life, in the order a server calls it ---

  /// Names the namespace (tenant, adapter, weight version) whose prefixes the slot shares; a slot
  /// that is never told belongs to namespace 0. The slot keeps the generation it is given here:
  /// when the namespace is invalidated later, the slot is stale, is served nothing and seals
  /// nothing. Raises FailedPrecondition unless the slot is fresh.
  void set_namespace(int slot, std::uint64_t namespace_id);

  /// Binds the longest cached prefix of `prompt` into the slot and returns its length in tokens,
  /// strictly less than the prompt's and at most `addressable_len`; reserved and committed length
  /// become that. The result is block-aligned unless a partial key serves more; then copies() may
  /// hold one copy. Blocks of the prompt become servable to others as they are committed.
  /// O(prompt / block_size).
  /// Raises InvalidArgument for an empty prompt, one longer than a row holds, a negative
  /// addressable_len other than kAddressableAll; FailedPrecondition unless the slot is fresh;
  /// ResourceExhausted for a prompt that the whole pool cannot hold.
  std::int64_t admit(int slot,
                     std::span<const std::int32_t> prompt,
                     std::int64_t addressable_len = kAddressableAll);

  /// Commits what each slot had reserved, binds blocks for `n_new[i]` (>= 0) more tokens of
  /// `slots[i]` and advances the reserved lengths; `offsets[i]` receives the length before. All or
  /// nothing over the batch. copies() holds the copies that rewound slots need.
  /// Raises InvalidArgument for spans of different lengths, duplicate slots, a negative count, a
  /// sequence that outgrows its row; ResourceExhausted when the pool has too few blocks.
  void reserve(std::span<const std::int32_t> slots,
               std::span<const std::int32_t> n_new,
               std::span<std::int32_t> offsets);

  /// One step of a batch: for every i, update_position(slots[i], past_len[i]) and then a
  /// reservation of cu_seqlens_q[i + 1] - cu_seqlens_q[i] tokens; all or nothing over the batch.
  /// Allocates nothing. copies() as for reserve.
  /// Raises InvalidArgument for spans whose lengths are not [B + 1], [B], [B], duplicate slots, a
  /// first cumulative length other than 0, a query length below 1, a past_len outside [0,
  /// reserved], a sequence that outgrows its row, lengths whose sum outgrows 32 bits;
  /// FailedPrecondition for a rewind deeper than a window still holds; ResourceExhausted when the
  /// pool has too few blocks.
  StepPlan prepare_step(std::span<const std::int32_t> cu_seqlens_q,
                        std::span<const std::int32_t> past_len,
                        std::span<const std::int32_t> slots);

  /// Raise what `reserve` and `prepare_step` of the same arguments would raise, and change nothing:
  /// for callers that have work to do between the checks and the step. O(batch).
  void check_reserve(std::span<const std::int32_t> slots, std::span<const std::int32_t> n_new);
  void check_step(std::span<const std::int32_t> cu_seqlens_q,
                  std::span<const std::int32_t> past_len,
                  std::span<const std::int32_t> slots);

  /// Sets reserved and committed length to `new_pos` in [0, reserved]. A rewind keeps the blocks
  /// bound (they serve later tokens before new ones are taken); into the prompt, it ends the
  /// enrolment of the prompt there.
  /// Raises InvalidArgument outside the range, FailedPrecondition for a rewind deeper than a window
  /// still holds.
  void update_position(int slot, std::int64_t new_pos);

  /// Ends a session and keeps its blocks servable under its token history (committed <= N <=
  /// reserved tokens; N becomes the final commit): whole blocks, a partial key at each of
  /// `boundaries` in span order, and one at the end. At most four partial keys stand under one
  /// parent block; the latest named stay. Nothing past `addressable_len` is kept. Then frees the
  /// slot.
  /// Raises FailedPrecondition for a fresh slot; InvalidArgument for a history whose length or head
  /// (the admitted prompt) is wrong, an addressable_len that cuts the admitted prompt elsewhere
  /// than at admit, or a negative boundary.
  void retire(int slot,
              std::span<const std::int32_t> history,
              std::int64_t addressable_len = kAddressableAll,
              std::span<const std::int64_t> boundaries = {});

  /// For a caller that does not say what a session generated, such as a replay of prompts: its
  /// policy is to go by so many generated tokens, whatever its history says. Only a policy that
  /// looks at outputs (Hdq) heeds it; no other result depends on it. Forgotten with the session.
  /// Raises InvalidArgument for a negative count, FailedPrecondition for a fresh slot.
  void note_output(int slot, std::int64_t output_tokens);

  /// Frees the slot (a cancelled session) and caches nothing new. A fresh slot only loses the
  /// namespace it was given.
  void evict(int slot);

  /// Frees the slot of a session whose device failed. Private blocks that a step in flight may
  /// still be writing are quarantined; the rest is released as by evict. A fresh slot: as evict.
  void abandon(int slot);

  /// Returns quarantined blocks to the pool: the caller knows that the device is idle and healthy.
  /// Returns how many.
  std::int64_t release_quarantined();

  /// Makes every cached prefix of the namespace unservable, in O(1) time; its blocks leave as they
  /// are evicted.
  void invalidate_namespace(std::uint64_t namespace_id);

  /// Everything is dropped: slots, cached prefixes, namespaces, quarantine; the clock reads 0.
  void reset();

  // --- For replays ---

  /// What a whole session does to the cache, in one call: admits `prompt` to the slot, takes one
  /// step over what is not served, and retires with the prompt as history, having noted
  /// `output_tokens`. Returns what admit would return. Everything observable is afterwards what
  /// those calls would have left, counters and events included, but for copies(), which are empty:
  /// no device could write the rows in between. Where whole blocks alone are shared under LRU it
  /// takes half to three quarters of their time, the less the fewer blocks a prompt has; else it is
  /// those calls. O(prompt / block_size).
  /// Raises what they would raise, ResourceExhausted when the pool has too few blocks for the step
  /// included, and has then changed nothing.
  std::int64_t replay(int slot,
                      std::span<const std::int32_t> prompt,
                      std::int64_t addressable_len = kAddressableAll,
                      std::int64_t output_tokens = 0);

  // --- Retention (EvictionPolicy::Priority) ---

  /// The blocks that the slot parks from now until it is freed are kept at `priority` in [0, 100]
  /// and, unless `ttl_ticks` is kNeverExpires, expire that many ticks after they were parked.
  /// Expired blocks leave before all others, then the lowest priority, then the least recently
  /// parked. A block that a later session is served takes that session's retention when it is
  /// parked again; a slot that was told nothing parks at kDefaultPriority and never expires. (In
  /// TensorRT-LLM a block falls back to the default priority when its duration is over.)
  /// Raises InvalidArgument for a priority outside [0, 100] or ttl_ticks outside [0, 2^62];
  /// FailedPrecondition under another policy.
  void set_retention(int slot, int priority, std::int64_t ttl_ticks = kNeverExpires);

  /// Says what time it is: the manager has no clock of its own, and a tick is what the caller makes
  /// of it. Blocks whose time has come are expired, each in O(1) amortised.
  /// Raises InvalidArgument for a time before the latest one or above 2^62; FailedPrecondition
  /// under another policy.
  void advance_clock(std::int64_t now_ticks);

  // --- What is so ---

  /// Copies ordered by the latest admit, reserve or prepare_step that returned; in order.
  std::span<const BlockCopy> copies() const noexcept;

  /// What `admit` would serve of the prompt to a fresh slot of the namespace now; nothing changes,
  /// not even a recency. (Where a partial key needs a copy and no block is left for it, admit
  /// serves whole blocks only.) For routers and admission control. O(prompt / block_size).
  /// Raises InvalidArgument for a negative addressable_len other than kAddressableAll.
  CachedPrefix cached_prefix(std::span<const std::int32_t> prompt,
                             std::int64_t addressable_len = kAddressableAll,
                             std::uint64_t namespace_id = 0) const;

  /// The slot's cells, in order; -1 where a window has released the block. Between two looks, only
  /// cells at or behind the lowest committed length since the first look can have changed, and
  /// those that a window has released.
  std::span<const std::int32_t> block_table(int slot) const;
  std::int64_t reserved_len(int slot) const;
  std::int64_t committed_len(int slot) const;
  bool is_fresh(int slot) const;  ///< Neither admitted nor reserved; it may have a namespace.

  std::int64_t num_blocks() const noexcept;
  std::int64_t free_blocks() const noexcept;  ///< Free or parked: what a reserve can get.
  std::int64_t parked_blocks() const noexcept;
  std::int64_t quarantined_blocks() const noexcept;
  BlockManagerStats stats() const noexcept;
  const BlockManagerConfig& config() const noexcept;

  /// Recomputes every invariant of core/INVARIANTS.md from scratch; raises Internal naming the
  /// first that does not hold. O(blocks in use + cells).
  void audit() const;

  /// A hash of everything observable: lengths, tables, free and parked blocks in order, keys,
  /// namespaces, quarantine; not of counters. Equal for a fresh manager and one after reset().
  /// O(blocks in use + cells).
  std::uint64_t digest() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace octavo
