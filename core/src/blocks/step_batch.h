// The sequences of a step, as prepare_step is given them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace octavo::blocks {

struct StepBatch {
  static constexpr bool kMany = true;  ///< Slots may be named twice, and lengths add up.
  std::span<const std::int32_t> cu_seqlens_q, past_lens, slots;

  std::size_t size() const noexcept { return slots.size(); }
  int slot(std::size_t index) const noexcept { return slots[index]; }
  std::int32_t past_len(std::size_t index) const noexcept { return past_lens[index]; }
  std::int64_t count(std::size_t index) const noexcept {
    return std::int64_t{cu_seqlens_q[index + 1]} - cu_seqlens_q[index];
  }
  std::int64_t total_count() const noexcept { return cu_seqlens_q[size()]; }
};

/// A batch of one, which is what a replay has. By value and with its size known, so that the
/// compiler leaves neither a loop nor a second look at the arguments.
struct StepOfOne {
  static constexpr bool kMany = false;
  int only_slot;
  std::int32_t only_past_len;
  std::int64_t only_count;

  static constexpr std::size_t size() noexcept { return 1; }
  int slot(std::size_t /*index*/) const noexcept { return only_slot; }
  std::int32_t past_len(std::size_t /*index*/) const noexcept { return only_past_len; }
  std::int64_t count(std::size_t /*index*/) const noexcept { return only_count; }
  std::int64_t total_count() const noexcept { return only_count; }
};

}  // namespace octavo::blocks
