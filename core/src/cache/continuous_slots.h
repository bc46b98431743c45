// ContinuousSlots: the lengths of the slots of a cache without paged rows.
//
// It has the verbs of BlockManager that such a cache needs, with the same rules, checks and
// sentences, but no blocks: every slot owns its storage, nothing is shared, nothing runs out. A
// slot is fresh until its first admit or step, and has a reserved and a committed length.
//
// Threads: one thread. Errors: a call that raises has changed nothing observable.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/virtual_memory.h"
#include "octavo/block_manager.h"

namespace octavo::cache {

class ContinuousSlots {
 public:
  /// `max_tokens_per_seq` 0: as many as an Int32 counts. The block size of the digest and of
  /// sharing does not exist here.
  ContinuousSlots(int max_seqs, std::int64_t max_tokens_per_seq);

  void set_namespace(int slot, std::uint64_t namespace_id);
  /// Serves 0; remembers the prompt so that `retire` can check the history's head.
  std::int64_t admit(int slot, std::span<const std::int32_t> prompt, std::int64_t addressable_len);
  void check_step(std::span<const std::int32_t> cu_seqlens_q,
                  std::span<const std::int32_t> past_len,
                  std::span<const std::int32_t> slots);
  /// REQUIRES: check_step of the same arguments returned.
  void apply_step(std::span<const std::int32_t> cu_seqlens_q,
                  std::span<const std::int32_t> past_len,
                  std::span<const std::int32_t> slots) noexcept;
  void update_position(int slot, std::int64_t new_pos);
  void retire(int slot,
              std::span<const std::int32_t> history,
              std::int64_t addressable_len,
              std::span<const std::int64_t> boundaries);
  /// There is no pool whose eviction would heed it; what is wrong with it is said all the same.
  void note_output(int slot, std::int64_t output_tokens) const;
  void evict(int slot);
  void abandon(int slot) { evict(slot); }
  void invalidate_namespace(std::uint64_t /*namespace_id*/) noexcept {}
  void reset() noexcept;

  /// Nothing is shared here.
  static CachedPrefix cached_prefix(std::span<const std::int32_t> prompt,
                                    std::int64_t addressable_len,
                                    std::uint64_t namespace_id);
  std::int64_t reserved_len(int slot) const;
  std::int64_t committed_len(int slot) const;
  bool is_fresh(int slot) const;

  void audit() const;
  std::uint64_t digest() const;

 private:
  struct Slot {
    std::int32_t reserved;
    std::int32_t committed;
    std::int32_t prompt_len;           ///< What rewinds have left of the prompt.
    std::int32_t admitted_len;         ///< What admit was given,
    std::int32_t admitted_shared_len;  ///< and min(addressable_len, admitted_len) of then.
    std::uint32_t batch;               ///< The latest batch that named the slot: finds duplicates.
    std::uint64_t namespace_id;        ///< Only observed: nothing is shared here.
    bool active;
    bool admitted;
  };

  const Slot& checked(const char* call, int slot) const;
  void require_fresh(const char* call, int slot) const;
  void check_retire(int slot,
                    std::span<const std::int32_t> history,
                    std::int64_t addressable_len,
                    std::span<const std::int64_t> boundaries) const;
  void begin_batch() noexcept;
  static void commit(Slot& slot, std::int32_t position) noexcept;

  int max_seqs_;
  std::int64_t row_tokens_;
  VirtualArray<Slot> slots_;
  std::vector<std::vector<std::int32_t>> prompts_;  ///< By slot.
  std::uint32_t batch_ = 0;
};

}  // namespace octavo::cache
