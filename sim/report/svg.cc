#include "svg.h"

#include "html.h"
#include "report_number.h"

namespace octavo::sim::report {
namespace {

std::string attribute(std::string_view name, double value) {
  std::string text = " ";
  text += name;
  return text + "=\"" + plain(value, 2) + "\"";
}

std::string open(std::string_view element, std::string_view css) {
  std::string text = "<";
  text += element;
  text += " class=\"";
  text += css;
  return text + "\"";
}

}  // namespace

Svg::Svg(double width, double height, std::string_view label, const Axis* x, const Axis* y) {
  text_ = "<svg class=\"chart\" viewBox=\"0 0 " + plain(width, 2) + " " + plain(height, 2) +
          "\" tabindex=\"0\" role=\"img\" aria-label=\"" + escape(label) + "\"";
  if (x != nullptr) {
    text_ += " data-x=\"" + x->attribute() + "\"";
  }
  if (y != nullptr) {
    text_ += " data-y=\"" + y->attribute() + "\"";
  }
  text_ += ">\n";
}

void Svg::line(std::string_view css, double x1, double y1, double x2, double y2) {
  text_ += open("line", css) + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
           attribute("y2", y2) + "/>\n";
}

void Svg::circle(std::string_view css, double x, double y, double radius) {
  text_ += open("circle", css) + attribute("cx", x) + attribute("cy", y) + attribute("r", radius) +
           "/>\n";
}

void Svg::rect(std::string_view css, double x, double y, double width, double height) {
  text_ += open("rect", css) + attribute("x", x) + attribute("y", y) + attribute("width", width) +
           attribute("height", height) + "/>\n";
}

void Svg::text(
    std::string_view css, double x, double y, std::string_view anchor, std::string_view text) {
  text_ += open("text", css) + attribute("x", x) + attribute("y", y) + " text-anchor=\"";
  text_ += anchor;
  text_ += "\">" + escape(text) + "</text>\n";
}

void Svg::path(std::string_view css,
               const std::vector<std::pair<double, double>>& points,
               bool closed) {
  text_ += open("path", css) + " d=\"";
  for (std::size_t i = 0; i < points.size(); ++i) {
    text_ += (i == 0 ? "M" : "L") + plain(points[i].first, 2) + " " + plain(points[i].second, 2);
  }
  text_ += closed ? "Z\"/>\n" : "\"/>\n";
}

}  // namespace octavo::sim::report
