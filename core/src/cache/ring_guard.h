// RingGuard: which positions the continuous rows with a window still hold.
//
// Such a row is a ring: position p lies at p mod capacity, with capacity = window - 1 + the largest
// step, so a write at the end overwrites what no query of that step can see. A rewind, though, can
// ask for positions that are gone. The guard keeps, for each slot, the end of everything that was
// ever reserved since the sequence began, and refuses rewinds that reach behind it.
//
// A row whose capacity is the longest sequence never wraps and needs no guard.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/virtual_memory.h"
#include "plan/kv_plan.h"

namespace octavo::cache {

class RingGuard {
 public:
  RingGuard() = default;
  explicit RingGuard(const KVPlan& plan);

  /// Raises FailedPrecondition when a sequence that goes on from `position` would need tokens that
  /// some row has overwritten.
  void check(const char* call, int slot, std::int64_t position) const;

  /// The sequence goes on from `position`, and positions up to `end` may be written.
  void note(int slot, std::int64_t position, std::int64_t end) noexcept;
  void forget(int slot) noexcept { note(slot, 0, 0); }

  bool active() const noexcept { return !rings_.empty(); }
  std::int64_t written_end(int slot) const noexcept;

 private:
  struct Ring {
    std::int64_t window;
    std::int64_t capacity;
  };

  std::vector<Ring> rings_;          ///< Distinct.
  VirtualArray<std::int32_t> ends_;  ///< By slot; only with rings.
};

}  // namespace octavo::cache
