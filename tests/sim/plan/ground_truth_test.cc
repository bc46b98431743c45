// The planner against what engines printed at start-up, where the logs are at hand.
//
// A printed budget has two decimals, so the printed blocks, tokens and concurrency must lie between
// what the budget minus and plus 0.005 GiB give.
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "configs.h"
#include "octavo/sim/capacity.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

using testing::Json;
using testing::shared_file;

constexpr double kHalfDigitGib = 0.005;

std::vector<Json> rows_of(const std::string& name) {
  std::vector<Json> rows;
  std::ifstream file(shared_file("ground_truth/" + name));
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) {
      rows.push_back(Json::parse(line));
    }
  }
  return rows;
}

bool is_pure_attention(const Json& row) {
  const std::string model = row.at("model");
  if (model.find("MLA") != std::string::npos || model.find("DeepSeek") != std::string::npos) {
    return false;
  }
  for (const Json& layers : row.at("layers")) {
    if (layers.at("kind") != "full") {
      return false;
    }
  }
  // A hybrid shows its full layers only; its states lie in a pool beside them.
  return !row.at("logged").contains("state_slots");
}

/// Layers whose bf16 rows have the logged bytes per token; the row's figures are per rank already.
ModelConfig model_of(const Json& row) {
  ModelConfig model;
  model.name = row.at("id");
  model.attention_heads = 1;
  model.kv_heads = 1;
  model.max_positions = 1 << 24;
  for (const Json& layers : row.at("layers")) {
    const std::int64_t elements = layers.at("bytes_per_token").get<std::int64_t>() / 4;
    for (std::int64_t i = 0; i < layers.at("count").get<std::int64_t>(); ++i) {
      model.layers.push_back({1, elements, 0});
    }
  }
  return model;
}

CapacityPlan plan_at(PlanRequest request, double budget_gib) {
  request.kv_budget_gib = budget_gib;
  return plan_capacity(request);
}

struct Interval {
  CapacityPlan low;
  CapacityPlan high;
};

Interval interval_of(const Json& row, ModelConfig model, std::int64_t tp) {
  PlanRequest request;
  request.model = std::move(model);
  request.tp = tp;
  request.block_size = row.value("block", 1);
  request.max_len = row.value("max_len", 8192);
  const double budget = row.at("kv_budget_gib");
  return {plan_at(request, budget - kHalfDigitGib), plan_at(request, budget + kHalfDigitGib)};
}

void expect_logged(const Json& row, const Interval& interval) {
  const std::string id = row.at("id");
  const Json& logged = row.at("logged");
  // TensorRT-LLM rounds its tokens up to whole blocks, where the others round down.
  const std::int64_t up = row.at("engine") == "tensorrt-llm" ? 1 : 0;
  const std::int64_t block = interval.low.request.block_size;
  if (logged.contains("blocks")) {
    EXPECT_GE(logged["blocks"], interval.low.expected.blocks) << id;
    EXPECT_LE(logged["blocks"], interval.high.expected.blocks + up) << id;
  }
  if (logged.contains("tokens")) {
    EXPECT_GE(logged["tokens"], interval.low.expected.tokens) << id;
    EXPECT_LE(logged["tokens"], interval.high.expected.tokens + up * block) << id;
  }
  if (logged.contains("concurrency")) {
    EXPECT_GE(logged["concurrency"], interval.low.expected.concurrency - 0.005) << id;
    EXPECT_LE(logged["concurrency"], interval.high.expected.concurrency + 0.005) << id;
  }
}

class GroundTruth : public ::testing::Test {
 protected:
  void SetUp() override {
    if (shared_file("ground_truth").empty()) {
      GTEST_SKIP() << "the start-up logs are not at hand";
    }
  }
};

TEST_F(GroundTruth, EveryPureAttentionLogLiesInItsInterval) {
  int checked = 0;
  for (const Json& row : rows_of("engine_logs.jsonl")) {
    if (!is_pure_attention(row) || row.contains("known_difference")) {
      continue;
    }
    expect_logged(row, interval_of(row, model_of(row), 1));
    ++checked;
  }
  EXPECT_EQ(checked, 16);
}

TEST_F(GroundTruth, LogsOfModelsAtHandLieInTheIntervalOfTheirConfig) {
  const std::map<std::string, std::string> files = {
      {"vllm-8b-3090-20k", "meta-llama--Meta-Llama-3.1-8B"},
      {"vllm-8b-3090-29k", "meta-llama--Meta-Llama-3.1-8B"},
      {"vllm-8b-eager", "meta-llama--Meta-Llama-3.1-8B"},
      {"sgl-8b-h100", "meta-llama--Meta-Llama-3.1-8B"},
      {"trt-8b-bf16", "meta-llama--Meta-Llama-3.1-8B"},
      {"vllm-70b-awq", "meta-llama--Meta-Llama-3.1-70B"},
      {"vllm-70b-tp4", "meta-llama--Meta-Llama-3.1-70B"},
      {"vllm-qwen3-8b-a100", "Qwen--Qwen3-8B"},
      {"vllm-qwen3-30b-gb10", "Qwen--Qwen3-30B-A3B"},
  };
  std::size_t checked = 0;
  for (const Json& row : rows_of("engine_logs.jsonl")) {
    const auto file = files.find(row.at("id"));
    if (file == files.end() || shared_file("models").empty()) {
      continue;
    }
    const auto path = shared_file("models/" + file->second + ".json");
    expect_logged(row, interval_of(row, read_model_config(path.string()), row.value("tp", 1)));
    ++checked;
  }
  EXPECT_EQ(checked, files.size());
}

TEST_F(GroundTruth, KnownDifferencesStayDifferences) {
  int checked = 0;
  for (const Json& row : rows_of("engine_logs.jsonl")) {
    if (!is_pure_attention(row) || !row.contains("known_difference")) {
      continue;
    }
    const Interval interval = interval_of(row, model_of(row), 1);
    const std::int64_t tokens = row.at("logged").at("tokens");
    EXPECT_LT(tokens, interval.low.expected.tokens) << row.at("id");
    // The formula gives 180,928.
    EXPECT_LE(interval.low.expected.tokens, 180928);
    EXPECT_GE(interval.high.expected.tokens, 180928);
    ++checked;
  }
  EXPECT_EQ(checked, 1);
}

TEST_F(GroundTruth, RefusedLogsDoNotFitHereEither) {
  for (const Json& row : rows_of("engine_logs.jsonl")) {
    if (row.at("logged").contains("refused")) {
      const Interval interval = interval_of(row, model_of(row), 1);
      EXPECT_FALSE(interval.high.fits) << row.at("id");
      EXPECT_EQ(interval.high.limited_by, LimitedBy::OneRequest);
    }
  }
}

TEST_F(GroundTruth, BudgetsAddUp) {
  int checked = 0;
  for (const Json& row : rows_of("budgets.jsonl")) {
    MemoryBudget budget;
    budget.total_gib = row.at("total_gib");
    budget.utilization = row.at("util");
    budget.weights = Estimate::given(row.at("weights_gib"));
    budget.activation = Estimate::given(row.at("activation_peak_gib"));
    budget.non_torch = Estimate::given(row.at("non_torch_gib"));
    budget.graph = Estimate::given(row.at("graph_estimate_gib"));
    const double gib = static_cast<double>(kv_budget(budget).expected_bytes) / 1073741824.0;
    // Every term was printed with two decimals; in fact they agree to half a digit of the result.
    EXPECT_NEAR(gib, row.at("kv_gib_logged").get<double>(), 0.0075) << row.at("case");
    ++checked;
  }
  EXPECT_EQ(checked, 6);
}

TEST_F(GroundTruth, EstimatedMemoryOutsideTorchMeetsTheLogs) {
  int checked = 0;
  for (const Json& row : rows_of("budgets.jsonl")) {
    const std::string name = row.at("case");
    if (name == "GB300") {
      continue;  // 0 stands for a term that the row does not tell
    }
    const Estimate estimate = estimate_non_torch(name.find("TP2") != std::string::npos ? 2 : 1);
    const double logged = row.at("non_torch_gib");
    EXPECT_NEAR(estimate.expected, logged, 0.011) << name;
    EXPECT_LE(estimate.low, logged) << name;
    EXPECT_GE(estimate.high, logged) << name;
    ++checked;
  }
  EXPECT_EQ(checked, 5);
}

TEST_F(GroundTruth, EstimatedActivationMeetsTheLogs) {
  if (shared_file("models").empty()) {
    GTEST_SKIP() << "the real configs are not at hand";
  }
  const auto estimate = [](const std::string& name, std::int64_t tp, BatchLimits limits) {
    const auto path = shared_file("models/" + name + ".json");
    return estimate_activation(read_model_config(path.string()), tp, limits);
  };
  const BatchLimits large = default_batch_limits(find_gpu("h100"));
  const auto expect = [](const Estimate& estimated, double logged) {
    EXPECT_NEAR(estimated.expected, logged, logged * 0.012);
    EXPECT_LT(estimated.low, logged * 1.012);
    EXPECT_GE(estimated.high, logged);
  };
  expect(estimate("meta-llama--Meta-Llama-3.1-8B", 1, large), 4.76);
  expect(estimate("openai--gpt-oss-20b", 1, large), 7.38);
  expect(estimate("Qwen--Qwen3-32B", 1, large), 5.64);
  expect(estimate("Qwen--Qwen3-32B", 2, large), 5.64);
  // vLLM V0 profiled a step of max-len tokens: peak minus weights on the RTX 3090.
  expect(estimate("meta-llama--Meta-Llama-3.1-8B", 1, {20000, 256}), 17.06 - 14.9888);
  expect(estimate("meta-llama--Meta-Llama-3.1-8B", 1, {29000, 256}), 17.98 - 14.9888);
}

TEST_F(GroundTruth, AnH100WithLlamaComesOutAsLogged) {
  if (shared_file("models").empty()) {
    GTEST_SKIP() << "the real configs are not at hand";
  }
  PlanRequest request;
  request.model =
      read_model_config(shared_file("models/meta-llama--Meta-Llama-3.1-8B.json").string());
  request.gpu = find_gpu("h100");
  const CapacityPlan plan = plan_capacity(request);
  EXPECT_NEAR(static_cast<double>(plan.expected.budget_bytes) / 1073741824.0, 51.38, 0.02);
}

}  // namespace
}  // namespace octavo::sim
