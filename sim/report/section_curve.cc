// Hit rate by the size of the cache.
#include <algorithm>
#include <set>

#include "report_number.h"
#include "sections.h"
#include "xy_chart.h"

namespace octavo::sim::report {
namespace {

struct Builder {
  XyChart chart;
  std::set<std::string> traces;
  std::set<double> block_sizes;
  std::optional<double> bytes_per_token;
  std::vector<std::string> series_traces;
};

void add_point(Builder& builder,
               XySeries& series,
               double blocks,
               double tokens,
               std::optional<double> gib,
               std::optional<double> error,
               double hit_rate) {
  XyPoint point;
  point.x = tokens;
  point.y = hit_rate * 100;
  if (gib && tokens > 0) {
    builder.bytes_per_token = *gib * kBytesPerGib / tokens;
  }
  if (error) {
    point.band = {std::max(point.y - *error * 100, 0.0), std::min(point.y + *error * 100, 100.0)};
  }
  if (blocks <= 0 || tokens <= 0) {
    return;  // A pool of nothing hits nothing, and a log axis has no place for it.
  }
  builder.block_sizes.insert(tokens / blocks);
  point.cells = {"",
                 number(blocks, 0),
                 number(tokens, 0),
                 gib ? significant(*gib, 4) : "",
                 number(hit_rate * 100, 3),
                 number((1 - hit_rate) * 100, 3),
                 error ? number(*error * 100, 3) : ""};
  series.points.push_back(std::move(point));
}

void add_series(Builder& builder, XySeries series, const std::string& trace) {
  if (series.points.empty()) {
    return;
  }
  std::stable_sort(series.points.begin(), series.points.end(),
                   [](const XyPoint& a, const XyPoint& b) { return a.x < b.x; });
  series.colour = builder.chart.series.size();
  builder.traces.insert(trace);
  builder.series_traces.push_back(trace);
  builder.chart.series.push_back(std::move(series));
}

void add_curve(Builder& builder,
               const ResultFields& result,
               const std::string& trace,
               const std::string& suffix) {
  XySeries series;
  series.name = result.text("policy") + suffix;
  for (const ResultFields& point : result.objects("points")) {
    add_point(builder, series, point.number("blocks"), point.number("tokens"),
              point.optional_number("gib"), point.optional_number("error"),
              point.number("hit_rate"));
  }
  add_series(builder, std::move(series), trace);
}

void add_replay(Builder& builder, const ResultFields& result) {
  std::vector<XySeries> policies;
  for (const ResultFields& run : result.objects("runs")) {
    const std::string policy = run.text("policy");
    auto found = std::find_if(policies.begin(), policies.end(),
                              [&policy](const XySeries& one) { return one.name == policy; });
    if (found == policies.end()) {
      XySeries series;
      series.name = policy;
      series.hollow = run.has("bound");
      series.line = false;
      policies.push_back(std::move(series));
      found = policies.end() - 1;
    }
    const double blocks = run.number("blocks");
    add_point(builder, *found, blocks, blocks * run.number("block_size"), std::nullopt,
              std::nullopt, run.number("hit_rate"));
  }
  const std::string trace = file_name(result.object("trace").text("file"));
  for (XySeries& series : policies) {
    if (series.points.size() > 1) {
      series.line = true;
    }
    add_series(builder, std::move(series), trace);
  }
}

void add_plan(Builder& builder, const ResultFields& plan) {
  const std::string trace =
      plan.has("trace") ? file_name(plan.object("trace").text("name")) : std::string("the trace");
  if (plan.has("mrc")) {
    const ResultFields curve = plan.object("mrc");
    add_curve(builder, curve, trace, ", all sizes");
    const auto planned = curve.optional_number("planned_blocks");
    const auto points = curve.objects("points");
    if (planned && *planned > 0 && !points.empty() && points.front().number("blocks") > 0 &&
        points.front().number("tokens") > 0) {
      const double size = points.front().number("tokens") / points.front().number("blocks");
      builder.chart.marker = {*planned * size, "planned pool"};
    }
    return;
  }
  if (plan.has("trace")) {
    XySeries series;
    series.name = "planned";
    series.hollow = true;
    const ResultFields capacity = plan.object("capacity");
    add_point(builder, series, capacity.number("blocks"), capacity.number("tokens"), std::nullopt,
              std::nullopt, plan.object("trace").number("hit_rate"));
    add_series(builder, std::move(series), trace);
  }
}

void finish(Builder& builder) {
  XyChart& chart = builder.chart;
  const bool several = builder.traces.size() > 1;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    XySeries& series = chart.series[i];
    const std::string name = several ? series.name + ", " + builder.series_traces[i] : series.name;
    for (XyPoint& point : series.points) {
      point.cells[0] = name;
    }
    series.name = name;
  }
  chart.title = several ? "Miss-ratio curves" : "Miss-ratio curve of " + *builder.traces.begin();
  chart.note = "Prompt tokens found in a cache of that size; what is missing to 100 % missed.";
  for (const XySeries& series : chart.series) {
    if (std::any_of(series.points.begin(), series.points.end(),
                    [](const XyPoint& point) { return point.band.has_value(); })) {
      chart.note += " A shaded band is the stated error of a sample.";
      break;
    }
  }
  chart.x = {"size of the cache in tokens", Axis::Kind::Log, false, {}};
  chart.y = {"hit rate", Axis::Kind::Linear, true, {}};
  chart.x_units = {{"tokens", 1}};
  if (builder.block_sizes.size() == 1) {
    chart.x_units.push_back({"blocks", 1 / *builder.block_sizes.begin()});
  }
  if (builder.bytes_per_token) {
    chart.x_units.push_back({"GiB", *builder.bytes_per_token / kBytesPerGib});
  }
  chart.columns = {
      {"Policy", true},  {"Blocks"},  {"Tokens", false, 'x'}, {"GiB"}, {"Hit rate, %", false, 'y'},
      {"Miss ratio, %"}, {"\u00b1 %"}};
}

/// A column that no row fills is left away.
void drop_empty_columns(XyChart& chart) {
  for (std::size_t column = chart.columns.size(); column-- > 0;) {
    bool empty = true;
    for (const XySeries& series : chart.series) {
      for (const XyPoint& point : series.points) {
        empty &= point.cells[column].empty();
      }
    }
    if (empty) {
      const auto at = static_cast<std::ptrdiff_t>(column);
      chart.columns.erase(chart.columns.begin() + at);
      for (XySeries& series : chart.series) {
        for (XyPoint& point : series.points) {
          point.cells.erase(point.cells.begin() + at);
        }
      }
    }
  }
}

}  // namespace

std::string curve_section(const std::vector<Result>& results) {
  Builder builder;
  for (const Result& result : results) {
    const ResultFields fields = result.fields();
    if (result.kind == ResultKind::Curve) {
      add_curve(builder, fields, file_name(fields.object("trace").text("file")),
                fields.has("sample") ? ", sampled" : ", all sizes");
    } else if (result.kind == ResultKind::Replay) {
      add_replay(builder, fields);
    } else if (result.kind == ResultKind::Plan) {
      add_plan(builder, fields);
    }
  }
  if (builder.chart.series.empty()) {
    return {};
  }
  finish(builder);
  drop_empty_columns(builder.chart);
  Figure figure = draw(builder.chart);
  figure.wide = true;
  return section_html("Hits by the size of the cache", figure_html(figure));
}

}  // namespace octavo::sim::report
