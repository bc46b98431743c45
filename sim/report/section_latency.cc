// Latencies of simulated deployments.
#include <algorithm>
#include <array>
#include <tuple>

#include "report_number.h"
#include "sections.h"
#include "xy_chart.h"

namespace octavo::sim::report {
namespace {

struct Measure {
  const char* member;
  const char* name;
};

constexpr std::array<Measure, 5> kMeasures{{{"ttft", "first token"},
                                            {"tpot", "each other token"},
                                            {"itl", "between tokens"},
                                            {"end_to_end", "end to end"},
                                            {"queued", "queued"}}};

constexpr std::array<const char*, 3> kPercentiles{"p50", "p90", "p99"};

std::string ms(double value) {
  return significant(value, 5);
}

/// What tells simulations apart that were run with others: the file.
std::string run_name(const Result& result) {
  return file_name(result.name);
}

std::string distribution(const Result& result, bool several) {
  const ResultFields latency = result.fields().object("latency_ns");
  XyChart chart;
  chart.title = several ? "Latency distribution, " + run_name(result) : "Latency distribution";
  chart.x.names = {{0, "least"}, {1, "p50"}, {2, "p90"}, {3, "p99"}, {4, "most"}};
  chart.y = {"ms", Axis::Kind::Log, false, {}};
  chart.columns = {{"Latency", true}, {"Statistic", true}, {"ms", false, 'y'}};
  bool zeros = false;
  for (const Measure& measure : kMeasures) {
    const ResultFields times = latency.object(measure.member);
    if (times.number("count") == 0) {
      continue;
    }
    XySeries series;
    series.name = measure.name;
    series.colour = static_cast<std::size_t>(&measure - kMeasures.data());
    double place = 0;
    for (const char* figure : {"min", "p50", "p90", "p99", "max"}) {
      const double value = times.number(figure) / 1e6;
      zeros |= value <= 0;
      if (value > 0) {
        series.points.push_back(
            {place, value, {measure.name, figure, ms(value)}, std::nullopt, {}});
      }
      ++place;
    }
    if (!series.points.empty()) {
      chart.series.push_back(std::move(series));
    }
  }
  if (chart.series.empty()) {
    return {};
  }
  chart.note = "Of the requests that finished; simulated.";
  if (zeros) {
    chart.note += " Zeros have no place on this axis and are left out.";
  }
  return figure_html(draw(chart));
}

struct Load {
  double requests_per_s = 0;
  std::array<double, 3> ttft_ms{};
  std::array<double, 3> tpot_ms{};
};

std::string load_chart(const std::vector<Load>& loads,
                       const std::string& title,
                       const std::string& x_title,
                       std::array<double, 3> Load::*times,
                       const std::optional<double>& limit_ms) {
  XyChart chart;
  chart.title = title;
  chart.x.title = x_title;
  chart.y.title = "ms";
  chart.columns = {{"Percentile", true}, {x_title, false, 'x'}, {"ms", false, 'y'}};
  for (std::size_t i = 0; i < kPercentiles.size(); ++i) {
    XySeries series;
    series.name = kPercentiles[i];
    series.colour = i;
    for (const Load& load : loads) {
      const double value = (load.*times)[i];
      series.points.push_back({load.requests_per_s,
                               value,
                               {kPercentiles[i], significant(load.requests_per_s, 5), ms(value)},
                               std::nullopt,
                               {}});
    }
    chart.series.push_back(std::move(series));
  }
  if (limit_ms) {
    chart.note = "Asked for: at most " + ms(*limit_ms) + " ms.";
  }
  return figure_html(draw(chart));
}

std::array<double, 3> percentiles(const ResultFields& times, double unit) {
  return {times.number("p50") / unit, times.number("p90") / unit, times.number("p99") / unit};
}

std::string load_charts(std::vector<Load> loads,
                        const std::string& what,
                        const std::string& x_title,
                        const std::optional<double>& ttft_ms,
                        const std::optional<double>& tpot_ms) {
  if (loads.size() < 2) {
    return {};
  }
  std::stable_sort(loads.begin(), loads.end(), [](const Load& a, const Load& b) {
    return a.requests_per_s < b.requests_per_s;
  });
  return load_chart(loads, "Time to first token against load" + what, x_title, &Load::ttft_ms,
                    ttft_ms) +
         load_chart(loads, "Time per output token against load" + what, x_title, &Load::tpot_ms,
                    tpot_ms);
}

std::string plan_loads(const ResultFields& plan) {
  std::vector<Load> loads;
  for (const ResultFields& load : plan.objects("loads")) {
    loads.push_back({load.number("requests_per_s"), percentiles(load.object("ttft_ms"), 1),
                     percentiles(load.object("tpot_ms"), 1)});
  }
  std::optional<double> ttft;
  std::optional<double> tpot;
  if (plan.has("deployments") && plan.object("deployments").has("slo")) {
    const ResultFields slo = plan.object("deployments").object("slo");
    ttft = slo.optional_number("ttft_ms");
    tpot = slo.optional_number("tpot_ms");
  }
  return load_charts(loads, "", "requests a second that arrive", ttft, tpot);
}

/// Simulations that differ in their load only belong to one curve.
std::string setting_of(const ResultFields& run) {
  const ResultFields config = run.object("config");
  std::string key = file_name(run.object("trace").text("file"));
  key += "|" + run.text_or("model", "") + "|" + run.text_or("gpu", "") + "|" +
         run.text_or("kv_dtype", "");
  for (const char* name :
       {"replicas", "blocks", "block_size", "max_num_seqs", "max_num_batched_tokens"}) {
    key += "|" + number(config.number(name), 0);
  }
  for (const char* name : {"router", "order", "policy"}) {
    key += "|" + config.text(name);
  }
  return key + "|" + number(run.optional_number("tp").value_or(1), 0);
}

std::string simulation_loads(const std::vector<const Result*>& runs) {
  std::vector<std::pair<std::string, std::vector<Load>>> settings;
  for (const Result* result : runs) {
    const ResultFields run = result->fields();
    const std::string setting = setting_of(run);
    auto found = std::find_if(settings.begin(), settings.end(),
                              [&setting](const auto& one) { return one.first == setting; });
    if (found == settings.end()) {
      settings.emplace_back(setting, std::vector<Load>{});
      found = settings.end() - 1;
    }
    const ResultFields latency = run.object("latency_ns");
    found->second.push_back({run.object("per_second").number("requests"),
                             percentiles(latency.object("ttft"), 1e6),
                             percentiles(latency.object("tpot"), 1e6)});
  }
  std::string out;
  std::size_t group = 0;
  for (const auto& [setting, loads] : settings) {
    ++group;
    const std::string what =
        settings.size() > 1 ? ", setting " + std::to_string(group) : std::string();
    out += load_charts(loads, what, "requests a second that finish", std::nullopt, std::nullopt);
  }
  return out;
}

std::string runs_table(const std::vector<const Result*>& runs) {
  DataTable table;
  table.columns = {{"Simulation", true}, {"Requests finished"}, {"A second"},
                   {"Good requests"},    {"Cached input, %"},   {"Output tokens a second"},
                   {"Busy, %"},          {"TTFT p99, ms"},      {"TPOT p99, ms"}};
  for (const Result* result : runs) {
    const ResultFields run = result->fields();
    const ResultFields rates = run.object("per_second");
    const ResultFields latency = run.object("latency_ns");
    table.rows.push_back(
        {run_name(*result), number(run.object("requests").number("finished"), 0),
         significant(rates.number("requests"), 4), number(run.object("requests").number("good"), 0),
         number(run.number("hit_rate") * 100, 2), significant(rates.number("output_tokens"), 5),
         number(run.number("busy_share") * 100, 1), ms(latency.object("ttft").number("p99") / 1e6),
         ms(latency.object("tpot").number("p99") / 1e6)});
  }
  if (table.rows.empty()) {
    return {};
  }
  return "<div class=\"card\"><h3>Simulations</h3>\n" + table_html(table) + "</div>\n";
}

}  // namespace

std::string latency_section(const std::vector<Result>& results) {
  const std::vector<const Result*> runs = of_kind(results, ResultKind::Simulation);
  std::string charts;
  for (const Result* plan : of_kind(results, ResultKind::Plan)) {
    charts += plan_loads(plan->fields());
  }
  charts += simulation_loads(runs);
  for (const Result* run : runs) {
    charts += distribution(*run, runs.size() > 1);
  }
  std::string out = runs_table(runs);
  if (!charts.empty()) {
    out += "<div class=\"figures\">\n" + charts + "</div>\n";
  }
  return section_html("Latency", out);
}

}  // namespace octavo::sim::report
