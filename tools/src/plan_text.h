// A capacity plan as a person reads it (tables, sentences, and every equation when asked), and as a
// machine does.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "octavo/sim/plan_questions.h"
#include "plan_workload.h"

namespace octavo::tools {

/// What was asked beside the plan itself.
struct PlanExtras {
  bool equations = false;
  bool colour = false;
  std::vector<sim::Sensitivity> sensitivities = {};
  std::optional<sim::WaysToReach> ways = {};
  std::vector<sim::Verdict> verdicts = {};
  WorkloadAnswer workload = {};
  std::vector<std::string> log_found = {};     ///< What a start-up log tells,
  std::vector<std::string> log_inferred = {};  ///< what follows from it,
  std::vector<std::string> log_compared = {};  ///< and how this plan compares with it.
};

void print_plan(const sim::CapacityPlan& plan, const PlanExtras& extras, std::ostream& out);

/// One JSON object, schema_version 1, without a trailing newline.
std::string plan_json(const sim::CapacityPlan& plan, const PlanExtras& extras);

}  // namespace octavo::tools
