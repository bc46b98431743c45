#include "octavo/sim/report.h"

#include <algorithm>

#include "html.h"
#include "octavo/error.h"
#include "page.h"
#include "report_number.h"
#include "results.h"
#include "sections.h"

namespace octavo::sim {
namespace {

using namespace report;

/// What the page is about, for its title: the models, else the traces.
std::string subject(const std::vector<Result>& results) {
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  };
  for (const Result& result : results) {
    const ResultFields fields = result.fields();
    if (result.kind == ResultKind::Plan) {
      add(fields.object("model").text("name"));
    } else if (result.kind == ResultKind::Simulation) {
      add(fields.text_or("model", ""));
    }
  }
  if (names.empty()) {
    for (const Result& result : results) {
      add(file_name(result.fields().object("trace").text("file")));
    }
  }
  std::string text = names.front();
  if (names.size() > 1) {
    text += " and " + counted(static_cast<double>(names.size() - 1), "other");
  }
  return text;
}

std::string sources(const std::vector<Result>& results) {
  std::string out = "<footer>\n<ul class=\"sources\">\n";
  for (const Result& result : results) {
    out += "<li>" + escape(file_name(result.name)) + ": " + escape(command_of(result.kind)) +
           ", schema version " + escape(number(result.fields().number("schema_version"), 0)) +
           "</li>\n";
  }
  return out + "</ul>\n</footer>\n";
}

std::string body(const std::vector<Result>& results) {
  std::string out;
  for (const Result* plan : of_kind(results, ResultKind::Plan)) {
    out += plan_section(*plan);
  }
  out += deployment_section(results) + curve_section(results) + latency_section(results) +
         blocks_section(results);
  for (const Result* plan : of_kind(results, ResultKind::Plan)) {
    out += equations_section(*plan);
  }
  return out;
}

}  // namespace

std::string make_report(std::span<const ReportInput> inputs) {
  if (inputs.empty()) {
    throw Error(ErrorCode::InvalidArgument, "make_report: no inputs, at least one is needed");
  }
  const std::vector<Result> results = parse_results(inputs);
  const std::string title = "KV cache of " + subject(results);
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>" +
      escape(title) + "</title>\n<style>";
  page += page_style();
  page +=
      "</style>\n</head>\n<body>\n<main>\n<header>\n<h1>" + escape(title) +
      "</h1>\n<p class=\"quiet\">An Octavo report. Point at a chart for its values, or focus it "
      "and use the arrow keys; each has its data as a table.</p>\n</header>\n";
  page += body(results) + sources(results);
  page += "</main>\n<div id=\"tip\" role=\"status\"></div>\n<script>";
  page += page_script();
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace octavo::sim
