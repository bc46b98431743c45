// What is no result is refused in one sentence that names the file and the member.
#include <string>

#include "octavo/sim/input_error.h"
#include "report_testing.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

using testing::Json;

std::string refusal_of_text(const std::string& text) {
  const ReportInput input{"in.json", text};
  try {
    make_report({&input, 1});
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal(const Json& document) {
  return refusal_of_text(document.dump());
}

TEST(ReportErrors, RefusesWhatIsNoJson) {
  EXPECT_EQ(refusal_of_text(""), "in.json: not JSON, expected what a command printed with --json");
  EXPECT_EQ(refusal_of_text("{\"a\":"),
            "in.json: not JSON, expected what a command printed with --json");
  EXPECT_EQ(refusal_of_text("[1]"), "in.json: expected one JSON object");
}

TEST(ReportErrors, RefusesAnUnknownResult) {
  EXPECT_EQ(
      refusal({{"schema_version", 1}, {"program", "octavo"}}),
      "in.json: not a result of octavo plan, mrc, replay or simulate (write one with --json)");
}

TEST(ReportErrors, RefusesAnUnknownSchema) {
  Json plan = testing::plan();
  plan["schema_version"] = 2;
  EXPECT_EQ(refusal(plan), "in.json: schema_version: 2 is not known, this program reads 1");
  plan.erase("schema_version");
  EXPECT_EQ(refusal(plan), "in.json: schema_version: is missing");
  plan["schema_version"] = "1";
  EXPECT_EQ(refusal(plan), "in.json: schema_version: expected a number of at most 1e18, not \"1\"");
}

TEST(ReportErrors, NamesTheMemberThatIsWrong) {
  Json plan = testing::plan();
  plan["capacity"]["low"]["tokens"] = "many";
  EXPECT_EQ(refusal(plan),
            "in.json: capacity.low.tokens: expected a number of at most 1e18, not \"many\"");
  Json curve = testing::curve();
  curve["points"][2].erase("hit_rate");
  EXPECT_EQ(refusal(curve), "in.json: points[2].hit_rate: is missing");
  Json run = testing::simulation();
  run["series"][0]["rows"][1] = {1, 2};
  EXPECT_EQ(refusal(run), "in.json: series[0].rows: expected rows of 6 numbers, not [1,2]");
  Json workload = testing::workload_plan();
  workload["deployments"]["best"] = 9;
  EXPECT_EQ(refusal(workload), "in.json: deployments.best: is no index into tried");
}

// Whatever member of a result is left out or of another kind: a page or a refusal, never another
// exception.
TEST(ReportErrors, SurvivesEveryDamagedMember) {
  int pages = 0;
  int refusals = 0;
  for (const Json& whole :
       {testing::workload_plan(), testing::curve(), testing::replay(), testing::simulation()}) {
    const Json flat = whole.flatten();
    for (const auto& [pointer, value] : flat.items()) {
      for (const Json& other :
           {Json("text"), Json(nullptr), Json(-1), Json::array({1}), Json(1e300), Json(9e17)}) {
        Json damaged = flat;
        damaged[pointer] = other.is_primitive() ? other : Json("[]");
        const std::string outcome = refusal(damaged.unflatten());
        (outcome == "accepted" ? pages : refusals) += 1;
        EXPECT_EQ(outcome.find('\n'), std::string::npos);
      }
    }
  }
  EXPECT_GT(pages, 100);
  EXPECT_GT(refusals, 100);
}

TEST(ReportErrors, NeedsAnInput) {
  EXPECT_THROW(make_report({}), Error);
}

}  // namespace
}  // namespace octavo::sim
