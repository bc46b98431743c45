// An SVG picture as text. Colours and fonts are the page's: elements only have classes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "axis.h"

namespace octavo::sim::report {

/// All charts on two axes are so wide, in their own units; the page scales them.
inline constexpr double kChartWidth = 560;

class Svg {
 public:
  /// `label` is what a screen reader says. `x` and `y` may be null.
  Svg(double width, double height, std::string_view label, const Axis* x, const Axis* y);

  void line(std::string_view css, double x1, double y1, double x2, double y2);
  void circle(std::string_view css, double x, double y, double radius);
  void rect(std::string_view css, double x, double y, double width, double height);
  /// `anchor` is start, middle or end.
  void text(
      std::string_view css, double x, double y, std::string_view anchor, std::string_view text);
  void path(std::string_view css,
            const std::vector<std::pair<double, double>>& points,
            bool closed = false);

  std::string str() const { return text_ + "</svg>"; }

 private:
  std::string text_;
};

}  // namespace octavo::sim::report
