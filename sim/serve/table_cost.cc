#include "octavo/sim/serve/table_cost.h"

#include <algorithm>
#include <string>

#include "octavo/sim/input_error.h"
#include "octavo/sim/serve/wide.h"

namespace octavo::sim {
namespace {

constexpr std::array<std::string_view, 3> kAxisNames = {"prefill_tokens", "decode_sequences",
                                                        "kv_tokens"};
constexpr std::size_t kPointsMax = std::size_t{1} << 24;

std::array<std::int64_t, 3> coordinates(const StepShape& shape) {
  return {shape.prefill_tokens, shape.decode_tokens, shape.read_tokens[0]};
}

std::string text(const std::array<std::int64_t, 3>& at) {
  std::string result;
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    result += axis > 0 ? ", " : "";
    result += std::string(kAxisNames[axis]) + " " + std::to_string(at[axis]);
  }
  return result;
}

}  // namespace

struct TableCost::Place {
  std::size_t low = 0;      // The grid value at or below.
  std::size_t high = 0;     // The next one; the same at an end.
  std::int64_t past = 0;    // How far behind `low`,
  std::int64_t width = 1;   // of so much.
  std::int64_t beyond = 0;  // How far behind the last grid value.
};

TableCost::TableCost(const MeasuredSteps& measured) {
  for (const MeasuredStep& step : measured.steps) {
    const auto at = coordinates(step.shape);
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      axes_[axis].push_back(at[axis]);
    }
  }
  std::size_t points = 1;
  for (std::vector<std::int64_t>& axis : axes_) {
    std::sort(axis.begin(), axis.end());
    axis.erase(std::unique(axis.begin(), axis.end()), axis.end());
    points = axis.size() > kPointsMax / points ? kPointsMax + 1 : points * axis.size();
    if (points > kPointsMax) {
      throw InputError(measured.file, 0, "", "has more than 16777216 combinations of values");
    }
  }
  times_ns_.assign(points, 0);
  std::vector<std::int64_t> lines(points, 0);
  for (const MeasuredStep& step : measured.steps) {
    const auto at = coordinates(step.shape);
    std::array<std::size_t, kAxes> cell{};
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      const auto found = std::lower_bound(axes_[axis].begin(), axes_[axis].end(), at[axis]);
      cell[axis] = static_cast<std::size_t>(found - axes_[axis].begin());
    }
    const std::size_t point = index(cell);
    if (lines[point] != 0) {
      throw InputError(
          measured.file, step.line, "",
          "stands twice (" + text(at) + "), first in line " + std::to_string(lines[point]));
    }
    lines[point] = step.line;
    times_ns_[point] = step.time_ns;
  }
  check_rising(measured, lines);
}

void TableCost::check_rising(const MeasuredSteps& measured,
                             const std::vector<std::int64_t>& lines) const {
  std::array<std::size_t, kAxes> cell{};
  for (std::size_t point = 0; point < lines.size(); ++point) {
    std::size_t rest = point;
    for (std::size_t axis = kAxes; axis-- > 0;) {
      cell[axis] = rest % axes_[axis].size();
      rest /= axes_[axis].size();
    }
    if (lines[point] == 0) {
      throw InputError(measured.file, 0, "",
                       "has no step of " +
                           text({axes_[0][cell[0]], axes_[1][cell[1]], axes_[2][cell[2]]}) +
                           ", expected every combination of the values that occur");
    }
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      if (cell[axis] == 0) {
        continue;
      }
      auto before = cell;
      --before[axis];
      const std::size_t smaller = index(before);
      if (times_ns_[point] < times_ns_[smaller]) {
        throw InputError(measured.file, lines[point], "time_us",
                         "is less than in line " + std::to_string(lines[smaller]) +
                             ", a step with less " + std::string(kAxisNames[axis]) +
                             "; expected times that do not fall");
      }
    }
  }
}

std::size_t TableCost::index(const std::array<std::size_t, kAxes>& at) const {
  return (at[0] * axes_[1].size() + at[1]) * axes_[2].size() + at[2];
}

TableCost::Place TableCost::place(std::size_t axis, std::int64_t value) const {
  const std::vector<std::int64_t>& values = axes_[axis];
  const auto above = std::upper_bound(values.begin(), values.end(), value);
  Place place;
  if (above == values.begin()) {
    return place;
  }
  place.low = static_cast<std::size_t>(above - values.begin()) - 1;
  if (above == values.end()) {
    place.high = place.low;
    place.beyond = value - values.back();
    return place;
  }
  place.high = place.low + 1;
  place.past = value - values[place.low];
  place.width = values[place.high] - values[place.low];
  return place;
}

std::int64_t TableCost::step_time_ns(const StepShape& shape) const {
  const auto at = coordinates(shape);
  std::array<Place, kAxes> places;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    places[axis] = place(axis, at[axis]);
  }
  // The corners of the cell, folded axis by axis. A rounded-down fold of values that do not fall
  // does not fall either, in the corners and in the place.
  std::array<std::int64_t, 8> corners{};
  for (std::size_t corner = 0; corner < corners.size(); ++corner) {
    std::array<std::size_t, kAxes> cell{};
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      const bool high = (corner >> (kAxes - 1 - axis) & 1U) != 0;
      cell[axis] = high ? places[axis].high : places[axis].low;
    }
    corners[corner] = times_ns_[index(cell)];
  }
  for (std::size_t axis = kAxes, count = corners.size() / 2; axis-- > 0; count /= 2) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t low = corners[2 * i];
      const Wide rise = wide(corners[2 * i + 1] - low) * wide(places[axis].past);
      corners[i] = low + static_cast<std::int64_t>(rise / wide(places[axis].width));
    }
  }
  Wide time = wide(corners[0]);
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const std::vector<std::int64_t>& values = axes_[axis];
    if (places[axis].beyond > 0 && values.size() > 1) {
      std::array<std::size_t, kAxes> last = {axes_[0].size() - 1, axes_[1].size() - 1,
                                             axes_[2].size() - 1};
      const std::int64_t end = times_ns_[index(last)];
      --last[axis];
      const Wide rise = wide(end - times_ns_[index(last)]);
      time += rise * wide(places[axis].beyond) / wide(values.back() - values[values.size() - 2]);
    }
  }
  return clamped(time);
}

}  // namespace octavo::sim
