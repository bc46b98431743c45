#include "xy_chart.h"

#include <algorithm>
#include <cmath>

#include "report_number.h"
#include "svg.h"

namespace octavo::sim::report {
namespace {

constexpr double kLeft = 52;
constexpr double kTop = 30;
constexpr double kPlotHeight = 210;
constexpr double kLineHeight = 17;
constexpr double kCharacter = 7.2;  // Of a label, about.
constexpr std::size_t kLabelMax = 18;

std::string css(std::string_view name, std::size_t colour) {
  std::string text(name);
  return text + " s" + std::to_string(colour % 8) + (colour >= 8 ? " dash" : "");
}

std::string shortened(const std::string& text) {
  return text.size() <= kLabelMax ? text : text.substr(0, kLabelMax - 1) + "\u2026";
}

struct Range {
  double low = 0;
  double high = 0;
  bool any = false;
  void add(double value) {
    low = any ? std::min(low, value) : value;
    high = any ? std::max(high, value) : value;
    any = true;
  }
};

class Drawing {
 public:
  explicit Drawing(const XyChart& chart) : chart_(chart) {
    std::size_t longest = 0;
    for (const XySeries& series : chart.series) {
      longest = std::max(longest, shortened(series.name).size());
      for (const XyPoint& point : series.points) {
        x_range_.add(point.x);
        y_range_.add(point.y);
        if (point.band) {
          y_range_.add(point.band->second);
        }
      }
    }
    if (chart.marker) {
      x_range_.add(chart.marker->first);
    }
    for (const auto& [value, name] : chart.x.names) {
      x_range_.add(value);
    }
    right_ = std::max(chart.x_units.empty() ? 24.0 : 64.0,
                      kCharacter * static_cast<double>(longest) + 16);
    height_ = std::max(kPlotHeight, kLineHeight * static_cast<double>(chart.series.size()) + 20);
  }

  Figure figure() {
    const Axis x = axis(chart_.x, x_range_, kLeft + 6, kChartWidth - right_);
    const Axis y = axis(chart_.y, y_range_, kTop + height_, kTop);
    const double rows = chart_.x_units.empty() ? (chart_.x.title.empty() ? 1.0 : 2.0)
                                               : static_cast<double>(chart_.x_units.size());
    Svg svg(kChartWidth, kTop + height_ + 10 + rows * kLineHeight, label(), &x, &y);
    draw_y_axis(svg, y, x);
    draw_x_axis(svg, x);
    draw_marker(svg, x);
    for (const XySeries& series : chart_.series) {
      draw_lines(svg, series, x, y);
    }
    Figure figure{chart_.title, chart_.note, {}, {}, {chart_.columns, {}}, false};
    for (const XySeries& series : chart_.series) {
      for (const XyPoint& point : series.points) {
        svg.circle(css(series.hollow ? "m ring" : "m dot", series.colour), x.at(point.x),
                   y.at(point.y), series.points.size() > 24 ? 2 : 3.5);
        figure.data.rows.push_back(point.cells);
      }
    }
    draw_labels(svg, x, y);
    figure.chart = svg.str();
    return figure;
  }

 private:
  static Axis axis(const XyAxis& spec, const Range& range, double begin, double end) {
    if (!spec.names.empty()) {  // Names stand at their places, nothing is rounded.
      return {Axis::Kind::Linear, range.low, range.high, begin, end};
    }
    const double low = spec.kind == Axis::Kind::Log ? range.low : std::min(0.0, range.low);
    return {spec.kind, low, range.high, begin, end};
  }

  std::string label() const {
    return chart_.title + ": " + chart_.y.title + " over " + chart_.x.title +
           ". Arrow keys go from point to point.";
  }

  static std::string tick_text(const XyAxis& spec, double value) {
    return spec.percent ? significant(value, 3) + " %" : short_number(value);
  }

  void draw_y_axis(Svg& svg, const Axis& y, const Axis& x) const {
    for (const double value : y.ticks(5)) {
      svg.line("grid", kLeft, y.at(value), x.end_px(), y.at(value));
      svg.text("tick", kLeft - 6, y.at(value) + 4, "end", tick_text(chart_.y, value));
    }
    svg.text("axis", 2, 12, "start", chart_.y.title);
  }

  void draw_x_axis(Svg& svg, const Axis& x) const {
    const double base = kTop + height_;
    svg.line("base", kLeft, base, x.end_px(), base);
    std::vector<std::pair<double, std::string>> ticks = chart_.x.names;
    if (ticks.empty()) {
      for (const double value : x.ticks(5)) {
        ticks.emplace_back(value, tick_text(chart_.x, value));
      }
    }
    for (const auto& [value, name] : ticks) {
      svg.line("base", x.at(value), base, x.at(value), base + 4);
      double line = base + 6;
      if (chart_.x_units.empty()) {
        svg.text("tick", x.at(value), line + 13, "middle", name);
      }
      for (const XyUnit& unit : chart_.x_units) {
        svg.text("tick", x.at(value), line + 13, "middle", short_number(value * unit.factor));
        line += kLineHeight;
      }
    }
    double line = base + 6;
    for (const XyUnit& unit : chart_.x_units) {
      svg.text("axis", kChartWidth - 2, line + 13, "end", unit.name);
      line += kLineHeight;
    }
    if (chart_.x_units.empty() && !chart_.x.title.empty()) {
      svg.text("axis", x.end_px(), line + 13 + kLineHeight, "end", chart_.x.title);
    }
  }

  void draw_marker(Svg& svg, const Axis& x) const {
    if (chart_.marker) {
      const double place = x.at(chart_.marker->first);
      const bool right_half = place > (x.begin_px() + x.end_px()) / 2;
      svg.line("marker", place, kTop - 4, place, kTop + height_);
      svg.text("axis", place + (right_half ? -5 : 5), kTop + height_ - 8,
               right_half ? "end" : "start", chart_.marker->second);
    }
  }

  static void draw_lines(Svg& svg, const XySeries& series, const Axis& x, const Axis& y) {
    std::vector<std::pair<double, double>> line;
    std::vector<std::pair<double, double>> lower;
    std::vector<std::pair<double, double>> band;
    for (const XyPoint& point : series.points) {
      line.emplace_back(x.at(point.x), y.at(point.y));
      if (point.band) {
        band.emplace_back(x.at(point.x), y.at(point.band->second));
        lower.emplace_back(x.at(point.x), y.at(point.band->first));
      }
    }
    band.insert(band.end(), lower.rbegin(), lower.rend());
    if (!band.empty()) {
      svg.path(css("band", series.colour), band, true);
    }
    if (series.line && line.size() > 1) {
      svg.path(css("line", series.colour), line);
    }
  }

  // The names of the series at their last points, moved apart where they would touch.
  void draw_labels(Svg& svg, const Axis& x, const Axis& y) const {
    struct Label {
      double at;
      const XySeries* series;
    };
    std::vector<Label> labels;
    for (const XySeries& series : chart_.series) {
      for (const XyPoint& point : series.points) {
        if (!point.label.empty()) {
          const bool right_half = x.at(point.x) > (x.begin_px() + x.end_px()) / 2;
          svg.text("tick", x.at(point.x) + (right_half ? -8 : 8), y.at(point.y) - 6,
                   right_half ? "end" : "start", point.label);
        }
      }
      if (!series.name.empty() && !series.points.empty()) {
        labels.push_back({y.at(series.points.back().y), &series});
      }
    }
    std::stable_sort(labels.begin(), labels.end(),
                     [](const Label& a, const Label& b) { return a.at < b.at; });
    double free = 4;
    for (Label& label : labels) {
      label.at = std::max(label.at, free);
      free = label.at + kLineHeight;
    }
    double limit = kTop + height_ + 4;
    for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
      label->at = std::min(label->at, limit);
      limit = label->at - kLineHeight;
    }
    for (const Label& label : labels) {
      const XyPoint& last = label.series->points.back();
      const double place = x.end_px() + 9;
      if (place - x.at(last.x) > 16) {
        svg.line(css("leader", label.series->colour), x.at(last.x) + 5, y.at(last.y), place - 3,
                 label.at);
      }
      svg.text(css("label", label.series->colour), place, label.at + 4, "start",
               shortened(label.series->name));
    }
  }

  const XyChart& chart_;
  Range x_range_;
  Range y_range_;
  double right_ = 0;
  double height_ = 0;
};

}  // namespace

Figure draw(const XyChart& chart) {
  return Drawing(chart).figure();
}

}  // namespace octavo::sim::report
