// Which deployment meets the limits, at what price, and who is on the front.
#include "octavo/sim/deploy/deployment.h"

#include <memory>
#include <string>
#include <vector>

#include "configs.h"
#include "octavo/error.h"
#include "octavo/sim/trace_generate.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

TraceSource chat(std::int64_t requests) {
  return [requests] {
    return make_workload({.kind = WorkloadKind::Chat, .seed = 7, .requests = requests});
  };
}

DeploymentQuestion question() {
  DeploymentQuestion result;
  result.plan.model = parse_model_config(testing::llama().dump(), "llama.json");
  result.plan.max_len = 32768;
  result.gpus = {find_gpu("h100")};
  result.tps = {1};
  result.kv_dtypes = {"bf16"};
  result.block_sizes = {16};
  result.objective.ttft_ms = 400;
  result.gpu_hour_usd = 2;
  result.threads = 1;
  return result;
}

CapacityPlan plan_of(const DeploymentQuestion& asked) {
  PlanRequest request = asked.plan;
  request.gpu = asked.gpus.front();
  return plan_capacity(request);
}

TEST(Deployment, TheFewestReplicasThatMeetTheLimitsAreFound) {
  DeploymentQuestion asked = question();
  asked.speed = 2000;  // more than one GPU serves in time
  const DeploymentAnswer answer = find_deployment(chat(400), asked);
  ASSERT_EQ(answer.tried.size(), 1U);
  ASSERT_EQ(answer.best, 0U);
  const Deployment& found = answer.tried.front();
  EXPECT_TRUE(found.meets);
  ASSERT_GT(found.replicas, 1);
  EXPECT_GE(found.good_share, 0.99);
  const Deployment fewer =
      simulate_deployment(chat(400), plan_of(asked), found.replicas - 1, asked);
  EXPECT_FALSE(fewer.meets);
  EXPECT_GT(fewer.ttft.p99_ms, found.ttft.p99_ms);
}

TEST(Deployment, WhatNoNumberOfReplicasMeetsIsTriedWithTheMostAndIsNotTheBest) {
  DeploymentQuestion asked = question();
  asked.objective.ttft_ms = 0.001;
  asked.replicas_max = 3;
  const DeploymentAnswer answer = find_deployment(chat(50), asked);
  EXPECT_FALSE(answer.best);
  EXPECT_EQ(answer.tried.front().replicas, 3);
  EXPECT_FALSE(answer.tried.front().meets);
}

TEST(Deployment, ThePriceIsThatOfTheGpusOverTheRun) {
  const DeploymentQuestion asked = question();
  const Deployment one = simulate_deployment(chat(100), plan_of(asked), 2, asked);
  EXPECT_EQ(one.gpus(), 2);
  EXPECT_DOUBLE_EQ(*one.usd_per_hour, 4);
  EXPECT_DOUBLE_EQ(*one.usd_per_million_tokens,
                   4 * one.seconds / 3600 * 1e6 / static_cast<double>(one.served_tokens));
  DeploymentQuestion unpriced = asked;
  unpriced.gpu_hour_usd.reset();
  EXPECT_FALSE(simulate_deployment(chat(10), plan_of(asked), 1, unpriced).usd_per_hour);
}

TEST(Deployment, TheAnswerDoesNotDependOnThreads) {
  DeploymentQuestion asked = question();
  asked.tps = {1, 2, 3, 4};  // 3 does not divide the heads
  asked.kv_dtypes = {"bf16", "fp8"};
  asked.speed = 40;
  const DeploymentAnswer alone = find_deployment(chat(200), asked);
  asked.threads = 3;
  const DeploymentAnswer many = find_deployment(chat(200), asked);
  ASSERT_EQ(alone.tried.size(), 6U);
  ASSERT_EQ(many.tried.size(), alone.tried.size());
  EXPECT_EQ(many.best, alone.best);
  for (std::size_t i = 0; i < alone.tried.size(); ++i) {
    EXPECT_EQ(many.tried[i].replicas, alone.tried[i].replicas) << i;
    EXPECT_EQ(many.tried[i].ttft.p99_ms, alone.tried[i].ttft.p99_ms) << i;
    EXPECT_EQ(many.tried[i].on_pareto_front, alone.tried[i].on_pareto_front) << i;
  }
  EXPECT_EQ(alone.left_out.size(), 2U);
  EXPECT_NE(alone.left_out.front().find("tp 3"), std::string::npos);
}

TEST(Deployment, AGpuThatIsTooSmallIsLeftOutWithTheReason) {
  DeploymentQuestion asked = question();
  asked.gpus = {find_gpu("l4"), find_gpu("h100")};
  asked.plan.max_len = 131072;
  const DeploymentAnswer answer = find_deployment(chat(20), asked);
  EXPECT_EQ(answer.tried.size(), 1U);
  ASSERT_EQ(answer.left_out.size(), 1U);
  EXPECT_NE(answer.left_out.front().find("L4"), std::string::npos);
  EXPECT_NE(answer.left_out.front().find("does not fit"), std::string::npos);
}

TEST(Deployment, TheFrontIsWhatNothingBeatsInEverything) {
  const auto make = [](double usd, double ttft, double tpot) {
    Deployment one;
    one.usd_per_million_tokens = usd;
    one.ttft.p99_ms = ttft;
    one.tpot.p99_ms = tpot;
    return one;
  };
  std::vector<Deployment> all = {make(1, 100, 10), make(2, 50, 10), make(2, 60, 10), make(3, 50, 5),
                                 make(1, 100, 10)};
  mark_pareto_front(all);
  std::vector<bool> front;
  for (const Deployment& one : all) {
    front.push_back(one.on_pareto_front);
  }
  EXPECT_EQ(front, (std::vector<bool>{true, true, false, true, true}));
}

TEST(Deployment, MoreLoadIsOfferedAtHigherSpeed) {
  const DeploymentQuestion asked = question();
  const std::vector<LoadPoint> curve = load_curve(chat(100), plan_of(asked), 1, asked, {0.5, 1, 2});
  ASSERT_EQ(curve.size(), 3U);
  EXPECT_NEAR(curve[1].deployment.offered_per_s, 2 * curve[0].deployment.offered_per_s, 0.01);
  EXPECT_LE(curve[0].deployment.ttft.p50_ms, curve[2].deployment.ttft.p50_ms);
}

TEST(Deployment, AQuestionOutOfRangeIsRefused) {
  const auto refused = [](auto change) {
    DeploymentQuestion asked = question();
    change(asked);
    EXPECT_THROW(find_deployment(chat(5), asked), Error);
  };
  refused([](auto& asked) { asked.gpus.clear(); });
  refused([](auto& asked) { asked.tps.clear(); });
  refused([](auto& asked) { asked.replicas_max = 0; });
  refused([](auto& asked) { asked.objective.percentile = 0; });
  refused([](auto& asked) { asked.objective.percentile = 101; });
  refused([](auto& asked) { asked.speed = 0; });
  refused([](auto& asked) { asked.plan.pp = 2; });
}

}  // namespace
}  // namespace octavo::sim
