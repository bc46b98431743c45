// A step's time as a sum of terms that grow with what it holds, and the fit of those terms to
// measured steps.
//
//     step = step + sequence x sequences + token x tokens + kv_token x K/V tokens read
//            + pair x attended pairs
//
// with every coefficient at least 0, so that no step is made cheaper by more work. Coefficients are
// femtoseconds a unit, integers: a step's time is the same in every build.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "octavo/sim/serve/measured_steps.h"

namespace octavo::sim {

inline constexpr std::size_t kLinearTerms = 6;

/// In femtoseconds (10^-15 s) a unit.
struct LinearCoefficients {
  std::int64_t step_fs = 0;              ///< Once a step.
  std::int64_t prefill_sequence_fs = 0;  ///< A sequence that computes prompt tokens.
  std::int64_t decode_sequence_fs = 0;
  std::int64_t token_fs = 0;     ///< A token computed, of a prompt or not.
  std::int64_t kv_token_fs = 0;  ///< A cached token read.
  std::int64_t pair_fs = 0;      ///< A pair of a computed token and one that it sees.

  std::array<std::int64_t, kLinearTerms> terms() const;
  static LinearCoefficients of(const std::array<std::int64_t, kLinearTerms>& terms);
  friend bool operator==(const LinearCoefficients&, const LinearCoefficients&) = default;
};

class LinearCost final : public StepCost {
 public:
  /// Raises InvalidArgument for a negative coefficient.
  explicit LinearCost(const LinearCoefficients& coefficients);

  std::int64_t step_time_ns(const StepShape& shape) const override;
  std::span<const std::int64_t> spans() const noexcept override { return kSpans; }
  const LinearCoefficients& coefficients() const noexcept { return coefficients_; }

 private:
  static constexpr std::array<std::int64_t, 1> kSpans = {0};
  LinearCoefficients coefficients_;
};

/// How well the coefficients meet the steps that they were fitted to.
struct LinearFit {
  LinearCoefficients coefficients;
  std::int64_t steps = 0;
  double r2 = 0;                ///< 1 - squared residuals / squared deviations from the mean.
  double rms_us = 0;            ///< Root of the mean squared residual.
  double error_us_max = 0;      ///< Largest residual,
  double error_rel_max = 0;     ///< and the largest one by its step's time,
  std::int64_t error_line = 0;  ///< which stands in this line.
};

/// The coefficients >= 0 with the least sum of squared residuals. Terms without a column in the
/// file (prefill_sequences, attended_pairs), and terms that the other ones already tell apart, are
/// left at 0. Raises InputError for fewer than two steps.
LinearFit fit_linear_cost(const MeasuredSteps& measured);

/// One JSON object: schema_version, the coefficients and the residuals, without a trailing newline.
std::string to_json(const LinearFit& fit);

/// Reads the coefficients of what to_json wrote. Raises InputError.
LinearCoefficients read_linear_cost(const std::string& path);

}  // namespace octavo::sim
