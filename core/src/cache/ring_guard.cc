#include "cache/ring_guard.h"

#include <algorithm>
#include <string>

#include "cache/errors.h"

namespace octavo::cache {

RingGuard::RingGuard(const KVPlan& plan) {
  for (const KVRowPlan& row : plan.rows) {
    const bool is_ring = row.kind == KVLayerKind::AttentionKV && row.layout != Layout::Paged &&
                         row.window > 0 && row.capacity != plan.max_tokens_per_seq;
    const bool is_known = std::any_of(rings_.begin(), rings_.end(), [&](const Ring& ring) {
      return ring.window == row.window && ring.capacity == row.capacity;
    });
    if (is_ring && !is_known) {
      rings_.push_back({.window = row.window, .capacity = row.capacity});
    }
  }
  if (!rings_.empty()) {
    ends_ = VirtualArray<std::int32_t>(at(plan.max_seqs), VirtualMemory::Pages::Small,
                                       "the ends of the rings");
  }
}

void RingGuard::check(const char* call, int slot, std::int64_t position) const {
  for (const Ring& ring : rings_) {
    const std::int64_t needed = std::max<std::int64_t>(0, position - ring.window + 1);
    const std::int64_t held = std::max<std::int64_t>(0, ends_[at(slot)] - ring.capacity);
    if (needed < position && needed < held) {
      refuse(ErrorCode::FailedPrecondition, call,
             "position " + std::to_string(position) + " of slot " + std::to_string(slot) +
                 " needs tokens from " + std::to_string(needed) + " on; a window of " +
                 std::to_string(ring.window) + " still holds those from " + std::to_string(held) +
                 " on");
    }
  }
}

void RingGuard::note(int slot, std::int64_t position, std::int64_t end) noexcept {
  if (rings_.empty()) {
    return;
  }
  std::int32_t& written = ends_[at(slot)];
  // From 0 on nothing older is ever needed.
  written = std::max(position == 0 ? 0 : written, static_cast<std::int32_t>(end));
}

std::int64_t RingGuard::written_end(int slot) const noexcept {
  return rings_.empty() ? 0 : ends_[at(slot)];
}

}  // namespace octavo::cache
