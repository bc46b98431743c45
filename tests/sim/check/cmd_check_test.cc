// `octavo check` as a user runs it.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.h"

namespace octavo::tools {
namespace {

using Result = testing::CommandResult;

Result run(std::vector<std::string> args) {
  args.insert(args.begin(), "check");
  return testing::run_command(args);
}

std::string trace(const char* name) {
  return std::string(OCTAVO_SOURCE_DIR) + "/traces/" + name + ".jsonl";
}

std::string scratch(const char* name) {
  return (std::filesystem::path(::testing::TempDir()) / name).string();
}

TEST(CheckCommand, TheTracesOfThisFolderHold) {
  for (const char* name : {"chat", "agent", "adversarial"}) {
    const Result result = run({"--trace", trace(name), "--limit", "60", "--head-dim", "16",
                               "--faults", "all", "--seed", "4", "--json"});
    ASSERT_EQ(result.status, kExitOk) << result.err;
    const auto json = nlohmann::json::parse(result.out);
    EXPECT_EQ(json.at("schema_version"), 1);
    EXPECT_GT(json.at("operations").get<int>(), 60);
    EXPECT_GT(json.at("compared_words").get<std::int64_t>(), 10'000);
    EXPECT_EQ(json.at("differing_words"), 0);
    EXPECT_EQ(json.at("violations"), 0);
    EXPECT_EQ(json.at("requests").get<int>() + json.at("dropped").get<int>(), 60);
    EXPECT_NE(result.err.find("check: seed 4: rows "), std::string::npos) << result.err;
  }
}

TEST(CheckCommand, TheEmulatedKernelsGiveTheBitsOfTheReference) {
  for (const std::string name : {"chat", "agent"}) {
    const Result result =
        run({"--trace", trace(name.c_str()), "--device", "ref,emulated", "--limit", "8",
             "--max-prompt", "40", "--faults", "all", "--json"});
    EXPECT_EQ(result.status, kExitOk) << result.err;
    const nlohmann::json json = nlohmann::json::parse(result.out);
    EXPECT_EQ(json.at("devices"), (nlohmann::json{"ref", "emulated"}));
    EXPECT_GT(json.at("compared_words").get<std::int64_t>(), 10'000);
    EXPECT_EQ(json.at("differing_words"), 0);
    EXPECT_EQ(json.at("violations"), 0);
  }
}

TEST(CheckCommand, DevicesThatAreNotThereAreRefusedInOneSentence) {
  const Result gpu = run({"--trace", trace("chat"), "--device", "cuda"});
  if (gpu.status != kExitOk) {  // There is none here.
    EXPECT_EQ(gpu.status, kExitUsage);
    EXPECT_NE(gpu.err.find("--device: cuda"), std::string::npos) << gpu.err;
    EXPECT_EQ(gpu.out, "");
  }
  const Result none = run({"--trace", trace("chat"), "--device", "tpu"});
  EXPECT_EQ(none.status, kExitUsage);
  EXPECT_NE(none.err.find("expected ref, emulated or cuda"), std::string::npos) << none.err;
}

TEST(CheckCommand, WrongCommandLinesAreRefused) {
  EXPECT_EQ(run({}).status, kExitUsage);
  EXPECT_EQ(run({"--trace", trace("chat"), "--faults", "rain"}).status, kExitUsage);
  EXPECT_EQ(run({"--trace", trace("chat"), "--rows", "int9"}).status, kExitUsage);
  EXPECT_EQ(run({"--trace", trace("chat"), "--seed", "x"}).status, kExitUsage);
  EXPECT_EQ(run({"--campaign"}).status, kExitUsage);
  EXPECT_EQ(run({"--ops", "a", "--trace", trace("chat")}).status, kExitUsage);
  EXPECT_EQ(run({"--trace", scratch("missing.jsonl")}).status, kExitBadInput);
  EXPECT_EQ(run({"--ops", scratch("missing.jsonl")}).status, kExitBadInput);
}

TEST(CheckCommand, ACommitIsASeed) {
  const Result result = run({"--trace", trace("chat"), "--limit", "3", "--head-dim", "8", "--json",
                             "--seed", "00000000000000ffaaaaaaaaaaaaaaaaaaaaaaaa"});
  ASSERT_EQ(result.status, kExitOk) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out).at("seed"), 255);
}

TEST(CheckCommand, ALogIsReplayedAndABadOneIsNamed) {
  const std::string file = scratch("octavo_check_ops.jsonl");
  std::ofstream(file) << R"({"octavo_check_ops":1,"rows":["paged"],"kv_dtype":"f32","kv_heads":1,)"
                      << R"("head_dim":8,"slots":2,"max_tokens":32,"max_step":8,"blocks":8,)"
                      << R"("block_size":4,"window":4,"seed":1})" << '\n'
                      << R"({"op":"admit","slot":0,"prompt":[[5,6]]})" << '\n'
                      << R"({"op":"step","batch":[[0,6,0,0]]})" << '\n';
  const Result result = run({"--ops", file, "--json"});
  ASSERT_EQ(result.status, kExitOk) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("operations"), 3);  // And the final read-back.
  EXPECT_EQ(json.at("violations"), 0);
  std::ofstream(file, std::ios::app) << R"({"op":"step","batch":[[7,6,0,0]]})" << '\n';
  const Result bad = run({"--ops", file});
  EXPECT_EQ(bad.status, kExitBadInput);
  EXPECT_NE(bad.err.find(file + ":4: batch[0][0]: is 7, expected an integer in [0, 1]"),
            std::string::npos)
      << bad.err;
  std::filesystem::remove(file);
}

TEST(CheckCommand, ACampaignCountsSeedsUp) {
  const Result result = run({"--campaign", "--runs", "4", "--seed", "7", "--head-dim", "8",
                             "--max-prompt", "40", "--json", "--quiet"});
  ASSERT_EQ(result.status, kExitOk) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("runs"), 4);
  EXPECT_EQ(json.at("seed"), 7);
  EXPECT_GT(json.at("distinct_states").get<int>(), 50);
  EXPECT_EQ(json.at("violations"), 0);
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace octavo::tools
