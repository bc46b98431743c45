// The workloads of traces/ give the results that stand beside them.

#include <fstream>
#include <string>

#include "octavo/sim/replay.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace octavo::sim {
namespace {

class Workload : public testing::TestWithParam<std::string> {};

TEST_P(Workload, GivesTheRecordedReplayResults) {
  const std::string folder = std::string(OCTAVO_SOURCE_DIR) + "/traces/";
  const auto expected =
      nlohmann::json::parse(std::ifstream(folder + "expected.json")).at(GetParam()).at("replay");
  ASSERT_GE(expected.size(), 1U);
  for (const auto& setting : expected) {
    ReplayOptions options;
    options.block_size = setting.at("block_size");
    options.live = setting.at("live");
    options.full_blocks_only = setting.at("full_blocks_only");
    for (const auto& run : setting.at("runs")) {
      options.blocks.push_back(run.at("blocks"));
    }
    const ReplayResult result = replay(*open_trace(folder + GetParam() + ".jsonl"), options);
    for (std::size_t i = 0; i < result.runs.size(); ++i) {
      const ReplayRun& run = result.runs[i];
      const auto& wanted = setting.at("runs").at(i);
      EXPECT_EQ(run.requests, wanted.at("requests")) << wanted;
      EXPECT_EQ(run.rejected_requests, wanted.at("rejected_requests")) << wanted;
      EXPECT_EQ(run.prompt_tokens, wanted.at("prompt_tokens")) << wanted;
      EXPECT_EQ(run.hit_tokens, wanted.at("hit_tokens")) << wanted;
      EXPECT_EQ(run.evicted_blocks, wanted.at("evicted_blocks")) << wanted;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfTheRepository,
                         Workload,
                         testing::Values("chat", "agent", "adversarial"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace octavo::sim
