#include "curve_chart.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "table.h"

namespace octavo::tools {
namespace {

constexpr int kColumns = 62;
constexpr int kRows = 12;
constexpr int kTickColumns = 16;  // Between the sizes named below the axis.

// The size at a column.
std::int64_t size_at(std::int64_t least, std::int64_t most, int column) {
  const double share = static_cast<double>(column) / (kColumns - 1);
  const double ratio = static_cast<double>(most) / static_cast<double>(least);
  const auto size =
      static_cast<std::int64_t>(std::llround(static_cast<double>(least) * std::pow(ratio, share)));
  return std::clamp(size, least, most);
}

// The least of .01, .02, .05, .1, .2, .3, ... 1 that the curve stays below.
double axis_top(double highest) {
  for (const double top : {0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}) {
    if (highest <= top) {
      return top;
    }
  }
  return 1.0;
}

std::string right_aligned(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

void draw_axis(std::ostream& out, std::int64_t least, std::int64_t most, const std::string& unit) {
  std::string line(static_cast<std::size_t>(kColumns), '-');
  std::string names(9, ' ');
  for (int column = 0; column < kColumns; column += kTickColumns) {
    line[static_cast<std::size_t>(column)] = '+';
    const std::size_t at = 9 + static_cast<std::size_t>(column);
    names.resize(std::max(names.size() + (column > 0 ? 1 : 0), at), ' ');
    names += grouped(size_at(least, most, column));
  }
  const std::string last = grouped(most);
  const std::size_t end = 9 + kColumns;
  if (names.size() + 1 + last.size() <= end) {
    names += right_aligned(last, end - names.size());
    line.back() = '+';
  }
  out << "        +" << line << '\n' << names << "  " << unit << '\n';
}

}  // namespace

void draw_curve(std::ostream& out,
                std::int64_t least,
                std::int64_t most,
                const std::string& unit,
                const std::function<double(std::int64_t)>& rate) {
  std::vector<double> rates;
  for (int column = 0; column < kColumns; ++column) {
    rates.push_back(rate(size_at(least, most, column)));
  }
  const double top = axis_top(*std::max_element(rates.begin(), rates.end()));
  const auto row_of = [&](double value) {
    return static_cast<int>(std::lround(value / top * kRows));
  };
  out << "hit rate\n";
  for (int row = kRows; row >= 0; --row) {
    const bool named = row % 3 == 0;
    std::string line = named ? right_aligned(fixed(top * row / kRows, 4), 7) + " +" : "        |";
    for (const double value : rates) {
      const int height = row_of(value);
      line += height == row ? '*' : (height > row ? '.' : ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
  draw_axis(out, least, most, unit);
}

}  // namespace octavo::tools
