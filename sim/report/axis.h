// One axis of a chart: from values to pixels, and where its marks are.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace octavo::sim::report {

class Axis {
 public:
  enum class Kind { Linear, Log };

  /// Covers `low` to `high`, widened to whole marks on a linear axis; a log axis needs low > 0.
  /// `begin_px` and `end_px` are where its ends are drawn (end below begin for an upward axis).
  Axis(Kind kind, double low, double high, double begin_px, double end_px);

  double at(double value) const;

  /// Round values within the axis, about `wanted` of them.
  std::vector<double> ticks(int wanted) const;

  /// "log LOW HIGH BEGIN END": how a reader of the page gets from a place to a value.
  std::string attribute() const;

  double begin_px() const { return begin_px_; }
  double end_px() const { return end_px_; }

 private:
  Kind kind_;
  double low_;
  double high_;
  double begin_px_;
  double end_px_;
};

}  // namespace octavo::sim::report
