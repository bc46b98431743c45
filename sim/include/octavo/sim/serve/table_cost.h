// A step's time from a table of measured steps.
//
// The steps must fill a grid: every combination of the prefill_tokens, decode_sequences and
// kv_tokens that occur, once each, with times that do not fall along any of the three. Between the
// grid's points the time is interpolated linearly along each axis, below its first value it stays,
// and beyond its last it goes on with the axis' last slope at the grid's largest corner. That never
// decreases and passes through every measured point. Integers throughout; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "octavo/sim/serve/measured_steps.h"

namespace octavo::sim {

class TableCost final : public StepCost {
 public:
  /// Raises InputError with the line of the step that stands twice, of the one whose time is below
  /// that of a smaller step, or with the combination that is missing.
  explicit TableCost(const MeasuredSteps& measured);

  /// Looks at prefill_tokens, decode_tokens and read_tokens[0].
  std::int64_t step_time_ns(const StepShape& shape) const override;
  std::span<const std::int64_t> spans() const noexcept override { return kSpans; }

 private:
  static constexpr std::array<std::int64_t, 1> kSpans = {0};
  static constexpr std::size_t kAxes = 3;

  struct Place;  // Where a value lies on its axis.
  Place place(std::size_t axis, std::int64_t value) const;
  std::size_t index(const std::array<std::size_t, kAxes>& at) const;
  void check_rising(const MeasuredSteps& measured, const std::vector<std::int64_t>& lines) const;

  std::array<std::vector<std::int64_t>, kAxes> axes_;  // Ascending, each at least one value.
  std::vector<std::int64_t> times_ns_;                 // The last axis runs fastest.
};

}  // namespace octavo::sim
