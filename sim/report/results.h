// The inputs of a page, parsed and told apart.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "octavo/sim/report.h"
#include "result_fields.h"

namespace octavo::sim::report {

enum class ResultKind { Plan, Curve, Replay, Simulation };

/// A result that owns its document. Not movable once `fields` was called: those are views.
struct Result {
  std::string name;
  ResultKind kind = ResultKind::Plan;
  nlohmann::ordered_json document;

  ResultFields fields() const { return {document, name, {}}; }
};

/// "octavo plan" and so on.
std::string command_of(ResultKind kind);

/// Throws InputError for what make_report refuses.
std::vector<Result> parse_results(std::span<const ReportInput> inputs);

/// What stands behind the last slash of a path.
std::string file_name(const std::string& path);

/// Those of one kind, in their order.
std::vector<const Result*> of_kind(const std::vector<Result>& results, ResultKind kind);

}  // namespace octavo::sim::report
