#include "stacked_bar.h"

#include <algorithm>

#include "report_number.h"

namespace octavo::sim::report {
namespace {

std::string percent(double share) {
  return plain(share * 100, 3) + "%";
}

}  // namespace

Figure draw(const StackedBar& bar) {
  double total = bar.limit ? bar.limit->first : 0;
  double sum = 0;
  for (const BarPart& part : bar.parts) {
    sum += part.amount;
  }
  total = std::max(total, sum);
  Figure figure{bar.title, bar.note, {}, {}, {bar.columns, {}}, true};
  // Without a view box the lengths below are shares of the page's width, and text keeps its size.
  std::string& svg = figure.chart;
  svg = "<svg class=\"bar\" tabindex=\"0\" role=\"img\" aria-label=\"" + escape(bar.title) +
        ". Arrow keys go from part to part.\">\n";
  figure.legend = "<ul class=\"legend amounts\">";
  double begin = 0;
  std::string texts;
  for (const BarPart& part : bar.parts) {
    const double share = part.amount / total;
    const std::string colour = "s" + std::to_string(part.colour);
    svg += "<rect class=\"m part " + colour + "\" x=\"" + percent(begin) + "\" y=\"20\" width=\"" +
           percent(share) + "\" height=\"40\"/>\n";
    if (share > 0.12) {  // On a telephone that is still wide enough for "12.3 GiB".
      texts += "<text class=\"inside " + colour + "\" x=\"" + percent(begin + share / 2) +
               "\" y=\"45\" text-anchor=\"middle\">" + escape(part.text) + "</text>\n";
    }
    figure.legend += "<li><span class=\"swatch " + colour + "\"></span>" + escape(part.name) +
                     " <b>" + escape(part.text) + "</b></li>";
    figure.data.rows.push_back(part.cells);
    begin += share;
  }
  figure.legend += "</ul>\n";
  svg += texts;
  if (bar.limit) {
    const std::string place = percent(bar.limit->first / total);
    const bool right_half = bar.limit->first / total > 0.5;
    svg += "<line class=\"limit\" x1=\"" + place + "\" y1=\"14\" x2=\"" + place +
           "\" y2=\"66\"/>\n<text class=\"axis\" x=\"" + place + "\" y=\"10\" text-anchor=\"" +
           (right_half ? "end" : "start") + "\">" + escape(bar.limit->second) + "</text>\n";
  }
  svg += "</svg>";
  return figure;
}

}  // namespace octavo::sim::report
