// Where a pool's blocks are over time.
#include <algorithm>
#include <array>

#include "octavo/sim/input_error.h"
#include "report_number.h"
#include "sections.h"
#include "stacked_area.h"

namespace octavo::sim::report {
namespace {

constexpr std::size_t kReplicasShown = 4;
constexpr std::array<const char*, 3> kLayers{"live", "parked", "free"};

StackedArea area_of(const std::string& title, const std::string& note) {
  StackedArea area;
  area.title = title;
  area.note = note;
  area.x_title = "seconds";
  area.y_title = "blocks";
  area.layers = {"live, of running requests", "parked, for prefix hits", "free"};
  area.colours = {0, 4, 7};
  area.columns = {
      {"Seconds", false, 'x'}, {"Until"}, {"Live blocks"}, {"Parked blocks"}, {"Free blocks"}};
  return area;
}

void add_row(StackedArea& area, double begin, double end, const std::array<double, 3>& amounts) {
  AreaRow row;
  row.begin = begin;
  row.end = end;
  row.cells = {significant(begin, 6), significant(end, 6)};
  for (const double amount : amounts) {
    row.amounts.push_back(amount);
    row.cells.push_back(number(amount, 1));
  }
  area.rows.push_back(std::move(row));
}

std::string simulated_blocks(const Result& result, bool several) {
  const ResultFields run = result.fields();
  const std::vector<std::string> columns = run.texts("series_columns");
  std::array<std::size_t, 3> places{};
  for (std::size_t i = 0; i < kLayers.size(); ++i) {
    const std::string name = std::string(kLayers[i]) + "_blocks_mean_thousandths";
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found == columns.end()) {
      return {};
    }
    places[i] = static_cast<std::size_t>(found - columns.begin());
  }
  const std::vector<ResultFields> replicas = run.objects("series");
  std::string out;
  for (std::size_t replica = 0; replica < std::min(replicas.size(), kReplicasShown); ++replica) {
    const ResultFields& series = replicas[replica];
    std::string title = "Blocks over time";
    title += replicas.size() > 1 ? ", replica " + std::to_string(replica) : "";
    title += several ? ", " + file_name(result.name) : "";
    std::string note =
        "Means over the time in which steps ran; where nothing ran, nothing is drawn.";
    if (replicas.size() > kReplicasShown && replica == 0) {
      note += " The first " + std::to_string(kReplicasShown) + " of " +
              counted(static_cast<double>(replicas.size()), "replica") + ".";
    }
    StackedArea area = area_of(title, note);
    const double begin = series.number("begin_ns") / 1e9;
    const double width = series.number("width_ns") / 1e9;
    for (const std::vector<double>& row : series.rows("rows", columns.size())) {
      add_row(area, begin + row[0] * width, begin + (row[0] + 1) * width,
              {row[places[0]] / 1000, row[places[1]] / 1000, row[places[2]] / 1000});
    }
    if (!area.rows.empty()) {
      out += figure_html(draw(area));
    }
  }
  return out;
}

std::string planned_blocks(const ResultFields& plan) {
  if (!plan.has("series")) {
    return {};
  }
  const ResultFields series = plan.object("series");
  const std::vector<ResultFields> points = series.objects("points");
  StackedArea area = area_of(
      "Blocks over time, replica " + number(series.optional_number("replica").value_or(0), 0), "");
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double begin = points[i].number("t_s");
    const double before = i > 0 ? begin - points[i - 1].number("t_s") : 1;
    const double end = i + 1 < points.size() ? points[i + 1].number("t_s") : begin + before;
    if (end < begin) {
      series.fail("points", "expected points in order of t_s");
    }
    add_row(area, begin, end,
            {points[i].number("live_blocks"), points[i].number("parked_blocks"),
             points[i].number("free_blocks")});
  }
  return area.rows.empty() ? std::string() : figure_html(draw(area));
}

}  // namespace

std::string blocks_section(const std::vector<Result>& results) {
  std::string charts;
  for (const Result* plan : of_kind(results, ResultKind::Plan)) {
    charts += planned_blocks(plan->fields());
  }
  const std::vector<const Result*> runs = of_kind(results, ResultKind::Simulation);
  for (const Result* run : runs) {
    charts += simulated_blocks(*run, runs.size() > 1);
  }
  return charts.empty()
             ? charts
             : section_html("Blocks over time", "<div class=\"figures\">\n" + charts + "</div>\n");
}

}  // namespace octavo::sim::report
