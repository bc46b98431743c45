// `octavo plan` and `octavo footprint` as a user meets them: what they print and how they end.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "configs.h"
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/run_command.h"

namespace octavo::tools {
namespace {

using sim::testing::Json;

using Outcome = testing::CommandResult;

class PlanCommand : public ::testing::Test {
 protected:
  PlanCommand() {
    folder_ =
        std::filesystem::temp_directory_path() / ("octavo_plan_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~PlanCommand() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string file(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }

  std::string llama() { return file("llama.json", sim::testing::llama().dump()); }

  static Outcome run(const std::vector<std::string>& args) { return testing::run_command(args); }

  std::filesystem::path folder_;
};

TEST_F(PlanCommand, PrintsTheAnswerAsATable) {
  const Outcome outcome = run({"plan", "--model", llama(), "--gpu", "h100", "--max-len", "8192"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* part :
       {"llama on H100 SXM, KV cache in bf16", "= KV cache            51.39", "blocks of 16 tokens",
        "26,310", "420,960", "requests of 8,192 tokens at once",
        "holds 512 blocks, 1.00 GiB on each GPU", "Limited by the tokens of the pool."}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
  EXPECT_EQ(outcome.out.find("Equations"), std::string::npos);
  EXPECT_NE(run({"plan", "--model", llama(), "--gpu", "h100", "--explain"}).out.find("Equations"),
            std::string::npos);
}

TEST_F(PlanCommand, PrintsOneJsonObject) {
  const Outcome outcome = run({"plan", "--model", llama(), "--kv-budget-gib", "18.69", "--max-len",
                               "40960", "--kv-dtype", "fp8", "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_EQ(json.at("per_token_bytes"), 65536);
  EXPECT_EQ(json.at("options").at("kv_dtype"), "fp8");
  EXPECT_EQ(json.at("capacity").at("blocks_per_request"), 2560);
}

TEST_F(PlanCommand, ReplaysATraceThroughThePlannedPool) {
  const std::string trace = file(
      "trace.jsonl",
      "{\"timestamp\": 0, \"input_length\": 1024, \"output_length\": 1, \"hash_ids\": [1, 2]}\n"
      "{\"timestamp\": 1, \"input_length\": 1536, \"output_length\": 1, \"hash_ids\": [1, 2, "
      "3]}\n");
  const std::vector<std::string> args = {"plan",    "--model", llama(),     "--gpu", "h100",
                                         "--trace", trace,     "--max-len", "8192"};
  const Outcome outcome = run(args);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("Prefix cache: 40.00 % of 2,560 prompt tokens hit"), std::string::npos)
      << outcome.out;
  std::vector<std::string> machine = args;
  machine.emplace_back("--json");
  EXPECT_EQ(Json::parse(run(machine).out).at("trace").at("hit_tokens"), 1024);
}

TEST_F(PlanCommand, WithoutRoomTheAnswerIsStillPrintedAndTheCodeIsFour) {
  const Outcome outcome = run({"plan", "--model", llama(), "--gpu", "l4"});
  EXPECT_EQ(outcome.status, 4);
  EXPECT_NE(outcome.out.find("Limited by max-len"), std::string::npos);
  EXPECT_NE(outcome.err.find("12.49 GiB are missing; what would fit: --max-len 28768, or --tp 2"),
            std::string::npos)
      << outcome.err;
}

TEST_F(PlanCommand, FindsTheSmallestDeploymentOfATraceWithinItsLimits) {
  const std::string trace = std::string(OCTAVO_SOURCE_DIR) + "/traces/chat.jsonl";
  const std::vector<std::string> args = {
      "plan",  "--model",        llama(), "--gpu",          "h100", "--max-len",
      "32768", "--trace",        trace,   "--slo-ttft-ms",  "200",  "--speedup",
      "20",    "--gpu-hour-usd", "2",     "--replicas-max", "4",    "--quiet"};
  const Outcome outcome = run(args);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* part : {"Deployments: first token within 200 ms, for 99.0 % of the requests",
                           "best", "Latency against load", "<- this plan", "$/M tokens"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
  std::vector<std::string> machine = args;
  machine.emplace_back("--json");
  const Json json = Json::parse(run(machine).out);
  const Json& deployments = json.at("deployments");
  const Json& best = deployments.at("tried").at(deployments.at("best").get<std::size_t>());
  EXPECT_TRUE(best.at("meets_slo"));
  EXPECT_GE(best.at("good_share").get<double>(), 0.99);
  EXPECT_TRUE(best.at("usd_per_million_tokens").is_number());
  EXPECT_EQ(json.at("loads").size(), 8U);
  EXPECT_GT(json.at("series").at("points").size(), 10U);
  EXPECT_GT(json.at("mrc").at("points").size(), 10U);
}

TEST_F(PlanCommand, TheVerdictIsColouredOnATerminalOnly) {
  std::ostringstream out;
  std::ostringstream err;
  Context context{.out = out, .err = err, .colour = true, .run = {}};
  const std::vector<std::string> args = {"plan", "--model",   llama(), "--gpu",
                                         "h100", "--max-len", "8192"};
  run_program(args, context);
  EXPECT_NE(out.str().find("\x1b[1;32mfits\x1b[0m"), std::string::npos);
  const std::string plain = run(args).out;
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_NE(plain.find(": fits\n"), std::string::npos) << plain;
}

TEST_F(PlanCommand, ExpertsAndGpusByFigures) {
  EXPECT_EQ(run({"plan", "--model", llama(), "--gpu", "h100", "--tp", "2", "--ep", "2"}).status, 0);
  EXPECT_EQ(run({"plan", "--model", llama(), "--gpu", "h100", "--tp", "2", "--ep", "3"}).status, 2);
  const Json gpu = Json::parse(run({"plan", "--model", llama(), "--gpu-memory-gib", "60",
                                    "--gpu-tb-per-s", "2.5", "--gpu-tflops", "500", "--json"})
                                   .out)
                       .at("gpu");
  EXPECT_EQ(gpu.at("bandwidth_tb_per_s"), 2.5);
  EXPECT_EQ(gpu.at("bf16_tflops"), 500);
}

TEST_F(PlanCommand, GraphsAreSetAsideByTheEngineThatDoesSo) {
  const auto graphs = [&](const char* engine) {
    return Json::parse(
               run({"plan", "--model", llama(), "--gpu", "h100", "--engine", engine, "--json"}).out)
        .at("budget")
        .at("graph_gib");
  };
  EXPECT_GT(graphs("vllm").at("expected"), 0);
  EXPECT_LT(graphs("vllm").at("low"), graphs("vllm").at("high"));
  EXPECT_EQ(graphs("vllm-old").at("expected"), 0);
}

TEST_F(PlanCommand, TheSearchNeedsATraceThatCanBeReadAgain) {
  const Outcome none = run({"plan", "--model", llama(), "--gpu", "h100", "--slo-ttft-ms", "200"});
  EXPECT_EQ(none.status, 2);
  EXPECT_NE(none.err.find("need a workload: give --trace"), std::string::npos) << none.err;
  const Outcome pipe =
      run({"plan", "--model", llama(), "--gpu", "h100", "--slo-ttft-ms", "200", "--trace", "-"});
  EXPECT_EQ(pipe.status, 2);
}

TEST_F(PlanCommand, RequirementsSetTheExitCodeAndWaysAreNamed) {
  const std::vector<std::string> args = {"plan", "--model",   llama(), "--gpu",
                                         "h100", "--max-len", "32768"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), args.begin(), args.end());
    return run(more);
  };
  EXPECT_EQ(with({"--require", "concurrency>=12"}).status, 0);
  const Outcome missed = with({"--require", "concurrency>=12", "--require", "gpus>=2"});
  EXPECT_EQ(missed.status, 1);
  EXPECT_NE(missed.err.find("required gpus>=2, but gpus is 1.000"), std::string::npos);
  EXPECT_EQ(with({"--require", "speed>1"}).status, 2);
  const Outcome ways = with({"--want-concurrency", "14"});
  EXPECT_NE(ways.out.find("for 14 requests at once, one of"), std::string::npos) << ways.out;
  EXPECT_NE(with({"--csv"}).out.find("model,gpu,gpus"), std::string::npos);
}

TEST_F(PlanCommand, GpusAreDividedUnlessSaidOtherwise) {
  const auto plan = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"plan", "--model", llama(), "--gpu", "h100", "--json"});
    return Json::parse(run(more).out).at("options");
  };
  EXPECT_EQ(plan({"--gpus", "4"}).at("tp"), 4);
  EXPECT_EQ(plan({"--gpus", "6"}).at("tp"), 2);  // 32 heads: 3 and 6 do not divide them
  EXPECT_EQ(plan({"--gpus", "6"}).at("dp"), 3);
  EXPECT_EQ(plan({"--gpus", "8", "--pp", "2"}).at("tp"), 4);
  EXPECT_EQ(plan({"--gpus", "8", "--tp", "2"}).at("dp"), 4);
  EXPECT_EQ(run({"plan", "--model", llama(), "--gpu", "h100", "--gpus", "3", "--tp", "2"}).status,
            2);
}

TEST_F(PlanCommand, AnotherEngineSizesThePoolItsWay) {
  const Outcome outcome = run({"plan", "--model", llama(), "--kv-budget-gib", "18.69", "--max-len",
                               "40960", "--engine", "vllm-old", "--json"});
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("options").at("engine"), "vllm-old");
  EXPECT_EQ(json.at("capacity").at("blocks"), 9569);
  EXPECT_EQ(json.at("waste").back().at("cause"), "null_block");
  EXPECT_EQ(run({"plan", "--model", llama(), "--gpu", "h100", "--engine", "tgi"}).status, 2);
}

TEST_F(PlanCommand, AWrongCommandLineIsCodeTwo) {
  const std::string model = llama();
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"--gpu", "h900"},
      {"--gpu", "a100"},
      {"--gpu", "h100", "--tp", "0"},
      {"--gpu", "h100", "--tp", "3"},
      {"--gpu", "h100", "--gpu-memory-utilization", "0"},
      {"--gpu", "h100", "--gpu-memory-utilization", "-0.9"},
      {"--gpu", "h100", "--gpu-memory-utilization", "1.01"},
      {"--gpu", "h100", "--max-len", "131073"},
      {"--gpu", "h100", "--max-len", "0"},
      {"--gpu", "h100", "--block-size", "24"},
      {"--gpu", "h100", "--weights-gib", "-1"},
      {"--gpu", "h100", "--weights-gib", "nan"},
      {"--gpu", "h100", "--kv-dtype", "fp4"},
      {"--gpu-memory-gib", "0"},
  };
  for (const std::vector<std::string>& options : wrong) {
    std::vector<std::string> args = {"plan", "--model", model};
    args.insert(args.end(), options.begin(), options.end());
    const Outcome outcome = run(args);
    EXPECT_EQ(outcome.status, 2) << ::testing::PrintToString(options);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  EXPECT_NE(run({"plan", "--model", model, "--gpu", "h100", "--max-len", "131073"})
                .err.find("max_position_embeddings 131,072"),
            std::string::npos);
}

TEST_F(PlanCommand, ATraceNeedsAPoolThatKeepsPrefixes) {
  const std::string model = file("mistral.json", sim::testing::mistral().dump());
  const Outcome outcome = run({"plan", "--model", model, "--gpu", "h100", "--trace", "any.jsonl"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("keeps no prefixes"), std::string::npos);
}

TEST_F(PlanCommand, ABadFileIsCodeThree) {
  Json deepseek = sim::testing::llama();
  deepseek["model_type"] = "deepseek_v3";
  const std::vector<std::string> files = {(folder_ / "none.json").string(), folder_.string(),
                                          file("empty.json", ""), file("text.json", "no json"),
                                          file("mla.json", deepseek.dump())};
  for (const std::string& path : files) {
    for (const char* command : {"plan", "footprint"}) {
      std::vector<std::string> args = {command, "--model", path};
      if (args[0] == "plan") {
        args.insert(args.end(), {"--gpu", "h100"});
      }
      const Outcome outcome = run(args);
      EXPECT_EQ(outcome.status, 3) << command << " " << path;
      EXPECT_NE(outcome.err.find(path), std::string::npos);
      EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    }
  }
  EXPECT_EQ(run({"plan", "--model", llama(), "--gpu", "h100", "--trace", "none.jsonl"}).status, 3);
}

TEST_F(PlanCommand, AModelMayBeNamedAndTheNamesListed) {
  const Outcome list = run({"plan", "--model", "list"});
  EXPECT_EQ(list.status, 0) << list.err;
  EXPECT_NE(list.out.find("llama-3.1-70b"), std::string::npos);
  EXPECT_NE(list.out.find("327,680"), std::string::npos);
  const Json json = Json::parse(run({"plan", "--model", "list", "--json"}).out);
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_GE(json.at("models").size(), 40U);
  const Outcome named = run({"plan", "--model", "Llama-3.1-70B-Instruct", "--gpu", "h100", "--tp",
                             "4", "--max-len", "8192"});
  EXPECT_EQ(named.status, 0) << named.err;
  EXPECT_NE(named.out.find("llama-3.1-70b on"), std::string::npos) << named.out;
  const Outcome wrong = run({"plan", "--model", "llama-3.1-71b", "--gpu", "h100"});
  EXPECT_EQ(wrong.status, 3);
  EXPECT_NE(wrong.err.find("the nearest: llama-3.1-70b"), std::string::npos) << wrong.err;
  EXPECT_EQ(std::count(wrong.err.begin(), wrong.err.end(), '\n'), 1) << wrong.err;
  EXPECT_EQ(run({"footprint", "--model", "qwen3-8b"}).status, 0);
}

TEST_F(PlanCommand, FootprintPrintsClassesLayersAndUnits) {
  const Outcome outcome =
      run({"footprint", "--model", llama(), "--num-blocks", "1000", "--kv-dtype", "int8"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* part : {"paged pools (K and V)  1,048,576,000",
                           "quantization scales       "
                           "32,768,000",
                           "0-31", "one block of 16 tokens", "1,081,344", "67,584"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
  const Json json = Json::parse(
      run({"footprint", "--model", llama(), "--mode", "continuous", "--max-seqs", "2", "--json"})
          .out);
  EXPECT_EQ(json.at("bytes").at("continuous_kv"), 2 * 131072 * 131072L);
}

TEST_F(PlanCommand, FootprintThatDoesNotFitIsCodeFour) {
  EXPECT_EQ(run({"footprint", "--model", llama(), "--bytes-gib", "0.001"}).status, 4);
  EXPECT_EQ(run({"footprint", "--model", llama(), "--bytes-gib", "0"}).status, 2);
  EXPECT_EQ(run({"footprint", "--model", llama(), "--num-blocks", "0"}).status, 2);
  EXPECT_EQ(
      run({"footprint", "--model", llama(), "--num-blocks", "5", "--mode", "continuous"}).status,
      2);
}

}  // namespace
}  // namespace octavo::tools
