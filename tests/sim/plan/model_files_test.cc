// The reader on real configs, where they are at hand: published parameter counts, logged weights,
// bytes per token, and the families that it refuses.
#include <map>
#include <optional>
#include <string>

#include "configs.h"
#include "octavo/sim/input_error.h"
#include "octavo/sim/kv_rows.h"
#include "octavo/sim/memory_budget.h"
#include "octavo/sim/model_config.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

using testing::shared_file;

constexpr double kGib = 1073741824.0;

struct Expected {
  std::size_t layers;
  CacheLayer first;
  CacheLayer last;
  std::int64_t bytes_per_token;  // bf16, on one GPU
  double billions;               // parameters as published
  double tolerance;              // half a unit of the last published digit
};

const std::map<std::string, Expected>& supported() {
  static const std::map<std::string, Expected> models = {
      {"Qwen--Qwen3-0.6B", {28, {8, 128, 0}, {8, 128, 0}, 114688, 0.6, 0.05}},
      {"Qwen--Qwen3-8B", {36, {8, 128, 0}, {8, 128, 0}, 147456, 8.19, 0.005}},
      {"Qwen--Qwen3-32B", {64, {8, 128, 0}, {8, 128, 0}, 262144, 32.8, 0.05}},
      {"Qwen--Qwen3-32B-FP8", {64, {8, 128, 0}, {8, 128, 0}, 262144, 32.8, 0.05}},
      {"Qwen--Qwen3-30B-A3B", {48, {4, 128, 0}, {4, 128, 0}, 98304, 30.5, 0.05}},
      {"Qwen--Qwen3-235B-A22B", {94, {4, 128, 0}, {4, 128, 0}, 192512, 235.1, 0.05}},
      {"Qwen--Qwen3-VL-8B-Instruct", {36, {8, 128, 0}, {8, 128, 0}, 147456, 8.77, 0.005}},
      {"meta-llama--Meta-Llama-3.1-8B", {32, {8, 128, 0}, {8, 128, 0}, 131072, 8.03, 0.005}},
      {"meta-llama--Meta-Llama-3.1-70B", {80, {8, 128, 0}, {8, 128, 0}, 327680, 70.55, 0.005}},
      {"meta-llama--Meta-Llama-3.1-405B", {126, {8, 128, 0}, {8, 128, 0}, 516096, 405.85, 0.005}},
      {"mistralai--Mixtral-8x7B-v0.1", {32, {8, 128, 0}, {8, 128, 0}, 131072, 46.7, 0.05}},
      {"openai--gpt-oss-20b", {24, {8, 64, 128}, {8, 64, 0}, 49152, 20.91, 0.005}},
      {"openai--gpt-oss-120b", {36, {8, 64, 128}, {8, 64, 0}, 73728, 116.83, 0.005}},
  };
  return models;
}

struct Special {
  std::int64_t grows = 0;
  std::int64_t bounded = 0;
  std::int64_t state = 0;
  std::optional<DType> state_dtype = {};
};

const std::map<std::string, Special>& special() {
  static const std::map<std::string, Special> models = {
      {"Qwen--Qwen3.5-27B", {65536, 0, 153944064}},
      {"Qwen--Qwen3.5-35B-A3B", {20480, 0, 64389120}},
      {"XiaomiMiMo--MiMo-V2-Flash", {23040, 199680, 0}},
      {"deepseek-ai--DeepSeek-R1", {70272, 0, 0}},
      {"deepseek-ai--DeepSeek-V3", {70272, 0, 0}},
      {"deepseek-ai--DeepSeek-V3.2", {78324, 0, 0}},
      {"google--gemma-4-26B-A4B", {20480, 204800, 0}},
      {"meta-llama--Llama-4-Scout-17B-16E-Instruct", {49152, 147456, 0}},
      {"moonshotai--Kimi-K2-Instruct", {70272, 0, 0}},
      {"nvidia--Llama-3_3-Nemotron-Super-49B-v1", {200704, 0, 0}},
      {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", {6144, 0, 24965120, DType::BF16}},
      {"nvidia--Nemotron-H-56B-Base-8K", {40960, 0, 459620352, DType::BF16}},
      {"nvidia--Qwen3.6-27B-NVFP4", {65536, 0, 153944064}},
  };
  return models;
}

ModelConfig read(const std::string& name) {
  return read_model_config(shared_file("models/" + name + ".json").string());
}

class ModelFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (shared_file("models").empty()) {
      GTEST_SKIP() << "the real configs are not at hand";
    }
  }
};

TEST_F(ModelFiles, EveryFileIsRead) {
  for (const auto& entry : std::filesystem::directory_iterator(shared_file("models"))) {
    const std::string name = entry.path().stem().string();
    EXPECT_FALSE(read(name).layers.empty()) << name;
    const bool known = supported().count(name) + special().count(name) == 1;
    EXPECT_TRUE(known) << name << " is in neither list of this test";
  }
}

TEST_F(ModelFiles, SupportedOnesHaveTheirLayers) {
  for (const auto& [name, expected] : supported()) {
    const ModelConfig model = read(name);
    ASSERT_EQ(model.layers.size(), expected.layers) << name;
    EXPECT_EQ(model.layers.front(), expected.first) << name;
    EXPECT_EQ(model.layers.back(), expected.last) << name;
    std::int64_t bytes = 0;
    for (const KvClass& rows : kv_classes(model, {})) {
      bytes += rows.bytes_per_token;
    }
    EXPECT_EQ(bytes, expected.bytes_per_token) << name;
    EXPECT_EQ(model.notes.size(), model.model_type == "gpt_oss" ? 1U : 0U) << name;
  }
}

TEST_F(ModelFiles, ParameterCountsAreThePublishedOnes) {
  for (const auto& [name, expected] : supported()) {
    const double billions = static_cast<double>(read(name).weights.parameters()) / 1e9;
    EXPECT_NEAR(billions, expected.billions, expected.tolerance) << name;
    EXPECT_EQ(read(name).weights.unknown, "") << name;
  }
}

TEST_F(ModelFiles, SmallTermsAreCountedToo) {
  // To the last parameter, as the published checkpoints have them.
  EXPECT_EQ(read("Qwen--Qwen3-8B").weights.parameters(), 8190735360);
  EXPECT_EQ(read("Qwen--Qwen3-VL-8B-Instruct").weights.parameters(), 8767123696);
  EXPECT_EQ(read("mistralai--Mixtral-8x7B-v0.1").weights.parameters(), 46702792704);
  EXPECT_EQ(read("openai--gpt-oss-20b").weights.parameters(), 20914757184);
}

TEST_F(ModelFiles, WeightsAreTheLoggedOnes) {
  const auto gib = [](const std::string& name, std::int64_t tp) {
    return estimate_weights(read(name), tp).expected;
  };
  EXPECT_NEAR(gib("meta-llama--Meta-Llama-3.1-8B", 1), 14.9888, 0.00005);
  EXPECT_NEAR(gib("Qwen--Qwen3-32B", 1), 61.03, 0.005);
  // Logged 30.59: what the ranks replicate beside the rotary table is not counted.
  EXPECT_NEAR(gib("Qwen--Qwen3-32B", 2), 30.59, 0.09);
  EXPECT_LT(gib("Qwen--Qwen3-32B", 2), 30.59);
  // The published checkpoints; engines pad the experts and log 13.47 GiB for the 20b.
  EXPECT_NEAR(static_cast<double>(read("openai--gpt-oss-20b").weights.bytes()) / kGib, 12.8, 0.05);
  EXPECT_NEAR(static_cast<double>(read("openai--gpt-oss-120b").weights.bytes()) / kGib, 60.8, 0.05);
}

TEST_F(ModelFiles, GptOssAlternatesItsWindows) {
  const ModelConfig model = read("openai--gpt-oss-120b");
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    EXPECT_EQ(model.layers[i].window, i % 2 == 0 ? 128 : 0);
  }
  const std::vector<KvClass> classes = kv_classes(model, {});
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes[0].bytes_per_token, 36864);
  EXPECT_EQ(classes[1].bytes_per_token, 36864);
  EXPECT_FALSE(classes[0].window_bounds);
}

// Bytes a token in bf16 that grow, that a window or chunk bounds, and of the states of a sequence:
// the table of the start-up logs.
TEST_F(ModelFiles, SpecialFamiliesKeepWhatTheLogsShow) {
  for (const auto& [name, expected] : special()) {
    const ModelConfig model = read(name);
    RowOptions options;
    options.state_dtype = expected.state_dtype;
    Special counted;
    for (const KvClass& rows : rank_classes(model, options, 0, model.layers.size())) {
      (rows.layer.window > 0 ? counted.bounded : counted.grows) += rows.bytes_per_token;
      counted.state += rows.bytes_per_sequence;
    }
    EXPECT_EQ(counted.grows, expected.grows) << name;
    EXPECT_EQ(counted.bounded, expected.bounded) << name;
    EXPECT_EQ(counted.state, expected.state) << name;
  }
}

}  // namespace
}  // namespace octavo::sim
