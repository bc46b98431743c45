// `octavo replay` and `octavo mrc` as a user runs them.

#include <sstream>
#include <string>
#include <vector>

#include "octavo/sim/trace_generate.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.h"

namespace octavo::tools {
namespace {

using Result = testing::CommandResult;

Result run(const std::vector<std::string>& args) {
  return testing::run_command(args);
}

const std::string kChat = std::string(OCTAVO_SOURCE_DIR) + "/traces/chat.jsonl";

std::vector<std::string> with(std::vector<std::string> args, const std::vector<std::string>& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

nlohmann::json json_of(const std::vector<std::string>& args) {
  const Result result = run(with(args, {"--json"}));
  EXPECT_EQ(result.status, kExitOk) << result.err;
  return nlohmann::json::parse(result.out);
}

const std::vector<std::string> kReplay{"replay", "--trace", kChat, "--full-blocks-only"};
const std::vector<std::string> kMrc{"mrc", "--trace", kChat};

TEST(ReplayCommand, RunsEveryPolicyAtEverySizeInTheOrderAsked) {
  const auto json =
      json_of(with(kReplay, {"--policy", "belady,lru,belady-pinned", "--blocks", "2048,512"}));
  const auto& runs = json.at("runs");
  ASSERT_EQ(runs.size(), 6U);
  const char* policies[] = {"belady", "belady", "lru", "lru", "belady-pinned", "belady-pinned"};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].at("policy"), policies[i]);
    EXPECT_EQ(runs[i].at("blocks"), i % 2 == 0 ? 2048 : 512);
    EXPECT_EQ(runs[i].contains("bound"), runs[i].at("policy") != "lru");
    EXPECT_EQ(runs[i].at("evicted_blocks").is_null(), runs[i].at("policy") != "lru");
    EXPECT_EQ(runs[i].at("prompt_tokens"), runs[0].at("prompt_tokens"));
  }
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_GT(runs[i].at("hit_tokens"), runs[i + 2].at("hit_tokens"));
    EXPECT_GE(runs[i].at("hit_tokens"), runs[i + 4].at("hit_tokens"));
  }
}

TEST(ReplayCommand, ThreadsChangeNothingButTheTime) {
  const auto runs = [](const std::string& threads) {
    auto json =
        json_of(with(kReplay, {"--blocks", "400,512,1000,2048,8192", "--threads", threads}));
    for (auto& each : json.at("runs")) {
      each.erase("seconds");
      each.erase("ns_per_prompt_token");
    }
    return json;
  };
  EXPECT_EQ(runs("1"), runs("2"));
  EXPECT_EQ(runs("1"), runs("7"));
}

TEST(ReplayCommand, TakesSizesAsSharesAndTokens) {
  const auto json = json_of(with(kReplay, {"--blocks", "0.1", "--tokens", "16K,1M"}));
  const auto distinct = json_of(kMrc).at("distinct_blocks").get<std::int64_t>();
  EXPECT_EQ(json.at("runs")[0].at("blocks"), distinct / 10);
  EXPECT_EQ(json.at("runs")[1].at("blocks"), 1000);
  EXPECT_EQ(json.at("runs")[2].at("blocks"), 62500);
}

TEST(ReplayCommand, RefusesSizesAndPoliciesThatAreNone) {
  const auto message = [](const std::vector<std::string>& more) {
    const Result result = run(with(kReplay, more));
    EXPECT_EQ(result.status, kExitUsage);
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_NE(message({"--blocks", "1.5"})
                .find("octavo replay: --blocks: '1.5' is no share of the distinct blocks in "
                      "(0, 1]"),
            std::string::npos);
  EXPECT_NE(message({"--tokens", "3X"}).find("'3X' is no number of tokens"), std::string::npos);
  EXPECT_NE(message({}).find("--blocks is required"), std::string::npos);
  EXPECT_NE(message({"--blocks", "8", "--policy", "lur"}).find("lur"), std::string::npos);
}

TEST(MrcCommand, GivesWhatTheReplayGives) {
  const auto mrc = json_of(with(kMrc, {"--at", "100,512,2048,8192"}));
  const auto replay = json_of(with(kReplay, {"--blocks", "100,512,2048,8192"}));
  EXPECT_EQ(mrc.at("schema_version"), 1);
  EXPECT_EQ(mrc.at("exact"), true);
  ASSERT_EQ(mrc.at("points").size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    for (const char* field :
         {"blocks", "hit_rate", "hit_tokens", "requests", "rejected_requests", "prompt_tokens"}) {
      EXPECT_EQ(mrc.at("points")[i].at(field), replay.at("runs")[i].at(field)) << field;
    }
  }
}

TEST(MrcCommand, DrawsItsCurveWithinEightyColumns) {
  const Result result = run(kMrc);
  EXPECT_EQ(result.status, kExitOk);
  EXPECT_NE(result.out.find("\nhit rate\n"), std::string::npos);
  std::istringstream lines(result.out.substr(result.out.find("\nhit rate\n")));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(MrcCommand, WritesEveryStepAndCsv) {
  const auto all = json_of(with(kMrc, {"--all"})).at("points");
  EXPECT_GT(all.size(), 100U);
  EXPECT_EQ(all.back().at("blocks"), json_of(kMrc).at("working_set_blocks"));
  const Result csv = run(with(kMrc, {"--csv", "--at", "2048"}));
  EXPECT_EQ(csv.out.substr(0, csv.out.find('\n')),
            "blocks,tokens,hit_rate,hit_tokens,requests,rejected_requests,prompt_tokens");
  EXPECT_NE(csv.out.find("\n2048,32768,"), std::string::npos) << csv.out;
}

TEST(MrcCommand, StatesTheErrorOfASample) {
  const auto json = json_of(with(kMrc, {"--sample", "0.5", "--at", "4096"}));
  EXPECT_EQ(json.at("exact"), false);
  EXPECT_GT(json.at("points")[0].at("error"), 0.0);
  EXPECT_NEAR(json.at("points")[0].at("hit_rate"),
              json_of(with(kMrc, {"--at", "4096"})).at("points")[0].at("hit_rate"), 0.2);
}

TEST(MrcCommand, RefusesOptionsThatDoNotGoTogether) {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--all", "--at", "8"},
                                             {"--gpu", "h100"},
                                             {"--usd-per-gib", "1"},
                                             {"--sample", "0"},
                                             {"--sample", "0.5", "--at", "1"},
                                             {"--at", "0"}}) {
    const Result result = run(with(kMrc, more));
    EXPECT_EQ(result.status, kExitUsage) << more[0] << result.err;
    EXPECT_EQ(result.out, "") << more[0];
  }
  EXPECT_EQ(run({"mrc", "--trace", "/no/such/file"}).status, kExitBadInput);
}

}  // namespace
}  // namespace octavo::tools
