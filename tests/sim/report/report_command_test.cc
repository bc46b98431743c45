// `octavo report` on what the other commands print.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "configs.h"
#include "html_walker.h"
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/run_command.h"

namespace octavo::tools {
namespace {

using Args = std::vector<std::string>;

using Outcome = testing::CommandResult;

Outcome run(const Args& args) {
  return testing::run_command(args);
}

class ReportCommand : public ::testing::Test {
 protected:
  ReportCommand() {
    folder_ = std::filesystem::temp_directory_path() /
              ("octavo_report_command_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~ReportCommand() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  std::string llama() { return file("llama.json", sim::testing::llama().dump()); }

  static std::string trace() { return std::string(OCTAVO_SOURCE_DIR) + "/traces/chat.jsonl"; }

  /// What a command prints with --json, in a file.
  std::string result(const std::string& name, Args args) {
    args.push_back("--json");
    args.push_back("--quiet");
    const Outcome outcome = run(args);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return file(name, outcome.out);
  }

  std::filesystem::path folder_;
};

TEST_F(ReportCommand, ShowsWhatTheOtherCommandsPrint) {
  const Args subject{"--model", llama(), "--gpu", "h100", "--trace", trace()};
  const auto with = [](Args head, const Args& more, const Args& last) {
    head.insert(head.end(), more.begin(), more.end());
    head.insert(head.end(), last.begin(), last.end());
    return head;
  };
  const Args inputs{
      result("plan.json", with({"plan"}, subject, {"--explain"})),
      result("mrc.json", {"mrc", "--trace", trace(), "--block-size", "16", "--points", "9"}),
      result("replay.json", {"replay", "--trace", trace(), "--full-blocks-only", "--policy",
                             "lru,belady", "--blocks", "512,4096"}),
      result("slow.json", with({"simulate"}, subject, {"--limit", "60", "--blocks", "2000"})),
      result("fast.json",
             with({"simulate"}, subject, {"--limit", "60", "--blocks", "2000", "--speedup", "9"}))};
  const Outcome outcome = run(with({"report"}, inputs, {"-o", path("page.html")}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out + outcome.err, "");
  std::ifstream stream(path("page.html"));
  const std::string html{std::istreambuf_iterator<char>(stream), {}};
  const sim::testing::Page page = sim::testing::read_page(html);
  EXPECT_TRUE(page.faults.empty()) << page.faults[0];
  std::string sections;
  for (const std::size_t heading : page.find("h2")) {
    sections += page.elements[heading].text + "; ";
  }
  EXPECT_EQ(sections,
            "Capacity of llama; Hits by the size of the cache; Latency; Blocks over time; "
            "Equations of llama; ");
  EXPECT_NE(html.find("420,960"), std::string::npos);  // the tokens of that plan
  for (const std::size_t figure : page.find("figure")) {
    const int at = static_cast<int>(figure);
    EXPECT_GE(page.find("", "m", at).size(), 2U);
    EXPECT_EQ(page.find("", "m", at).size() + 1, page.find("tr", "", at).size());
  }
  // To standard output, the same bytes.
  EXPECT_EQ(run(with({"report"}, inputs, {})).out, html);
}

TEST_F(ReportCommand, EndsWithThreeForABadFile) {
  const auto expect = [](const Args& args, const std::string& message) {
    const Outcome outcome = run(args);
    EXPECT_EQ(outcome.status, 3);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "octavo report: " + message + "\n");
  };
  expect({"report", path("none.json")}, path("none.json") + ": cannot be read");
  const std::string text = file("text.json", "not a result");
  expect({"report", text}, text + ": not JSON, expected what a command printed with --json");
  const std::string other = file("other.json", R"({"schema_version":1})");
  expect({"report", other}, other +
                                ": not a result of octavo plan, mrc, replay or simulate "
                                "(write one with --json)");
  // Nothing is left of the page.
  EXPECT_EQ(run({"report", text, "-o", path("page.html")}).status, 3);
  EXPECT_FALSE(std::filesystem::exists(path("page.html")));
}

TEST_F(ReportCommand, NeedsAResult) {
  const Outcome outcome = run({"report"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("RESULT"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace octavo::tools
