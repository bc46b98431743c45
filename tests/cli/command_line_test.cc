// Misspelt words, and help pages.
#include <sstream>
#include <string>
#include <vector>

#include "help_format.h"
#include "misspelt.h"
#include <gtest/gtest.h>

namespace octavo::tools {
namespace {

// A program of the same shape as ours.
class CommandLine : public ::testing::Test {
 protected:
  CommandLine() {
    app_.fallthrough();
    app_.formatter(help_formatter());
    app_.add_flag("--json", json_, "machine-readable");
    CLI::App* replay = app_.add_subcommand("replay", "replay a trace");
    replay->add_option("-t,--trace", text_, "the trace to replay")->required();
    replay->add_option("--blocks", text_, "pool sizes");
    replay->add_flag("--full", json_, std::string(40, 'x') + " " + std::string(40, 'y'));
    CLI::App* trace = app_.add_subcommand("trace", "look at traces");
    trace->add_subcommand("info", "one trace")->add_option("file", text_);
    trace->add_subcommand("gen", "make one");
  }

  // "COMMAND: MESSAGE", or "" when nothing is misspelt.
  std::string misspelt(const std::vector<std::string>& args) const {
    const auto found = find_misspelt(app_, args);
    return found ? found->command + ": " + found->message : "";
  }

  CLI::App app_{"The program.", "octavo"};
  bool json_ = false;
  std::string text_;
};

TEST_F(CommandLine, SuggestsTheNearestSubcommand) {
  EXPECT_EQ(misspelt({"relpay"}), "octavo: no subcommand 'relpay'; did you mean 'replay'?");
  EXPECT_EQ(misspelt({"trace", "inof"}),
            "octavo trace: no subcommand 'inof'; did you mean 'info'?");
}

TEST_F(CommandLine, ListsTheSubcommandsWhenNoneIsNear) {
  EXPECT_EQ(misspelt({"defragment"}),
            "octavo: no subcommand 'defragment'; there are: replay trace");
}

TEST_F(CommandLine, NamesAMisspeltOptionThoughARequiredOneIsMissing) {
  EXPECT_EQ(misspelt({"replay", "--blcoks", "5"}),
            "octavo replay: no option '--blcoks'; did you mean '--blocks'?");
  EXPECT_EQ(misspelt({"replay", "--blcoks=5"}),
            "octavo replay: no option '--blcoks'; did you mean '--blocks'?");
  EXPECT_EQ(misspelt({"replay", "--quantum"}),
            "octavo replay: no option '--quantum' (see octavo replay --help)");
}

TEST_F(CommandLine, KnowsTheProgramsOptionsBehindASubcommand) {
  EXPECT_EQ(misspelt({"replay", "--trace", "x", "--json"}), "");
  EXPECT_EQ(misspelt({"trace", "info", "x", "--jsno"}),
            "octavo trace info: no option '--jsno'; did you mean '--json'?");
}

TEST_F(CommandLine, DoesNotTakeValuesForWords) {
  EXPECT_EQ(misspelt({"replay", "--trace", "--odd-name", "--blocks", "relpay"}), "");
  EXPECT_EQ(misspelt({"replay", "-t", "--odd-name"}), "");
  EXPECT_EQ(misspelt({"--json", "replay"}), "");
  EXPECT_EQ(misspelt({"trace", "info", "relpay"}), "");
  EXPECT_EQ(misspelt({"trace", "info", "--", "--odd-name"}), "");
  EXPECT_EQ(misspelt({}), "");
}

TEST(Nearest, CountsASwapOfNeighboursAsOneEdit) {
  const std::vector<std::string> names{"plan", "replay", "--blocks"};
  EXPECT_EQ(nearest("lpan", names), "plan");  // four letters: one edit
  EXPECT_EQ(nearest("pl", names), "");
  EXPECT_EQ(nearest("reply", names), "replay");
  EXPECT_EQ(nearest("--block", names), "--blocks");
  EXPECT_EQ(nearest("--bolkcs", names), "--blocks");
  EXPECT_EQ(nearest("anything", names), "");
}

TEST_F(CommandLine, HelpIsAtMostEightyColumnsWide) {
  const std::string page = app_.get_subcommand("replay")->help("octavo");
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
  }
  EXPECT_NE(page.find("  -t,--trace TEXT         the trace to replay (required)\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("xx\n" + std::string(26, ' ') + "yy"), std::string::npos) << page;
  EXPECT_NE(page.find("Every command's options:\n  --json"), std::string::npos) << page;
}

}  // namespace
}  // namespace octavo::tools
