// `octavo trace gen KIND`, `trace convert`, `trace events` and `check-events` as a user runs them.

#include <filesystem>

#include "decimal.h"
#include "trace_testing.h"
#include <nlohmann/json.hpp>

#include "tests/support/run_command.h"

namespace octavo::tools {
namespace {

using Result = testing::CommandResult;

Result run_octavo(const std::vector<std::string>& args) {
  return testing::run_command(args);
}

TEST(TraceGen, MakesWhatAServingBenchmarkNeeds) {
  const Result result =
      run_octavo({"trace", "gen", "poisson", "--rate", "2.5", "--input-tokens", "1000",
                  "--output-tokens", "200", "--requests", "50", "--seed", "3"});
  ASSERT_EQ(result.status, kExitOk) << result.err;
  EXPECT_EQ(result.out.substr(0, result.out.find(",\"zipf")),
            R"({"octavo_trace":1,"block_size":16,"workload":"synthetic","seed":3,"requests":50,)"
            R"("arrival_process":"poisson","rate_micro":2500000)");
  const auto requests = sim::read_text(result.out);
  ASSERT_EQ(requests.size(), 50U);
  EXPECT_EQ(requests[7].input_tokens, 1000);
  EXPECT_EQ(requests[7].output_tokens, 200);
}

TEST(TraceGen, HelpOfEveryKindFitsAScreenAndItsExampleRuns) {
  for (const std::string kind :
       {"chat", "agent", "adversarial", "synthetic", "sessions", "tools", "media", "mix"}) {
    const Result help = run_octavo({"trace", "gen", kind, "--help"});
    EXPECT_EQ(help.status, kExitOk);
    EXPECT_LE(std::count(help.out.begin(), help.out.end(), '\n'), 40) << help.out;
    EXPECT_NE(help.out.find("octavo trace gen " + kind + " --seed 1"), std::string::npos);
    const Result made = run_octavo({"trace", "gen", kind, "--seed", "1", "--requests", "20"});
    EXPECT_EQ(made.status, kExitOk) << made.err;
    EXPECT_EQ(sim::read_text(made.out).size(), 20U);
  }
}

TEST(TraceGen, RefusesAWrongCommandLine) {
  using Args = std::vector<std::string>;
  for (const Args& more :
       {Args{"synthetic", "--rate", "0"}, Args{"synthetic", "--rate", "1e3"},
        Args{"synthetic", "--rate", "0.0000001"}, Args{"sessions", "--arrivals", "uniform"},
        Args{"sessions", "--turns", "0.5"}, Args{"media", "--image-pool", "0"},
        Args{"mix", "--shares", "1,2"}, Args{"mix", "--shares", "0,0,0"},
        Args{"synthetic", "--turns", "2"}}) {
    Args args{"trace", "gen"};
    args.insert(args.end(), more.begin(), more.end());
    const Result result = run_octavo(args);
    EXPECT_EQ(result.status, kExitUsage) << more[1] << " " << more.back() << result.err;
    EXPECT_EQ(result.out, "");
  }
}

TEST(TraceConvert, WritesAFileWholeOrNotAtAll) {
  const std::string in = OCTAVO_SOURCE_DIR "/traces/chat.jsonl";
  const sim::TempFile file("old");
  const Result bad = run_octavo({"trace", "convert", in, file.path(), "--to", "mooncake"});
  EXPECT_EQ(bad.status, kExitBadInput);
  EXPECT_NE(bad.err.find(":2: session: has no place in the format"), std::string::npos) << bad.err;
  EXPECT_EQ(sim::slurp(file.path()), "old");
  const Result good = run_octavo({"trace", "convert", in, file.path(), "--to", "mooncake",
                                  "--lossy", "--limit", "10", "--block-size", "16", "--json"});
  ASSERT_EQ(good.status, kExitOk) << good.err;
  const auto json = nlohmann::json::parse(good.out);
  EXPECT_EQ(json["written"], 10);
  EXPECT_EQ(json["block_size"], 16);
  EXPECT_EQ(json["lost"]["session"], 10);
  EXPECT_EQ(sim::read_text(sim::slurp(file.path()), {.trace_block = 16}).size(), 10U);
  const std::filesystem::path path(file.path());
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
    const std::string name = entry.path().filename().string();
    EXPECT_FALSE(name.starts_with(path.filename().string()) && name.ends_with(".tmp")) << name;
  }
}

TEST(TraceConvert, WritesToStdoutAndTalksOnStderr) {
  const std::string in = OCTAVO_SOURCE_DIR "/traces/agent.jsonl";
  const Result result = run_octavo({"trace", "convert", in, "-", "--limit", "5"});
  EXPECT_EQ(result.status, kExitOk);
  EXPECT_EQ(sim::read_text(result.out).size(), 5U);
  EXPECT_EQ(result.err, "5 of 5 requests written, blocks of 512 tokens\n");
  EXPECT_EQ(run_octavo({"trace", "convert", in, "-", "--block-size", "7"}).status, kExitUsage);
  EXPECT_EQ(run_octavo({"trace", "convert", in, "-", "--from-s", "2", "--to-s", "1"}).status,
            kExitUsage);
  EXPECT_EQ(run_octavo({"trace", "convert", in, "/no/such/folder/x"}).status, kExitUsage);
}

// Pool of two blocks of one token; the third request evicts the first one's block.
constexpr char kLog[] =
    "[1,[[\"BlockStored\",[1],null,[5],1]]]\n"
    "[2,[[\"BlockRemoved\",[1]],[\"BlockStored\",[2],null,[6],1]]]\n";

TEST(CheckEvents, PrintsWhatAgreedAndTheFirstDifference) {
  const sim::TempFile log(kLog);
  const Result same =
      run_octavo({"check-events", "--kv-events", log.path(), "--blocks", "2", "--json"});
  EXPECT_EQ(same.status, kExitOk) << same.err << same.out;
  const auto json = nlohmann::json::parse(same.out);
  EXPECT_EQ(json["same"], true);
  EXPECT_EQ(json["stores_agreed"], 2);
  EXPECT_EQ(json["removals_agreed"], 1);
  const Result other = run_octavo({"check-events", "--kv-events", log.path(), "--blocks", "3"});
  EXPECT_EQ(other.status, kExitCheckFailed);
  EXPECT_EQ(other.out,
            "2 requests, 4 tokens, 0 of them cached; blocks of 1 tokens\n"
            "agreed: 2 blocks stored, 0 removed, 0 clearings\n"
            "first difference, request 2, batch 2: the requests are over, and the log goes on\n"
            "  engine: BlockRemoved 0x0000000000000001, tokens 0 to 0 of its prefix\n"
            "  replay: none\n");
  EXPECT_EQ(run_octavo({"check-events", "--kv-events", "-", "--blocks", "3"}).status, kExitUsage);
  EXPECT_EQ(run_octavo({"check-events", "--kv-events", "/no/such", "--blocks", "3"}).status,
            kExitBadInput);
}

TEST(TraceEvents, PrintsFigures) {
  const sim::TempFile log(kLog);
  const Result json = run_octavo({"trace", "events", log.path(), "--json"});
  ASSERT_EQ(json.status, kExitOk);
  EXPECT_EQ(nlohmann::json::parse(json.out)["stored_blocks"], 2);
  const Result text = run_octavo({"trace", "events", log.path()});
  EXPECT_EQ(text.out.substr(0, text.out.find('\n')), log.path() + ": KV events, framing lines");
  EXPECT_NE(text.out.find("BlockStored              2  2 blocks; by tokens a block 1: 2\n"),
            std::string::npos)
      << text.out;
}

TEST(Decimal, IsExact) {
  EXPECT_EQ(parse_decimal("--x", "2.5", 6, 0, 9'000'000), 2'500'000);
  EXPECT_EQ(parse_decimal("--x", "0.000001", 6, 0, 9'000'000), 1);
  EXPECT_EQ(parse_decimal("--x", "9", 6, 0, 9'000'000), 9'000'000);
  EXPECT_EQ(decimal_text(2'500'000, 6), "2.5");
  EXPECT_EQ(decimal_text(3'000'000, 6), "3");
  EXPECT_EQ(decimal_text(1, 6), "0.000001");
  EXPECT_EQ(decimal_text(0, 3), "0");
  for (const char* text :
       {"", ".", "1.", ".5", "-1", "1e3", "1.0000001", "9.000001", "99999999999999999999", " 1"}) {
    EXPECT_THROW(parse_decimal("--x", text, 6, 0, 9'000'000), UsageError) << text;
  }
}

}  // namespace
}  // namespace octavo::tools
