// Amounts that add up, over time: steps, since each is a mean over its interval.
#pragma once

#include <string>
#include <vector>

#include "html.h"

namespace octavo::sim::report {

struct AreaRow {
  double begin = 0;
  double end = 0;
  std::vector<double> amounts;     ///< One a layer, from the bottom.
  std::vector<std::string> cells;  ///< Its row in the table.
};

struct StackedArea {
  std::string title;
  std::string note;
  std::string x_title;
  std::string y_title;
  std::vector<std::string> layers;
  std::vector<std::size_t> colours;  ///< Of the layers.
  std::vector<AreaRow> rows;         ///< In order of time; gaps between them stay empty.
  std::vector<Column> columns;
};

/// At least one row is needed.
Figure draw(const StackedArea& area);

}  // namespace octavo::sim::report
