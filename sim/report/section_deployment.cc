// The deployments that a plan tried.
#include <algorithm>

#include "report_number.h"
#include "sections.h"
#include "xy_chart.h"

namespace octavo::sim::report {
namespace {

struct Cost {
  std::string title;
  double value = 0;
};

/// Dollars a million tokens where prices are known, else GPUs.
Cost cost_of(const ResultFields& deployment, bool priced) {
  if (priced) {
    return {"USD for a million tokens", deployment.number("usd_per_million_tokens")};
  }
  return {"GPUs", deployment.number("gpus")};
}

std::string name_of(const ResultFields& one) {
  return number(one.number("gpus"), 0) + " \u00d7 " + one.text("gpu") + ", tp " +
         number(one.number("tp"), 0) + ", " + counted(one.number("replicas"), "replica") + ", " +
         one.text("kv_dtype");
}

std::string front_chart(const std::vector<ResultFields>& tried,
                        bool priced,
                        const ResultFields& answer,
                        const char* times,
                        const std::string& what) {
  XyChart chart;
  chart.title = "Cost against " + what;
  chart.x.title = cost_of(tried.front(), priced).title;
  chart.y.title = "ms at p99";
  chart.note =
      "Filled: on the Pareto front of cost and both latencies. Rings: something else is "
      "at least as good in all three.";
  chart.columns = {{"Deployment", true},      {"Block size"},         {chart.x.title, false, 'x'},
                   {"ms at p99", false, 'y'}, {"On the front", true}, {"Meets the target", true}};
  const auto best = answer.optional_number("best");
  for (const bool on_front : {true, false}) {
    XySeries series;
    series.line = false;
    series.hollow = !on_front;
    series.colour = on_front ? 0 : 7;
    for (std::size_t i = 0; i < tried.size(); ++i) {
      const ResultFields& one = tried[i];
      if (one.flag("on_pareto_front") != on_front) {
        continue;
      }
      XyPoint point;
      point.x = cost_of(one, priced).value;
      point.y = one.object(times).number("p99");
      point.cells = {name_of(one),
                     number(one.number("block_size"), 0),
                     significant(point.x, 5),
                     significant(point.y, 5),
                     on_front ? "yes" : "no",
                     one.flag("meets_slo") ? "yes" : "no"};
      if (best && *best == static_cast<double>(i)) {
        point.label = "best";
      }
      series.points.push_back(std::move(point));
    }
    if (!series.points.empty()) {
      chart.series.push_back(std::move(series));
    }
  }
  return figure_html(draw(chart));
}

std::string answer_line(const std::vector<ResultFields>& tried, const ResultFields& answer) {
  std::string target;
  if (answer.has("slo")) {
    const ResultFields slo = answer.object("slo");
    const auto add = [&](const char* member, const char* name) {
      if (const auto limit = slo.optional_number(member)) {
        target += std::string(target.empty() ? "" : ", ") + name + " within " +
                  significant(*limit, 5) + " ms";
      }
    };
    add("ttft_ms", "first token");
    add("tpot_ms", "each other token");
    if (const auto percentile = slo.optional_number("percentile"); percentile && !target.empty()) {
      target = " (" + target + " at p" + number(*percentile, 3) + ")";
    }
  }
  const auto best = answer.optional_number("best");
  if (!best) {
    return "<p class=\"verdict\"><span class=\"badge bad\">\u2717 None</span> " +
           escape("No deployment that was tried meets the target" + target + ".") + "</p>\n";
  }
  if (*best < 0 || *best >= static_cast<double>(tried.size())) {
    answer.fail("best", "is no index into tried");
  }
  const ResultFields& one = tried[static_cast<std::size_t>(*best)];
  std::string text = name_of(one);
  if (const auto usd = one.optional_number("usd_per_hour")) {
    text += ": " + number(*usd, 2) + " USD an hour";
  }
  if (const auto usd = one.optional_number("usd_per_million_tokens")) {
    text += ", " + significant(*usd, 3) + " USD for a million tokens";
  }
  return "<p class=\"verdict\"><span class=\"badge good\">\u2713 Smallest</span> " +
         escape(text + target + ".") + "</p>\n";
}

}  // namespace

std::string deployment_section(const std::vector<Result>& results) {
  std::string out;
  for (const Result* result : of_kind(results, ResultKind::Plan)) {
    const ResultFields plan = result->fields();
    if (!plan.has("deployments")) {
      continue;
    }
    const ResultFields answer = plan.object("deployments");
    const std::vector<ResultFields> tried = answer.objects("tried");
    if (tried.empty()) {
      continue;
    }
    const bool priced = std::all_of(tried.begin(), tried.end(), [](const ResultFields& one) {
      return one.has("usd_per_million_tokens");
    });
    out += answer_line(tried, answer) + "<div class=\"figures\">\n" +
           front_chart(tried, priced, answer, "ttft_ms", "time to first token") +
           front_chart(tried, priced, answer, "tpot_ms", "time per output token") + "</div>\n";
  }
  return section_html("Deployments", out);
}

}  // namespace octavo::sim::report
