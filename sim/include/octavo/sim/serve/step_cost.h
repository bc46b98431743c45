// How long one step of an engine takes, as a function of what the step works on.
//
// A serving simulation keeps the sums of StepShape up to date as sequences come, grow and go, so
// that a step costs it O(1) whatever the batch; a cost model turns the sums into a time. Pure
// functions: the same shape gives the same time, in integer nanoseconds, in every build.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace octavo::sim {

/// The most distinct attention spans (full, and windows) of one model.
inline constexpr int kSpansMax = 4;

/// What one step works on, summed over its sequences.
struct StepShape {
  std::int64_t prefill_sequences = 0;  ///< That compute prompt tokens in this step.
  std::int64_t prefill_tokens = 0;     ///< Prompt tokens that they compute.
  std::int64_t decode_sequences = 0;   ///< That generate.
  std::int64_t decode_tokens = 0;      ///< Fed by them: one each, more with speculation.

  // A sequence of `past` tokens that computes `n` more, under a span of w tokens (w = infinity for
  // full attention), adds

  /// min(past + n, w + n - 1): tokens whose K/V the step reads, once a sequence.
  std::array<std::int64_t, kSpansMax> read_tokens = {};
  /// sum over i = 1..n of min(past + i, w): pairs of a computed token and a token that it sees.
  std::array<std::int64_t, kSpansMax> attended_pairs = {};

  friend bool operator==(const StepShape&, const StepShape&) = default;
};

class StepCost {
 public:
  virtual ~StepCost() = default;
  /// At least 1; never decreasing in any field of the shape.
  virtual std::int64_t step_time_ns(const StepShape& shape) const = 0;
  /// The spans that shapes are summed over, at most kSpansMax: 0 is full attention, else a window.
  virtual std::span<const std::int64_t> spans() const noexcept = 0;
};

}  // namespace octavo::sim
