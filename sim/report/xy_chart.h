// Lines and points over two axes, labelled where they end.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "axis.h"
#include "html.h"

namespace octavo::sim::report {

struct XyPoint {
  double x = 0;
  double y = 0;
  std::vector<std::string> cells;                 ///< Its row in the table.
  std::optional<std::pair<double, double>> band;  ///< Where y may be instead.
  std::string label;                              ///< Written beside the point; may be empty.
};

struct XySeries {
  std::string name;  ///< Written at the last point; may be empty.
  std::vector<XyPoint> points;
  bool line = true;
  bool hollow = false;  ///< Points are rings.
  std::size_t colour = 0;
};

struct XyAxis {
  std::string title;
  Axis::Kind kind = Axis::Kind::Linear;
  bool percent = false;  ///< Values are per cent.
  /// In place of round numbers: values and what is written there.
  std::vector<std::pair<double, std::string>> names;
};

/// The x axis once more in another unit: a value is x times `factor`.
struct XyUnit {
  std::string name;
  double factor = 1;
};

struct XyChart {
  std::string title;
  std::string note;
  XyAxis x;
  XyAxis y;
  std::vector<XyUnit> x_units;  ///< With these, x.title is not written.
  std::vector<XySeries> series;
  std::optional<std::pair<double, std::string>> marker;  ///< A vertical line at x.
  std::vector<Column> columns;
};

/// At least one point is needed. Linear axes begin at 0; points that a log axis cannot show
/// (zero and below) must not be given.
Figure draw(const XyChart& chart);

}  // namespace octavo::sim::report
