// The block manager's state and its verbs, which live in one file each group: block_manager.cc
// (construction, lookups), admit.cc, step.cc, seal.cc, rewrite.cc, retire.cc, release.cc,
// retention.cc, audit.cc, digest.cc.
//
// Every verb first checks and plans without changing anything and then applies, noexcept. So a call
// that raises has changed nothing, and memory is the only thing that admit may still ask for before
// it applies.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/relaxed_counter.h"
#include "blocks/admitted_prompts.h"
#include "blocks/block_pool.h"
#include "blocks/prefix_tree.h"
#include "blocks/slot.h"
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
  struct StepShape {
    bool decode;  ///< Every query length is 1.
    bool plain;   ///< No slot rewinds, seals, rewrites or begins.
  };
  StepShape check_step(std::span<const std::int32_t> cu_seqlens_q,
                       std::span<const std::int32_t> past_len,
                       std::span<const std::int32_t> slots);
  StepPlan prepare_step(std::span<const std::int32_t> cu_seqlens_q,
                        std::span<const std::int32_t> past_len,
                        std::span<const std::int32_t> slots);
  void update_position(int slot, std::int64_t new_pos);
  void retire(int slot,
              std::span<const std::int32_t> history,
              std::int64_t addressable_len,
              std::span<const std::int64_t> boundaries);
  void note_output(int slot, std::int64_t output_tokens);
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
    if (slot < 0 || slot >= config_.max_seqs) {
      throw_slot(call, slot);
    }
    return slots_[blocks::at(slot)];
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

  struct Counters {
    RelaxedCounter admits, prompt_tokens, hit_tokens, hit_blocks, missed_blocks, partial_hits,
        partial_takeovers, copied_blocks, sealed_blocks, duplicate_blocks, evicted_for_step,
        evicted_for_copy, dropped_keys, quarantined_blocks, bound_blocks_max, parked_blocks_max;
  };

  // What a step wants of one slot, and what the pool must have for all of them.
  struct StepDemand {
    std::int64_t blocks = 0;    ///< New blocks.
    std::int64_t released = 0;  ///< Blocks that windows give back first.
    bool plain = true;          ///< No slot rewinds, seals, rewrites or begins: the usual decode.
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

  // --- Begin (admit.cc) ---
  std::int64_t serve_prefix(int slot_index,
                            std::span<const std::int32_t> prompt,
                            std::int64_t limit) noexcept;

  // --- Steps (step.cc, rewrite.cc) ---
  void begin_batch() noexcept {
    if (++batch_ == 0) {
      forget_batches();
    }
  }
  void forget_batches() noexcept;
  void check_rewind(const char* call, int slot, std::int64_t position) const;
  void check_available(const char* call, const StepDemand& demand) const {
    const std::int64_t available = free_blocks() + demand.released;
    if (demand.blocks > available) {
      throw_unavailable(call, demand.blocks, available);
    }
  }
  // What is wrong with a sequence of a step; they say which. Apart from the checks, which stay
  // small.
  [[noreturn]] void throw_twice(const char* call, int slot) const;
  [[noreturn]] void throw_sequence(std::size_t index,
                                   int slot,
                                   std::int64_t count,
                                   std::int64_t past) const;
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
  void commit(int slot_index, std::int32_t position) noexcept;
  void grow(int slot_index, std::int32_t count) noexcept;
  void bind_cells(int slot_index, std::int32_t cells_needed) noexcept;
  void apply_step(std::span<const std::int32_t> cu_seqlens_q,
                  std::span<const std::int32_t> past_len,
                  std::span<const std::int32_t> slots,
                  bool plain) noexcept;
  void rewrite(int slot_index, std::int32_t from, std::int32_t cells_needed) noexcept;
  void give_up(int slot_index, std::int32_t from) noexcept;
  void cut_prompt(int slot_index, std::int32_t position) noexcept;
  void release_window(int slot_index) noexcept;
  std::int32_t first_in_window(std::int64_t position) const noexcept;
  void seal(int slot_index, const std::int32_t* tokens, std::int32_t blocks) noexcept;
  void bind_canonical(int slot_index, const std::int32_t* tokens, std::int32_t blocks) noexcept;
  void seal_prompt(int slot_index) noexcept;
  void refresh_watermarks(Slot& slot) const noexcept;
  bool must_give_up_leaf(const Slot& slot, std::int32_t from) const noexcept;
  void acquire(BlockId* out, std::int64_t count, RelaxedCounter& evicted) noexcept;

  // --- Ends (retire.cc, release.cc) ---
  void check_retire(int slot,
                    std::span<const std::int32_t> history,
                    std::int64_t addressable_len,
                    std::span<const std::int64_t> boundaries) const;
  void check_head(int slot, std::span<const std::int32_t> history) const;
  void name_boundary(int slot_index, const std::int32_t* history, std::int64_t length) noexcept;
  void release_private(Slot& slot, BlockId block, std::int32_t cell) noexcept;
  void release(int slot_index) noexcept;
  void note_levels() noexcept {
    const std::int64_t parked = tree_.parked_blocks();
    counters_.parked_blocks_max.raise_to(parked);
    const std::int64_t bound = pool_.num_blocks() - pool_.free_count() - parked;
    counters_.bound_blocks_max.raise_to(bound - pool_.quarantined_count());
    if (auto* order = tree_.order()) {
      order->levels(bound);
    }
  }
  void audit_slot(int slot_index) const;

  BlockManagerConfig config_;
  int block_shift_ = -1;         ///< log2(block_size) when that is whole.
  bool sharing_ = false;         ///< Prefixes are cached and served at all.
  std::int64_t row_cells_ = 0;   ///< Cells a row.
  std::int64_t row_tokens_ = 0;  ///< Tokens a sequence may have.
  std::size_t row_stride_ = 0;   ///< Never a power of two: rows must not share cache sets.

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

/// "call: name VALUE is outside [low, high]"
[[noreturn]] void throw_outside(const char* call,
                                std::string_view name,
                                std::int64_t value,
                                std::int64_t low,
                                std::int64_t high);

}  // namespace octavo
