// The block manager's state and its verbs, which live in one file each group, public face and all:
// block_manager.cc (construction, lookups), admit.cc, step.cc, seal.cc, rewrite.cc, retire.cc,
// release.cc, replay.cc, retention.cc, audit.cc, digest.cc.
//
// Every verb first checks and plans without changing anything and then applies, noexcept. So a call
// that raises has changed nothing, and memory is the only thing that admit may still ask for before
// it applies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/relaxed_counter.h"
#include "blocks/admitted_prompts.h"
#include "blocks/block_pool.h"
#include "blocks/prefix_tree.h"
#include "blocks/slot.h"
#include "blocks/step_batch.h"
#include "octavo/block_manager.h"

namespace octavo {

class BlockManager::Impl {
 public:
  explicit Impl(const BlockManagerConfig& config);

  void set_namespace(int slot, std::uint64_t namespace_id);
  std::int64_t admit(int slot, std::span<const std::int32_t> prompt, std::int64_t addressable_len);
  CachedPrefix cached_prefix(std::span<const std::int32_t> prompt,
                             std::int64_t addressable_len,
                             std::uint64_t namespace_id) const;
  void check_reserve(std::span<const std::int32_t> slots,
                     std::span<const std::int32_t> n_new,
                     std::size_t num_offsets);
  void reserve(std::span<const std::int32_t> slots,
               std::span<const std::int32_t> n_new,
               std::span<std::int32_t> offsets);
  void check_step(const blocks::StepBatch& batch);
  StepPlan prepare_step(const blocks::StepBatch& batch);
  void update_position(int slot, std::int64_t new_pos);
  void retire(int slot,
              std::span<const std::int32_t> history,
              std::int64_t addressable_len,
              std::span<const std::int64_t> boundaries);
  void note_output(int slot, std::int64_t output_tokens);
  void check_replay(int slot,
                    std::span<const std::int32_t> prompt,
                    std::int64_t addressable_len) const;
  bool replays_at_once() const noexcept;
  std::int64_t replay_at_once(int slot,
                              std::span<const std::int32_t> prompt,
                              std::int64_t addressable_len) noexcept;
  void evict(int slot);
  void abandon(int slot);
  std::int64_t release_quarantined();
  void invalidate_namespace(std::uint64_t namespace_id);
  void reset();
  void set_retention(int slot, int priority, std::int64_t ttl_ticks);
  void advance_clock(std::int64_t now_ticks);

  std::span<const BlockCopy> copies() const noexcept { return copies_; }
  std::span<const std::int32_t> block_table(int slot) const;
  const blocks::Slot& checked_slot(const char* call, int slot) const {
    // One comparison for both ends.
    if (static_cast<unsigned>(slot) >= static_cast<unsigned>(config_.max_seqs)) {
      throw_slot(call, slot);
    }
    return slots_[blocks::at(slot)];
  }
  blocks::Slot& checked_slot(const char* call, int slot) {
    return const_cast<blocks::Slot&>(std::as_const(*this).checked_slot(call, slot));
  }
  const BlockManagerConfig& config() const noexcept { return config_; }
  std::int64_t free_blocks() const noexcept { return pool_.free_count() + tree_.parked_blocks(); }
  std::int64_t parked_blocks() const noexcept { return tree_.parked_blocks(); }
  std::int64_t quarantined_blocks() const noexcept { return pool_.quarantined_count(); }
  BlockManagerStats stats() const noexcept;

  void audit() const;
  std::uint64_t digest() const;

 private:
  using BlockId = blocks::BlockId;
  using Slot = blocks::Slot;
  using StepBatch = blocks::StepBatch;

  struct Counters {
    RelaxedCounter admits, prompt_tokens, hit_tokens, hit_blocks, missed_blocks, partial_hits,
        partial_takeovers, copied_blocks, sealed_blocks, duplicate_blocks, evicted_for_step,
        evicted_for_copy, dropped_keys, quarantined_blocks, bound_blocks_max, parked_blocks_max;
  };

  // What a step wants of one slot, and what the pool must have for all of them.
  struct StepDemand {
    std::int64_t blocks = 0;    ///< New blocks.
    std::int64_t released = 0;  ///< Blocks that windows give back first.
  };

  // What became of the checks of a step.
  struct StepShape {
    bool decode;               ///< Every query length is 1.
    bool plain;                ///< No slot rewinds, seals, rewrites or begins.
    std::int64_t blocks_left;  ///< Free or parked after the step, if it is plain.
  };

  [[noreturn]] void throw_slot(const char* call, int slot) const;

  // --- Arithmetic ---
  std::int32_t blocks_for(std::int64_t tokens) const noexcept {
    return static_cast<std::int32_t>(block_shift_ >= 0
                                         ? (tokens + config_.block_size - 1) >> block_shift_
                                         : (tokens + config_.block_size - 1) / config_.block_size);
  }
  std::int32_t whole_blocks(std::int64_t tokens) const noexcept {
    return static_cast<std::int32_t>(block_shift_ >= 0 ? tokens >> block_shift_
                                                       : tokens / config_.block_size);
  }
  std::int32_t tokens_of(std::int32_t blocks) const noexcept { return blocks * config_.block_size; }
  BlockId* row(int slot) noexcept { return table_.data() + blocks::at(slot) * row_stride_; }
  const BlockId* row(int slot) const noexcept {
    return table_.data() + blocks::at(slot) * row_stride_;
  }

  // `addressable_len` with kAddressableAll resolved, cut to `length`. All is -1: as an unsigned
  // number, more than any length.
  static_assert(kAddressableAll == -1);
  static std::int64_t shared_length(std::int64_t addressable_len, std::int64_t length) noexcept {
    return static_cast<std::int64_t>(
        std::min(static_cast<std::uint64_t>(addressable_len), static_cast<std::uint64_t>(length)));
  }
  // What the slot has under its generation may still be served to others.
  bool shares(const Slot& slot) const noexcept {
    return slot.root != blocks::kNoNode && !tree_.stale(slot.root);
  }

  // --- Begin (admit.cc) ---
  [[noreturn]] void throw_in_use(const char* call, int slot) const;
  [[noreturn]] void throw_prompt(const char* call,
                                 std::int64_t length,
                                 std::int64_t addressable_len) const;
  void require_fresh(const char* call, const Slot& slot, int slot_index) const {
    if (slot.active) {
      throw_in_use(call, slot_index);
    }
  }
  void check_prompt(const char* call, std::int64_t length, std::int64_t addressable_len) const {
    if (length < 1 || length > prompt_tokens_max_ || addressable_len < kAddressableAll) {
      throw_prompt(call, length, addressable_len);
    }
  }
  void count_admit(std::int64_t length, std::int64_t served, std::int32_t hit_blocks) noexcept {
    counters_.admits.add(1);
    counters_.prompt_tokens.add(length);
    counters_.hit_tokens.add(served);
    counters_.hit_blocks.add(hit_blocks);
    counters_.missed_blocks.add(whole_blocks(length) - hit_blocks);
  }
  std::int64_t serve_prefix(Slot& slot,
                            int slot_index,
                            std::span<const std::int32_t> prompt,
                            std::int64_t limit) noexcept;

  // --- Steps (step.cc, rewrite.cc) ---
  static void check_sizes(const blocks::StepBatch& batch);
  void begin_batch() noexcept {
    if (++batch_ == 0) {
      forget_batches();
    }
  }
  void forget_batches() noexcept;
  void mark_named(const char* call, Slot& slot, int slot_index) const {
    if (slot.batch == batch_) {
      throw_twice(call, slot_index);
    }
    slot.batch = batch_;
  }
  void check_rewind(const char* call, int slot, std::int64_t position) const;
  // Returns how many blocks the demand leaves.
  std::int64_t check_available(const char* call, const StepDemand& demand) const {
    const std::int64_t available = free_blocks() + demand.released;
    if (demand.blocks > available) {
      throw_unavailable(call, demand.blocks, available);
    }
    return available - demand.blocks;
  }
  // What is wrong with a sequence of a step; they say which. Apart from the checks, which stay
  // small.
  [[noreturn]] void throw_twice(const char* call, int slot) const;
  [[noreturn]] void throw_sequence(std::size_t index,
                                   int slot,
                                   std::int64_t count,
                                   std::int64_t past) const;
  void check_past(std::size_t index, int slot, std::int64_t count, std::int64_t past) const;
  [[noreturn]] void throw_growth(const char* call,
                                 int slot,
                                 std::int64_t from,
                                 std::int64_t count) const;
  [[noreturn]] void throw_unavailable(const char* call,
                                      std::int64_t needed,
                                      std::int64_t available) const;
  void add_demand(const Slot& slot,
                  std::int32_t position,
                  std::int32_t count,
                  StepDemand& demand) const noexcept;
  std::int32_t rewrite_demand(const Slot& slot,
                              std::int32_t from,
                              std::int32_t cells_needed) const noexcept;
  // A slot stops being fresh: from here on it has a generation.
  void activate(Slot& slot) noexcept {
    slot.active = true;
    if (slot.root == blocks::kNoNode) {
      slot.root = slot.node = tree_.acquire_root(0);
    }
  }
  // What update_position does: everything before `position` is written, everything behind it is
  // void.
  void commit(Slot& slot, int slot_index, std::int32_t position) noexcept {
    if (commits_quietly(slot, position)) {
      commit_reserved(slot);
    } else {
      commit_and_move(slot, slot_index, position);
    }
  }
  // All that was reserved is written, and nothing is due for it: no block moves.
  bool commits_quietly(const Slot& slot, std::int64_t position) const noexcept {
    return position == slot.reserved && position < slot.seal_at && config_.window == 0;
  }
  // And what a step writes from there on is the slot's own: it does no more than bind blocks.
  bool goes_on_plainly(const Slot& slot, std::int32_t position) const noexcept {
    return commits_quietly(slot, position) && position >= slot.writable_from && slot.active;
  }
  static void commit_reserved(Slot& slot) noexcept {
    if (slot.stepped) {
      slot.in_flight_end = 0;  // N9
    }
    slot.committed = slot.reserved;
  }
  void commit_and_move(Slot& slot, int slot_index, std::int32_t position) noexcept;
  void move_position(Slot& slot, int slot_index, std::int64_t new_pos);
  void grow(int slot_index, std::int32_t count) noexcept;
  void bind_cells(Slot& slot, int slot_index, std::int32_t cells_needed) noexcept {
    if (cells_needed > slot.cells) {
      acquire(row(slot_index) + slot.cells, cells_needed - slot.cells, counters_.evicted_for_step);
      slot.cells = cells_needed;
    }
  }
  template <class Batch>
  static void check_total(const Batch& batch);
  template <class Batch>
  StepShape check_sequences(Batch batch);
  template <class Batch>
  void apply_plain(Batch batch) noexcept;
  template <class Batch>
  void apply_in_order(Batch batch) noexcept;
  template <class Batch>
  StepPlan step(Batch batch);
  StepPlan step_of_many(const StepBatch& batch);
  void rewrite(int slot_index, std::int32_t from, std::int32_t cells_needed) noexcept;
  void give_up(int slot_index, std::int32_t from) noexcept;
  void cut_prompt(int slot_index, std::int32_t position) noexcept;
  void release_window(int slot_index) noexcept;
  std::int32_t first_in_window(std::int64_t position) const noexcept;
  void seal(Slot& slot, int slot_index, const std::int32_t* tokens, std::int32_t blocks) noexcept;
  void bind_canonical(int slot_index, const std::int32_t* tokens, std::int32_t blocks) noexcept;
  void seal_prompt(Slot& slot, int slot_index) noexcept;
  void refresh_watermarks(Slot& slot) const noexcept {
    slot.writable_from = tokens_of(slot.path_blocks);
    if (slot.leaf != blocks::kNoNode) {
      const std::int32_t key_length = tree_.leaf_key_length(slot.leaf);
      slot.writable_from = std::max(slot.writable_from, tokens_of(slot.leaf_cell) + key_length);
    }
    slot.seal_at =
        slot.path_blocks < slot.enroll_blocks ? tokens_of(slot.path_blocks + 1) : Slot::kNever;
  }
  bool must_give_up_leaf(const Slot& slot, std::int32_t from) const noexcept;
  void acquire(BlockId* out, std::int64_t count, RelaxedCounter& evicted) noexcept {
    const std::int64_t free = pool_.take(out, count);
    if (free < count) {
      evicted.add(tree_.evict(count - free, out + free));
    }
  }

  // --- Replays (replay.cc) ---
  void check_room(const char* call,
                  const Slot& slot,
                  std::span<const std::int32_t> prompt,
                  std::int64_t addressable_len) const;
  void leave(Slot& slot,
             int slot_index,
             const std::int32_t* tokens,
             std::int32_t whole,
             std::int32_t cells) noexcept;

  // --- Ends (retire.cc, release.cc) ---
  void check_retire(const Slot& slot,
                    int slot_index,
                    std::span<const std::int32_t> history,
                    std::int64_t addressable_len,
                    std::span<const std::int64_t> boundaries) const;
  [[noreturn]] void throw_head(int slot_index, const std::int32_t* history) const;
  void name_keys(int slot_index,
                 const std::int32_t* history,
                 std::int64_t shared,
                 std::span<const std::int64_t> boundaries) noexcept;
  void name_boundary(int slot_index, const std::int32_t* history, std::int64_t length) noexcept;
  void release_private(Slot& slot, BlockId block, std::int32_t cell) noexcept;
  // Frees the slot: its cells from the tail on, then its path, then its generation.
  void release(Slot& slot, int slot_index) noexcept {
    tree_.acting(slot_index);
    const BlockId* cells = row(slot_index);
    const std::int32_t first_private = std::max(slot.path_blocks, slot.released);
    const std::int32_t first_unnamed = first_private + (slot.leaf != blocks::kNoNode ? 1 : 0);
    for (std::int32_t cell = slot.cells; cell-- > first_unnamed;) {
      pool_.give(cells[cell]);
    }
    if (slot.leaf != blocks::kNoNode) {
      tree_.park_leaf(slot.leaf);
    }
    if (slot.path_blocks > 0) {
      tree_.drop(slot.node);
    }
    if (slot.root != blocks::kNoNode) {
      tree_.release_root(slot.root);
    }
    if (slot.admitted) {
      prompts_.forget(slot_index);
    }
    if (unmatched_ == slot_index) {
      unmatched_ = -1;
    }
    const std::uint32_t batch = slot.batch;
    slot = Slot{};
    slot.batch = batch;
    if (auto* order = tree_.order()) {
      order->ended(slot_index);
    }
    note_parked();
  }
  // High-water marks, and what a policy is told, after a verb that moved blocks. One that parks
  // nothing raises only the first mark, one that binds nothing only the second.
  void note_bound() noexcept { note_bound(pool_.num_blocks() - free_blocks()); }
  void note_bound(std::int64_t bound) noexcept {
    counters_.bound_blocks_max.raise_to(bound - pool_.quarantined_count());
    if (auto* order = tree_.order()) {
      order->levels(bound);
    }
  }
  void note_parked() noexcept {
    counters_.parked_blocks_max.raise_to(tree_.parked_blocks());
    if (auto* order = tree_.order()) {
      order->levels(pool_.num_blocks() - free_blocks());
    }
  }
  void note_levels() noexcept {
    counters_.parked_blocks_max.raise_to(tree_.parked_blocks());
    note_bound();
  }
  void audit_slot(int slot_index) const;

  BlockManagerConfig config_;
  int block_shift_ = -1;                ///< log2(block_size) when that is whole.
  bool sharing_ = false;                ///< Prefixes are cached and served at all.
  std::int64_t row_cells_ = 0;          ///< Cells a row.
  std::int64_t row_tokens_ = 0;         ///< Tokens a sequence may have,
  std::int64_t prompt_tokens_max_ = 0;  ///< and how many of them an admit can ever bring.
  std::size_t row_stride_ = 0;          ///< Never a power of two: rows must not share cache sets.

  blocks::BlockPool pool_;
  blocks::PrefixTree tree_;
  VirtualArray<Slot> slots_;
  VirtualArray<BlockId> table_;    ///< [max_seqs, row_stride_]
  VirtualArray<BlockId> scratch_;  ///< One row, for blocks on their way.
  blocks::AdmittedPrompts prompts_;
  VirtualArray<std::int32_t> cu_seqlens_k_;  ///< [max_seqs + 1]
  std::vector<BlockCopy> copies_;
  std::uint32_t batch_ = 0;
  int unmatched_ = -1;  ///< The slot whose admit was the latest match; it need not seek again.
  Counters counters_;
};

[[noreturn]] void throw_moved_from(const char* call);

/// What a public verb works on. Raises FailedPrecondition when the manager was moved from.
template <class Impl>
Impl& whole(const char* call, const std::unique_ptr<Impl>& impl) {
  if (impl == nullptr) {
    throw_moved_from(call);
  }
  return *impl;
}

/// "call: name VALUE is outside [low, high]"
[[noreturn]] void throw_outside(const char* call,
                                std::string_view name,
                                std::int64_t value,
                                std::int64_t low,
                                std::int64_t high);

}  // namespace octavo
