// Non-negative least squares, by trying every set of terms: there are at most six.
//
// The best non-negative coefficients are the unconstrained best of the terms that end above zero.
// So each subset is solved by its normal equations, the ones with a negative coefficient are put
// aside, and the least sum of squared residuals wins.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "octavo/sim/input_error.h"
#include "octavo/sim/serve/linear_cost.h"

namespace octavo::sim {
namespace {

using Row = std::array<double, kLinearTerms>;

constexpr double kPivotMin = 1e-10;  // Of columns scaled to length 1: below, they are dependent.
constexpr double kCoefficientFsMax = 9e18;

Row features(const StepShape& shape) {
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  return {1.0,
          real(shape.prefill_sequences),
          real(shape.decode_sequences),
          real(shape.prefill_tokens) + real(shape.decode_tokens),
          real(shape.read_tokens[0]),
          real(shape.attended_pairs[0])};
}

/// X'X and X'y of columns scaled to length 1.
struct NormalEquations {
  std::array<Row, kLinearTerms> gram{};
  Row right{};
  Row scale{};  // Length of each column; 0 = it says nothing.
};

NormalEquations normal_equations(const MeasuredSteps& measured) {
  NormalEquations equations;
  for (const MeasuredStep& step : measured.steps) {
    const Row x = features(step.shape);
    for (std::size_t i = 0; i < kLinearTerms; ++i) {
      equations.scale[i] += x[i] * x[i];
    }
  }
  for (double& scale : equations.scale) {
    scale = std::sqrt(scale);
  }
  for (const MeasuredStep& step : measured.steps) {
    Row x = features(step.shape);
    for (std::size_t i = 0; i < kLinearTerms; ++i) {
      x[i] = equations.scale[i] > 0 ? x[i] / equations.scale[i] : 0;
    }
    for (std::size_t i = 0; i < kLinearTerms; ++i) {
      equations.right[i] += x[i] * static_cast<double>(step.time_ns);
      for (std::size_t j = 0; j < kLinearTerms; ++j) {
        equations.gram[i][j] += x[i] * x[j];
      }
    }
  }
  return equations;
}

/// The best coefficients (ns a unit) of the terms in `chosen`, or nothing when they are dependent
/// or one is negative. Cholesky.
std::optional<Row> solve(const NormalEquations& equations, unsigned chosen) {
  std::array<std::size_t, kLinearTerms> terms{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < kLinearTerms; ++i) {
    if ((chosen >> i & 1U) != 0) {
      terms[count++] = i;
    }
  }
  std::array<Row, kLinearTerms> lower{};
  Row y{};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = equations.gram[terms[i]][terms[j]];
      for (std::size_t k = 0; k < j; ++k) {
        sum -= lower[i][k] * lower[j][k];
      }
      if (i == j) {
        if (!(sum > kPivotMin)) {
          return std::nullopt;
        }
        lower[i][i] = std::sqrt(sum);
      } else {
        lower[i][j] = sum / lower[j][j];
      }
    }
    double sum = equations.right[terms[i]];
    for (std::size_t k = 0; k < i; ++k) {
      sum -= lower[i][k] * y[k];
    }
    y[i] = sum / lower[i][i];
  }
  Row result{};
  Row x{};
  for (std::size_t i = count; i-- > 0;) {
    double sum = y[i];
    for (std::size_t k = i + 1; k < count; ++k) {
      sum -= lower[k][i] * x[k];
    }
    x[i] = sum / lower[i][i];
    if (x[i] < 0) {
      return std::nullopt;
    }
    result[terms[i]] = x[i] / equations.scale[terms[i]];
  }
  return result;
}

double squared_residuals(const MeasuredSteps& measured, const Row& coefficients) {
  double sum = 0;
  for (const MeasuredStep& step : measured.steps) {
    const Row x = features(step.shape);
    double residual = static_cast<double>(step.time_ns);
    for (std::size_t i = 0; i < kLinearTerms; ++i) {
      residual -= coefficients[i] * x[i];
    }
    sum += residual * residual;
  }
  return sum;
}

/// The residuals of the coefficients as they are stored, in whole femtoseconds.
void judge(const MeasuredSteps& measured, LinearFit& fit) {
  const LinearCost cost(fit.coefficients);
  double mean = 0;
  for (const MeasuredStep& step : measured.steps) {
    mean += static_cast<double>(step.time_ns) / static_cast<double>(measured.steps.size());
  }
  double residuals = 0;
  double deviations = 0;
  for (const MeasuredStep& step : measured.steps) {
    const auto time = static_cast<double>(step.time_ns);
    const double error = std::abs(static_cast<double>(cost.step_time_ns(step.shape)) - time);
    residuals += error * error;
    deviations += (time - mean) * (time - mean);
    fit.error_us_max = std::max(fit.error_us_max, error / 1000);
    if (error / time > fit.error_rel_max || fit.error_line == 0) {
      fit.error_rel_max = error / time;
      fit.error_line = step.line;
    }
  }
  fit.steps = static_cast<std::int64_t>(measured.steps.size());
  fit.rms_us = std::sqrt(residuals / static_cast<double>(fit.steps)) / 1000;
  fit.r2 = deviations > 0 ? 1 - residuals / deviations : (residuals > 0 ? 0 : 1);
}

}  // namespace

LinearFit fit_linear_cost(const MeasuredSteps& measured) {
  if (measured.steps.size() < 2) {
    throw InputError(measured.file, 0, "", "has one step, expected at least two to fit");
  }
  const NormalEquations equations = normal_equations(measured);
  std::optional<Row> best;
  double best_residuals = 0;
  for (unsigned chosen = 1; chosen < 1U << kLinearTerms; ++chosen) {
    const std::optional<Row> candidate = solve(equations, chosen);
    if (!candidate) {
      continue;
    }
    const double residuals = squared_residuals(measured, *candidate);
    if (!best || residuals < best_residuals) {
      best = candidate;
      best_residuals = residuals;
    }
  }
  std::array<std::int64_t, kLinearTerms> terms{};
  for (std::size_t i = 0; best && i < kLinearTerms; ++i) {
    terms[i] = std::llround(std::min((*best)[i] * 1e6, kCoefficientFsMax));
  }
  LinearFit fit;
  fit.coefficients = LinearCoefficients::of(terms);
  judge(measured, fit);
  return fit;
}

}  // namespace octavo::sim
