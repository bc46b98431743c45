// `octavo simulate`, `octavo fit` and `octavo predict` as a user meets them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
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

using Args = std::vector<std::string>;
using CsvRow = std::map<std::string, std::string>;

class SimulateCommand : public ::testing::Test {
 protected:
  SimulateCommand() {
    folder_ = std::filesystem::temp_directory_path() /
              ("octavo_simulate_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~SimulateCommand() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  std::string llama() { return file("llama.json", sim::testing::llama().dump()); }

  static std::string trace(const std::string& name) {
    return std::string(OCTAVO_SOURCE_DIR) + "/traces/" + name;
  }

  static Outcome run(const std::vector<std::string>& args) { return testing::run_command(args); }

  /// A run on an H100 that must work; JSON.
  Json simulate(Args more) {
    Args args = {"simulate", "--model", llama(), "--gpu", "h100", "--json"};
    args.insert(args.end(), more.begin(), more.end());
    const Outcome outcome = run(args);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.status == 0 ? Json::parse(outcome.out) : Json();
  }

  std::vector<CsvRow> csv(const std::string& name) const {
    std::ifstream stream(path(name));
    std::string line;
    std::getline(stream, line);
    const std::vector<std::string> titles = fields(line);
    std::vector<CsvRow> rows;
    while (std::getline(stream, line)) {
      const std::vector<std::string> values = fields(line);
      EXPECT_EQ(values.size(), titles.size()) << line;
      CsvRow row;
      for (std::size_t i = 0; i < titles.size(); ++i) {
        row[titles[i]] = values[i];
      }
      rows.push_back(row);
    }
    return rows;
  }

  static std::vector<std::string> fields(const std::string& line) {
    std::vector<std::string> result(1);
    for (const char c : line) {
      if (c == ',') {
        result.emplace_back();
      } else {
        result.back() += c;
      }
    }
    return result;
  }

  std::filesystem::path folder_;
};

std::int64_t number(const CsvRow& row, const std::string& name) {
  return std::stoll(row.at(name));
}

TEST_F(SimulateCommand, SaysTheSameInItsTableItsJsonAndItsRows) {
  const Args args = {"--trace", trace("chat.jsonl"), "--limit", "200",   "--slo-ttft-ms",
                     "12",      "--slo-tpot-ms",     "5.8",     "--csv", path("rows.csv")};
  const Json json = simulate(args);
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_EQ(json.at("requests").at("finished"), 200);
  const std::vector<CsvRow> rows = csv("rows.csv");
  ASSERT_EQ(rows.size(), 200U);
  std::int64_t good = 0;
  std::int64_t cached = 0;
  std::int64_t input = 0;
  std::vector<std::int64_t> ttft;
  for (const CsvRow& row : rows) {
    EXPECT_LE(number(row, "arrival_ns"), number(row, "scheduled_ns"));
    EXPECT_LT(number(row, "scheduled_ns"), number(row, "first_token_ns"));
    EXPECT_LE(number(row, "first_token_ns"), number(row, "end_ns"));
    input += number(row, "input_tokens");
    cached += number(row, "cached_tokens");
    ttft.push_back(number(row, "ttft_ns"));
    const std::int64_t rest = number(row, "end_ns") - number(row, "first_token_ns");
    const bool fast = rest <= 5'800'000 * (number(row, "output_tokens") - 1);
    good += ttft.back() <= 12'000'000 && fast ? 1 : 0;
  }
  EXPECT_GT(good, 0);
  EXPECT_LT(good, 200);
  EXPECT_EQ(json.at("requests").at("good"), good);
  EXPECT_EQ(json.at("tokens").at("input"), input);
  EXPECT_EQ(json.at("tokens").at("cached"), cached);
  EXPECT_GT(cached, 0);
  std::sort(ttft.begin(), ttft.end());
  const Json& times = json.at("latency_ns").at("ttft");
  EXPECT_EQ(times.at("min"), ttft.front());
  EXPECT_EQ(times.at("max"), ttft.back());
  const auto p90 = static_cast<double>(ttft[179]);
  EXPECT_NEAR(times.at("p90").get<double>(), p90, p90 / 1000);

  Args table_args = {"simulate", "--model", llama(), "--gpu", "h100"};
  table_args.insert(table_args.end(), args.begin(), args.end());
  const Outcome table = run(table_args);
  EXPECT_EQ(table.status, 0) << table.err;
  for (const char* part : {"1 replica of llama on H100 SXM", "time to first token", "good",
                           "of them cached", "parked blocks", "Note: step times are estimated"}) {
    EXPECT_NE(table.out.find(part), std::string::npos) << part << "\n" << table.out;
  }
}

TEST_F(SimulateCommand, GivesTheSameTwiceAndSomethingElseForAnotherSeed) {
  const Args args = {"--trace",       trace("agent.jsonl"),
                     "--limit",       "100",
                     "--replicas",    "3",
                     "--router",      "power-of-two",
                     "--rate",        "2",
                     "--cancel",      "0.2,1",
                     "--spec-tokens", "3",
                     "--seed",        "5"};
  const Json first = simulate(args);
  EXPECT_EQ(first, simulate(args));
  Args other = args;
  other.back() = "6";
  EXPECT_NE(first.at("final_draw"), simulate(other).at("final_draw"));
  EXPECT_GT(first.at("requests").at("cancelled"), 0);
  EXPECT_GT(first.at("tokens").at("rejected_draft"), 0);
  EXPECT_EQ(first.at("replicas").size(), 3U);
}

TEST_F(SimulateCommand, WritesATimelineThatNestsInOrder) {
  const Json json = simulate({"--trace", trace("chat.jsonl"), "--limit", "60", "--speedup", "50",
                              "--replicas", "2", "--timeline", path("timeline.json")});
  std::ifstream stream(path("timeline.json"));
  const Json timeline = Json::parse(stream);
  std::map<int, double> step_end;
  std::map<std::string, std::vector<std::string>> open;
  std::map<std::string, double> span_time;
  std::int64_t steps = 0;
  std::int64_t requests = 0;
  for (const Json& event : timeline.at("traceEvents")) {
    const std::string phase = event.at("ph");
    const double time = event.at("ts");
    if (phase == "X") {
      EXPECT_GE(time + 1e-3, step_end[event.at("pid")]);
      step_end[event.at("pid")] = time + event.at("dur").get<double>();
      ++steps;
    } else if (phase == "b" || phase == "e") {
      const std::string id = event.at("id");
      EXPECT_GE(time, span_time[id]);
      span_time[id] = time;
      if (phase == "b") {
        open[id].push_back(event.at("name"));
        requests += event.at("name") == "request" ? 1 : 0;
      } else {
        ASSERT_FALSE(open[id].empty());
        EXPECT_EQ(open[id].back(), event.at("name"));
        open[id].pop_back();
      }
    }
  }
  EXPECT_EQ(steps, json.at("steps"));
  EXPECT_EQ(requests, 60);
  for (const auto& [id, names] : open) {
    EXPECT_TRUE(names.empty()) << id;
  }
}

TEST_F(SimulateCommand, WritesTheLoadOverTime) {
  const Json json = simulate({"--trace", trace("chat.jsonl"), "--limit", "60", "--series-csv",
                              path("series.csv"), "--blocks", "5000"});
  std::int64_t steps = 0;
  for (const CsvRow& row : csv("series.csv")) {
    steps += number(row, "steps");
    for (const char* gauge : {"waiting", "running", "live_blocks", "parked_blocks"}) {
      const std::string name = gauge;
      EXPECT_LE(number(row, name + "_min"), number(row, name + "_max"));
      EXPECT_LE(std::stod(row.at(name + "_min")), std::stod(row.at(name + "_mean")) + 1e-9);
      EXPECT_LE(std::stod(row.at(name + "_mean")), std::stod(row.at(name + "_max")) + 1e-9);
    }
    EXPECT_LE(number(row, "live_blocks_max"), 5000);
  }
  EXPECT_EQ(steps, json.at("steps"));
}

TEST_F(SimulateCommand, FasterArrivalsWaitLonger) {
  const auto queued = [&](const std::string& speedup) {
    return simulate({"--trace", trace("chat.jsonl"), "--limit", "300", "--max-num-seqs", "4",
                     "--speedup", speedup})
        .at("latency_ns")
        .at("queued")
        .at("mean")
        .get<double>();
  };
  EXPECT_GT(queued("100"), queued("1"));
}

TEST_F(SimulateCommand, TakesStepTimesFromATableOrAFit) {
  const std::string steps =
      file("steps.csv",
           "prefill_tokens,decode_sequences,kv_tokens,time_us\n"
           "0,0,0,1000\n0,0,100000,2000\n0,64,0,1640\n0,64,100000,2640\n"
           "4096,0,0,42000\n4096,0,100000,43000\n4096,64,0,42640\n4096,64,100000,43640\n");
  const Args base = {"simulate", "--trace", trace("chat.jsonl"), "--limit", "30", "--blocks",
                     "8000",     "--json"};
  Args args = base;
  args.insert(args.end(), {"--cost", steps});
  const Outcome table = run(args);
  ASSERT_EQ(table.status, 0) << table.err;
  const Outcome fit = run({"fit", "--steps", steps, "--json"});
  ASSERT_EQ(fit.status, 0) << fit.err;
  const Json fitted = Json::parse(fit.out);
  EXPECT_GT(fitted.at("fit").at("r2"), 0.9999);
  EXPECT_EQ(fitted.at("coefficients_fs").at("kv_token"), 10'000'000);  // 1,000 us of 100,000
  args.back() = file("cost.json", fit.out);
  const Outcome linear = run(args);
  ASSERT_EQ(linear.status, 0) << linear.err;
  // The steps were made by a line, so that both give nearly the same times.
  const double by_table = Json::parse(table.out).at("latency_ns").at("end_to_end").at("mean");
  const double by_fit = Json::parse(linear.out).at("latency_ns").at("end_to_end").at("mean");
  EXPECT_NEAR(by_table, by_fit, by_table / 100);
  EXPECT_NE(run({"fit", "--steps", steps}).out.find("a cached token read"), std::string::npos);
}

TEST_F(SimulateCommand, RefusesWhatDoesNotFit) {
  const Outcome outcome =
      run({"simulate", "--trace", trace("chat.jsonl"), "--model", llama(), "--gpu", "l4"});
  EXPECT_EQ(outcome.status, 4);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err.starts_with("octavo simulate: ")) << outcome.err;
  EXPECT_NE(outcome.err.find("--max-len"), std::string::npos) << outcome.err;
}

TEST_F(SimulateCommand, AsksForWhatItNeeds) {
  const std::string chat = trace("chat.jsonl");
  EXPECT_EQ(run({"simulate", "--trace", chat}).status, 2);
  EXPECT_EQ(run({"simulate", "--trace", chat, "--model", llama()}).status, 2);
  EXPECT_EQ(run({"simulate", "--trace", chat, "--model", llama(), "--blocks", "100"}).status, 2);
  EXPECT_EQ(run({"simulate", "--trace", chat, "--model", llama(), "--gpu", "h100", "--policy", "x"})
                .status,
            2);
  EXPECT_EQ(run({"simulate", "--trace", chat, "--model", llama(), "--gpu", "h100", "--rate", "1",
                 "--speedup", "2"})
                .status,
            2);
  EXPECT_EQ(
      run({"simulate", "--trace", path("none.jsonl"), "--model", llama(), "--gpu", "h100"}).status,
      3);
  EXPECT_EQ(run({"simulate", "--trace", chat, "--model", llama(), "--gpu", "h100", "--cost",
                 file("bad.csv", "prefill_tokens\n1\n")})
                .status,
            3);
  EXPECT_EQ(run({"simulate", "--trace", chat, "--model", llama(), "--gpu", "h100", "--csv",
                 path("no/folder.csv")})
                .status,
            2);
}

TEST_F(SimulateCommand, PredictComparesALogWithItsRecord) {
  const auto row = [](int received, int cached, const std::string& ids, int input) {
    return R"({"schema":"dynamo.request.trace.v1","event_type":"request_end","request":{)"
           R"("request_received_ms":)" +
           std::to_string(received) + R"(,"input_tokens":)" + std::to_string(input) +
           R"(,"output_tokens":1,"cached_tokens":)" + std::to_string(cached) +
           R"(,"prefill_wait_time_ms":1,"ttft_ms":2,"total_time_ms":3,"worker":)"
           R"({"prefill_worker_id":1},"replay":{"trace_block_size":16,)"
           R"("input_sequence_hashes":)" +
           ids + "}}}\n";
  };
  const std::string good = file("good.jsonl", row(0, 0, "[1,2]", 32) + row(10, 32, "[1,2,3]", 40));
  const Outcome json = run({"predict", "--trace", good, "--json"});
  EXPECT_EQ(json.status, 0) << json.err;
  EXPECT_EQ(Json::parse(json.out).at("rows").at(1).at("predicted"), 32);
  EXPECT_EQ(Json::parse(json.out).at("equal_requests"), 2);
  const Outcome table = run({"predict", "--trace", good});
  EXPECT_NE(table.out.find("2 equal"), std::string::npos) << table.out;
  const Outcome bad = run({"predict", "--trace", file("bad.jsonl", row(0, 16, "[1,2]", 32))});
  EXPECT_EQ(bad.status, 1) << bad.out;
  EXPECT_NE(bad.out.find("1 unexplained"), std::string::npos) << bad.out;
  EXPECT_EQ(run({"predict", "--trace", file("not.jsonl", "{}\n")}).status, 3);
}

}  // namespace
}  // namespace octavo::tools
