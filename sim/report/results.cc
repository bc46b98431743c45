#include "results.h"

#include "octavo/sim/input_error.h"

namespace octavo::sim::report {
namespace {

using Json = nlohmann::ordered_json;

ResultKind kind_of(const Json& document, const std::string& name) {
  const auto has = [&](const char* member) { return document.contains(member); };
  if (has("capacity") && has("model")) {
    return ResultKind::Plan;
  }
  if (has("points") && has("policy")) {
    return ResultKind::Curve;
  }
  if (has("runs") && has("trace")) {
    return ResultKind::Replay;
  }
  if (has("latency_ns") && has("config")) {
    return ResultKind::Simulation;
  }
  throw InputError(name, 0, "",
                   "not a result of octavo plan, mrc, replay or simulate (write one with --json)");
}

Result parse(const ReportInput& input) {
  Result result;
  result.name = input.name;
  result.document = Json::parse(input.text, nullptr, false);
  if (result.document.is_discarded()) {
    throw InputError(input.name, 0, "", "not JSON, expected what a command printed with --json");
  }
  if (!result.document.is_object()) {
    throw InputError(input.name, 0, "", "expected one JSON object");
  }
  result.kind = kind_of(result.document, input.name);
  if (const double schema = result.fields().number("schema_version"); schema != 1) {
    result.fields().fail("schema_version", result.document["schema_version"].dump() +
                                               " is not known, this program reads 1");
  }
  return result;
}

}  // namespace

std::string command_of(ResultKind kind) {
  switch (kind) {
    case ResultKind::Plan:
      return "octavo plan";
    case ResultKind::Curve:
      return "octavo mrc";
    case ResultKind::Replay:
      return "octavo replay";
    case ResultKind::Simulation:
      return "octavo simulate";
  }
  return {};
}

std::vector<Result> parse_results(std::span<const ReportInput> inputs) {
  std::vector<Result> results;
  results.reserve(inputs.size());
  for (const ReportInput& input : inputs) {
    results.push_back(parse(input));
  }
  return results;
}

std::string file_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::vector<const Result*> of_kind(const std::vector<Result>& results, ResultKind kind) {
  std::vector<const Result*> found;
  for (const Result& result : results) {
    if (result.kind == kind) {
      found.push_back(&result);
    }
  }
  return found;
}

}  // namespace octavo::sim::report
