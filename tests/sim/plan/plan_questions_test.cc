// What must change for a wanted concurrency, requirements, and what the answer hangs on.
#include "octavo/sim/plan_questions.h"

#include <string>
#include <vector>

#include "configs.h"
#include "octavo/error.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

PlanRequest llama_on_h100() {
  PlanRequest request;
  request.model = parse_model_config(testing::llama().dump(), "llama.json");
  request.gpu = find_gpu("h100");
  request.max_len = 32768;
  return request;
}

double concurrency_of(const PlanRequest& request) {
  return plan_capacity(request).total_concurrency();
}

TEST(PlanQuestions, EachWayReachesAndTheNextSmallerOneDoesNot) {
  const PlanRequest request = llama_on_h100();
  const double wanted = 14;  // 12.85 fit at 0.9
  ASSERT_LT(concurrency_of(request), wanted);
  const WaysToReach ways = ways_to_reach(request, wanted);

  ASSERT_TRUE(ways.utilization);
  PlanRequest tried = request;
  tried.utilization = *ways.utilization;
  EXPECT_GE(concurrency_of(tried), wanted);
  tried.utilization -= 0.001;
  EXPECT_LT(concurrency_of(tried), wanted);

  ASSERT_TRUE(ways.max_len);
  tried = request;
  tried.max_len = *ways.max_len;
  EXPECT_GE(concurrency_of(tried), wanted);
  tried.max_len += 16;
  EXPECT_LT(concurrency_of(tried), wanted);

  EXPECT_EQ(ways.kv_dtype, "fp8");
  EXPECT_EQ(ways.gpus, 2);
  tried = request;
  tried.tp = ways.division.tp;
  tried.dp = ways.division.dp;
  EXPECT_GE(concurrency_of(tried), wanted);
  EXPECT_FALSE(ways.max_num_seqs);
}

TEST(PlanQuestions, AWantedConcurrencyAboveMaxNumSeqsSaysSo) {
  PlanRequest request = llama_on_h100();
  request.max_num_seqs = 4;
  const WaysToReach ways = ways_to_reach(request, 10);
  EXPECT_EQ(ways.max_num_seqs, 10);
  EXPECT_EQ(ways.gpus, 1);
}

TEST(PlanQuestions, WhatNothingReachesIsUnset) {
  PlanRequest request = llama_on_h100();
  request.gpu = custom_gpu(4);  // the weights alone are larger
  request.tp = 1;
  const WaysToReach ways = ways_to_reach(request, 1);
  EXPECT_FALSE(ways.utilization);
  EXPECT_FALSE(ways.max_len);
  EXPECT_FALSE(ways.kv_dtype);
  for (const double wrong : {0.0, -1.0, 1e9}) {
    EXPECT_THROW(ways_to_reach(request, wrong), Error) << wrong;
  }
}

TEST(PlanQuestions, RequirementsAreReadAndJudged) {
  const CapacityPlan plan = plan_capacity(llama_on_h100());
  for (const char* met : {"concurrency>=12", "concurrency > 12.5", "tokens>=400000", "gpus==1",
                          "gpus<2", "blocks<=1e6", "kv_budget_gib>50"}) {
    EXPECT_TRUE(judge_requirement(plan, parse_requirement(met)).met) << met;
  }
  for (const char* missed : {"concurrency>=13", "gpus>1", "gpus<1", "tokens==1"}) {
    EXPECT_FALSE(judge_requirement(plan, parse_requirement(missed)).met) << missed;
  }
  EXPECT_EQ(parse_requirement(" concurrency >= 32 ").text(), "concurrency>=32");
  EXPECT_THROW(judge_requirement(plan, parse_requirement("hit_rate>0.5")), Error);
}

TEST(PlanQuestions, ARequirementOfAnotherShapeIsRefusedByItsText) {
  for (const char* wrong : {"", "concurrency", "speed>=1", "concurrency>=", "concurrency>=x",
                            "concurrency>=3x", "concurrency>=nan", ">=3", "concurrency=>3"}) {
    try {
      parse_requirement(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("requirement \""), std::string::npos) << wrong;
    }
  }
}

TEST(PlanQuestions, TheInputThatMovesTheAnswerMostComesFirst) {
  const CapacityPlan plan = plan_capacity(llama_on_h100());
  const std::vector<Sensitivity> order = sensitivities(plan);
  ASSERT_EQ(order.size(), 3U);
  EXPECT_EQ(order[0].input, "activation peak");
  for (std::size_t i = 1; i < order.size(); ++i) {
    EXPECT_GE(order[i - 1].spread(), order[i].spread());
  }
  EXPECT_GT(order[0].tokens_at_low, order[0].tokens_at_high);
  PlanRequest given = llama_on_h100();
  given.activation_gib = 4.76;
  given.non_torch_gib = 0.13;
  EXPECT_EQ(sensitivities(plan_capacity(given)).size(), 1U);
  given.kv_budget_gib = 20;
  EXPECT_TRUE(sensitivities(plan_capacity(given)).empty());
}

TEST(PlanQuestions, TheCsvHasAsManyFieldsAsItsHeader) {
  PlanRequest request = llama_on_h100();
  request.model.name = "a \"model\", named oddly";
  const std::string text = to_csv(plan_capacity(request));
  const std::size_t end = text.find('\n');
  const auto commas = [](const std::string& line) {
    return std::count(line.begin(), line.end(), ',');
  };
  EXPECT_NE(text.find("\"a \"\"model\"\", named oddly\""), std::string::npos);
  EXPECT_EQ(commas(text.substr(0, end)) + 1, commas(text.substr(end)));  // one is quoted
  EXPECT_NE(text.find(",420960,"), std::string::npos) << text;  // not grouped
}

}  // namespace
}  // namespace octavo::sim
