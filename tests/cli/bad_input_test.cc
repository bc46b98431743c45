// Files and command lines that cannot be: each is one line on stderr, nothing on stdout, and the
// exit code that says which of the two was wrong.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "process.h"
#include <gtest/gtest.h>
#include <unistd.h>

namespace octavo::cli {
namespace {

constexpr char kHeader[] = "{\"octavo_trace\":1,\"block_size\":64}\n";
constexpr char kGood[] =
    "{\"time_ns\":0,\"input_tokens\":100,\"output_tokens\":1,\"block_ids\":[1,2]}\n";

class BadInput : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("octavo_bad_input_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  // Runs octavo in the folder; expects `status` and one line that begins with `start` and holds
  // each of `words`.
  void expect_refused(const std::vector<std::string>& args,
                      int status,
                      const std::string& start,
                      const std::vector<std::string>& words = {}) const {
    const Finished finished = run_octavo(args, folder_.string());
    std::string line = "octavo";
    for (const std::string& arg : args) {
      line += " " + arg;
    }
    EXPECT_EQ(finished.status, status) << line << "\n" << finished.err;
    EXPECT_EQ(finished.out, "") << line;
    EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << line << "\n"
                                                                             << finished.err;
    EXPECT_TRUE(finished.err.starts_with(start)) << line << "\n" << finished.err;
    for (const std::string& word : words) {
      EXPECT_NE(finished.err.find(word), std::string::npos)
          << line << "\nshould say " << word << "\n"
          << finished.err;
    }
  }

  // The same for a trace file, through each command that reads one.
  void expect_bad_trace(const std::string& file, const std::vector<std::string>& words) const {
    expect_refused({"trace", "info", file}, 3, "octavo trace info: " + file, words);
    expect_refused({"replay", "--trace", file, "--blocks", "8"}, 3, "octavo replay: " + file,
                   words);
  }

  std::filesystem::path folder_;
};

TEST_F(BadInput, TracesNameFileLineAndField) {
  write("empty.jsonl", "");
  expect_bad_trace("empty.jsonl", {"empty"});
  write("truncated.jsonl", std::string(kHeader) + kGood + "{\"time_ns\":5,\"input_tok");
  expect_bad_trace("truncated.jsonl", {"truncated.jsonl:3"});
  write("missing.jsonl", std::string(kHeader) + "{\"time_ns\":0,\"block_ids\":[1]}\n");
  expect_bad_trace("missing.jsonl", {"missing.jsonl:2", "input_tokens"});
  write("range.jsonl", std::string(kHeader) +
                           "{\"time_ns\":0,\"input_tokens\":99999999999999999999,"
                           "\"output_tokens\":1,\"block_ids\":[1]}\n");
  expect_bad_trace("range.jsonl", {"range.jsonl:2", "input_tokens", "99999999999999999999"});
  write("negative.jsonl", std::string(kHeader) +
                              "{\"time_ns\":-1,\"input_tokens\":1,\"output_tokens\":1,"
                              "\"block_ids\":[1]}\n");
  expect_bad_trace("negative.jsonl", {"negative.jsonl:2", "time_ns", "-1"});
  write("prose.jsonl", "Dear reader\n");
  expect_bad_trace("prose.jsonl", {});
  write("binary.jsonl", std::string("\0\1\2\377\n", 5));
  expect_bad_trace("binary.jsonl", {});
  expect_bad_trace("absent.jsonl", {"No such file"});
  std::filesystem::create_directory(folder_ / "folder");
  expect_bad_trace("folder", {"director"});
}

TEST_F(BadInput, ModelsNameTheFile) {
  const auto expect_bad_model = [&](const std::string& file,
                                    const std::vector<std::string>& words) {
    expect_refused({"plan", "--model", file, "--gpu-memory-gib", "80"}, 3, "octavo plan: " + file,
                   words);
    expect_refused({"footprint", "--model", file}, 3, "octavo footprint: " + file, words);
  };
  write("prose.json", "Dear reader\n");
  expect_bad_model("prose.json", {});
  write("empty.json", "");
  expect_bad_model("empty.json", {});
  write("list.json", "[1]\n");
  expect_bad_model("list.json", {});
  write("nothing.json", "{}\n");
  expect_bad_model("nothing.json", {});
  expect_bad_model("absent.json", {});
  std::filesystem::create_directory(folder_ / "folder");
  expect_bad_model("folder", {"folder without a config.json"});
}

TEST_F(BadInput, OptionsNameTheValueAndItsRange) {
  write("good.jsonl", std::string(kHeader) + kGood);
  const auto replay = [](const std::vector<std::string>& more) {
    std::vector<std::string> args{"replay", "--trace", "good.jsonl"};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  };
  expect_refused(replay({"--blocks", "0"}), 2,
                 "octavo replay: --blocks: 0 is outside [1, 2147483647]");
  expect_refused(replay({"--blocks", "8,-1"}), 2,
                 "octavo replay: --blocks: -1 is outside [1, 2147483647]");
  expect_refused(replay({"--blocks", "many"}), 2, "octavo replay: --blocks: 'many'");
  expect_refused(replay({"--blocks", "8", "--block-size", "0"}), 2,
                 "octavo replay: --block-size: 0 is outside [1, ");
  expect_refused(replay({"--blocks"}), 2, "octavo replay: --blocks");
  expect_refused(replay({}), 2, "octavo replay: --blocks is required");
  expect_refused(replay({"--blocks", "8", "extra"}), 2, "octavo replay: ", {"extra"});
  expect_refused({"plan", "--model", "x", "--tp", "0"}, 2, "octavo plan: --tp: 0 is outside [1, ");
  expect_refused({"trace"}, 2, "octavo trace: a subcommand is required");
}

TEST_F(BadInput, TheGoodTraceIsGood) {
  // Else the cases above might be refused for some other reason.
  write("good.jsonl", std::string(kHeader) + kGood);
  const Finished info = run_octavo({"trace", "info", "good.jsonl"}, folder_.string());
  EXPECT_EQ(info.status, 0) << info.err;
  const Finished replay =
      run_octavo({"replay", "--trace", "good.jsonl", "--blocks", "8"}, folder_.string());
  EXPECT_EQ(replay.status, 0) << replay.err;
}

}  // namespace
}  // namespace octavo::cli
