// One bar of parts that add up, with the list of the parts below.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "html.h"

namespace octavo::sim::report {

struct BarPart {
  std::string name;
  double amount = 0;  ///< Not negative.
  std::string text;   ///< The amount with its unit.
  std::size_t colour = 0;
  std::vector<std::string> cells;  ///< Its row in the table.
};

struct StackedBar {
  std::string title;
  std::string note;
  std::vector<BarPart> parts;
  /// A line across the bar at that amount, with what it says.
  std::optional<std::pair<double, std::string>> limit;
  std::vector<Column> columns;
};

/// At least one part must have an amount.
Figure draw(const StackedBar& bar);

}  // namespace octavo::sim::report
