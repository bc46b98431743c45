// The engine profiles against what engines printed at start-up, where the logs are at hand: every
// row, and every known difference stays one.
//
// A printed budget has two decimals, so a printed figure must lie between what the budget minus and
// plus half a digit give. SGLang prints K and V apart, each rounded: two halves.
#include <fstream>
#include <string>
#include <vector>

#include "configs.h"
#include "octavo/sim/engine_profile.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

using testing::Json;
using testing::shared_file;

constexpr double kGibBytes = 1073741824.0;

std::vector<Json> log_rows() {
  std::vector<Json> rows;
  std::ifstream file(shared_file("ground_truth/engine_logs.jsonl"));
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) {
      rows.push_back(Json::parse(line));
    }
  }
  return rows;
}

Engine engine_of(const Json& row) {
  const std::string engine = row.at("engine");
  if (engine.starts_with("sglang")) {
    return Engine::Sglang;
  }
  if (engine.starts_with("tensorrt")) {
    return Engine::TensorRtLlm;
  }
  return engine.find("new size definition") != std::string::npos ? Engine::Vllm : Engine::VllmOld;
}

std::int64_t gdn_state_bytes(const Json& layers) {
  const auto of = [&](const char* name) { return layers.at(name).get<std::int64_t>(); };
  const std::int64_t channels = 2 * of("k_heads") * of("k_dim") + of("v_heads") * of("v_dim");
  return channels * (of("conv_kernel") - 1) * of("conv_bytes") +
         of("v_heads") * of("k_dim") * of("v_dim") * of("ssm_bytes");
}

SizingRequest sizing_of(const Json& row) {
  SizingRequest request;
  request.engine = engine_of(row);
  for (const Json& layers : row.at("layers")) {
    LayerClass rows;
    rows.layers = layers.at("count");
    if (layers.at("kind") == "gdn_state") {
      rows.kind = CacheKind::State;
      rows.state_bytes = gdn_state_bytes(layers);
    } else {
      rows.bytes_per_token = layers.at("bytes_per_token");
      rows.window = layers.value("window", 0);
    }
    request.classes.push_back(rows);
  }
  // SGLang's page is one token unless asked otherwise; its logs name no block.
  request.block_size = row.value("block", request.engine == Engine::TensorRtLlm ? 64 : 1);
  request.max_len = row.value("max_len", 8192);
  request.step_tokens = row.value("max_num_batched_tokens", 8192);
  if (row.contains("mamba_mode")) {
    request.state_prefix = parse_state_prefix(row.at("mamba_mode").get<std::string>());
  }
  return request;
}

struct LoggedInterval {
  EngineCapacity low;
  EngineCapacity high;
};

LoggedInterval interval_of(const Json& row) {
  SizingRequest request = sizing_of(row);
  const double half_digit = request.engine == Engine::Sglang ? 0.01 : 0.005;
  const double budget = row.at("kv_budget_gib");
  request.budget_bytes = static_cast<std::int64_t>((budget - half_digit) * kGibBytes);
  const EngineCapacity low = engine_capacity(request);
  request.budget_bytes = static_cast<std::int64_t>((budget + half_digit) * kGibBytes);
  return {low, engine_capacity(request)};
}

bool inside(const Json& logged, const char* field, double low, double high, double rounding) {
  if (!logged.contains(field)) {
    return true;
  }
  const double value = logged.at(field);
  return value >= low - rounding && value <= high + rounding;
}

bool agrees(const Json& row) {
  const auto [low, high] = interval_of(row);
  const Json& logged = row.at("logged");
  const auto as_double = [](std::int64_t value) { return static_cast<double>(value); };
  return inside(logged, "blocks", as_double(low.blocks), as_double(high.blocks), 0) &&
         inside(logged, "tokens", as_double(low.tokens), as_double(high.tokens), 0) &&
         inside(logged, "concurrency", low.concurrency, high.concurrency, 0.005) &&
         inside(logged, "blocks_per_request", as_double(low.blocks_per_request),
                as_double(high.blocks_per_request), 0) &&
         inside(logged, "block_raised_to", as_double(low.block_size), as_double(high.block_size),
                0);
}

class EngineLogs : public ::testing::Test {
 protected:
  void SetUp() override {
    if (shared_file("ground_truth").empty()) {
      GTEST_SKIP() << "the start-up logs are not at hand";
    }
  }
};

TEST_F(EngineLogs, EveryRowLiesInTheIntervalOfItsBudget) {
  int checked = 0;
  for (const Json& row : log_rows()) {
    if (!row.contains("known_difference")) {
      const auto [low, high] = interval_of(row);
      EXPECT_TRUE(agrees(row)) << row.at("id") << ": blocks " << low.blocks << " to " << high.blocks
                               << ", tokens " << low.tokens << " to " << high.tokens
                               << ", concurrency " << low.concurrency << " to " << high.concurrency
                               << ", block " << low.block_size << "\n"
                               << row.at("logged");
      ++checked;
    }
  }
  EXPECT_EQ(checked, 27);
}

TEST_F(EngineLogs, KnownDifferencesStayDifferences) {
  int checked = 0;
  for (const Json& row : log_rows()) {
    if (row.contains("known_difference")) {
      EXPECT_FALSE(agrees(row)) << row.at("id");
      ++checked;
    }
  }
  EXPECT_EQ(checked, 2);
}

}  // namespace
}  // namespace octavo::sim
