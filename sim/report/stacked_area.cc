#include "stacked_area.h"

#include <algorithm>
#include <numeric>

#include "report_number.h"
#include "svg.h"

namespace octavo::sim::report {
namespace {

constexpr double kAreaLeft = 52;
constexpr double kRight = 16;
constexpr double kAreaTop = 30;
constexpr double kBottom = 240;
constexpr double kHeight = 284;

// The bottom and the top of a layer, as steps over all rows; empty rows between have no height.
std::vector<std::pair<double, double>> outline(const StackedArea& area,
                                               std::size_t layer,
                                               const Axis& x,
                                               const Axis& y) {
  std::vector<std::pair<double, double>> top;
  std::vector<std::pair<double, double>> bottom;
  const double zero = y.at(0);
  for (std::size_t i = 0; i < area.rows.size(); ++i) {
    const AreaRow& row = area.rows[i];
    const auto end = row.amounts.begin() + static_cast<std::ptrdiff_t>(layer);
    const double below = std::accumulate(row.amounts.begin(), end, 0.0);
    if (i > 0 && row.begin > area.rows[i - 1].end) {
      top.emplace_back(x.at(area.rows[i - 1].end), zero);
      bottom.emplace_back(x.at(area.rows[i - 1].end), zero);
      top.emplace_back(x.at(row.begin), zero);
      bottom.emplace_back(x.at(row.begin), zero);
    }
    for (const double time : {row.begin, row.end}) {
      top.emplace_back(x.at(time), y.at(below + row.amounts[layer]));
      bottom.emplace_back(x.at(time), y.at(below));
    }
  }
  top.insert(top.end(), bottom.rbegin(), bottom.rend());
  return top;
}

std::string legend(const StackedArea& area) {
  std::string out = "<ul class=\"legend\">";
  for (std::size_t i = 0; i < area.layers.size(); ++i) {
    out += "<li><span class=\"swatch s" + std::to_string(area.colours[i]) + "\"></span>" +
           escape(area.layers[i]) + "</li>";
  }
  return out + "</ul>\n";
}

}  // namespace

Figure draw(const StackedArea& area) {
  double most = 0;
  for (const AreaRow& row : area.rows) {
    most = std::max(most, std::accumulate(row.amounts.begin(), row.amounts.end(), 0.0));
  }
  const Axis x(Axis::Kind::Linear, area.rows.front().begin, area.rows.back().end, kAreaLeft,
               kChartWidth - kRight);
  const Axis y(Axis::Kind::Linear, 0, most, kBottom, kAreaTop);
  Svg svg(kChartWidth, kHeight, area.title + ". Arrow keys go from interval to interval.", &x, &y);
  for (std::size_t layer = 0; layer < area.layers.size(); ++layer) {
    svg.path("area s" + std::to_string(area.colours[layer]), outline(area, layer, x, y), true);
  }
  for (const double value : y.ticks(5)) {
    svg.line("grid", kAreaLeft, y.at(value), kChartWidth - kRight, y.at(value));
    svg.text("tick", kAreaLeft - 6, y.at(value) + 4, "end", short_number(value));
  }
  for (const double value : x.ticks(6)) {
    svg.line("base", x.at(value), kBottom, x.at(value), kBottom + 4);
    svg.text("tick", x.at(value), kBottom + 19, "middle", short_number(value));
  }
  svg.line("base", kAreaLeft, kBottom, kChartWidth - kRight, kBottom);
  svg.text("axis", 2, 12, "start", area.y_title);
  svg.text("axis", kChartWidth - kRight, kBottom + 36, "end", area.x_title);
  Figure figure{area.title, area.note, {}, legend(area), {area.columns, {}}, false};
  for (const AreaRow& row : area.rows) {
    svg.rect("m column", x.at(row.begin), kAreaTop, x.at(row.end) - x.at(row.begin),
             kBottom - kAreaTop);
    figure.data.rows.push_back(row.cells);
  }
  figure.chart = svg.str();
  return figure;
}

}  // namespace octavo::sim::report
