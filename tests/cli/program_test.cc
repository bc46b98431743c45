// The program as a user and a script meet it.
#include <algorithm>
#include <csignal>
#include <sstream>
#include <string>
#include <vector>

#include "process.h"
#include <gtest/gtest.h>

namespace octavo::cli {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

// The names in the list of subcommands on a help page.
std::vector<std::string> subcommands(const std::string& page) {
  std::vector<std::string> names;
  bool listed = false;
  for (const std::string& line : lines_of(page)) {
    if (line == "Subcommands:") {
      listed = true;
    } else if (line.empty()) {
      listed = false;
    } else if (listed && line.starts_with("  ") && line[2] != ' ') {
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
  }
  return names;
}

TEST(Program, PrintsItsHelpAndEndsWithTwoWithoutASubcommand) {
  const Finished bare = run_octavo({});
  EXPECT_EQ(bare.status, 2);
  EXPECT_EQ(bare.out, "");
  const Finished help = run_octavo({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_EQ(bare.err, help.out);
}

TEST(Program, HasTheSubcommandsOfThisVersion) {
  std::vector<std::string> names = subcommands(run_octavo({"--help"}).out);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"check", "check-events", "completion", "fit",
                                             "footprint", "man", "mrc", "plan", "predict", "replay",
                                             "report", "simulate", "trace"}));
}

TEST(Program, EveryHelpPageFitsAScreenAndShowsAnExample) {
  std::vector<std::vector<std::string>> commands{{}};
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const std::vector<std::string> command = commands[i];
    std::vector<std::string> args = command;
    args.push_back("--help");
    const Finished help = run_octavo(args);
    std::string name = "octavo";
    for (const std::string& word : command) {
      name += " " + word;
    }
    EXPECT_EQ(help.status, 0) << name;
    EXPECT_EQ(help.err, "") << name;
    const std::vector<std::string> lines = lines_of(help.out);
    EXPECT_LE(lines.size(), 40U) << name;
    for (const std::string& line : lines) {
      // An example is there to be copied, so it is not broken.
      EXPECT_LE(line.size(), line.starts_with("  octavo ") ? 100U : 80U) << name << ": " << line;
    }
    EXPECT_NE(help.out.find("Example"), std::string::npos) << name << "\n" << help.out;
    EXPECT_NE(help.out.find("\n  " + name + " "), std::string::npos)
        << "no example line of " << name << "\n"
        << help.out;
    for (const std::string& next : subcommands(help.out)) {
      std::vector<std::string> deeper = command;
      deeper.push_back(next);
      commands.push_back(deeper);
    }
  }
}

TEST(Program, ListsItsCommandsAlike) {
  bool listed = false;
  int commands = 0;
  for (const std::string& line : lines_of(run_octavo({"--help"}).out)) {
    listed = line == "Subcommands:" || (listed && !line.empty());
    if (!listed || line == "Subcommands:") {
      continue;
    }
    // One line each, and no capital that the word would not have in a sentence.
    ++commands;
    ASSERT_GT(line.size(), 28U);
    EXPECT_NE(line[2], ' ') << line;
    EXPECT_FALSE(line[26] >= 'A' && line[26] <= 'Z' && line[27] >= 'a') << line;
  }
  EXPECT_EQ(commands, 13);
}

TEST(Program, ShowsEveryOptionWithHelpAll) {
  for (const char* command : {"plan", "simulate"}) {
    const std::string few = run_octavo({command, "--help"}).out;
    const Finished all = run_octavo({command, "--help-all"});
    EXPECT_EQ(all.status, 0) << all.err;
    EXPECT_NE(few.find("--help-all"), std::string::npos) << few;
    EXPECT_EQ(few.find("--max-num-seqs"), std::string::npos) << few;
    EXPECT_NE(all.out.find("More options:"), std::string::npos) << all.out;
    EXPECT_NE(all.out.find("--max-num-seqs"), std::string::npos) << all.out;
    for (const std::string& line : lines_of(few)) {
      EXPECT_TRUE(!line.starts_with("  --") || all.out.find(line) != std::string::npos) << line;
    }
  }
  EXPECT_EQ(run_octavo({"replay", "--help-all"}).status, 2);
}

TEST(Program, SaysItsVersion) {
  const Finished line = run_octavo({"--version"});
  EXPECT_EQ(line.status, 0);
  EXPECT_TRUE(line.out.starts_with("octavo 0.1.0 (commit ")) << line.out;
  EXPECT_EQ(lines_of(line.out).size(), 1U);
  for (const auto& args :
       {std::vector<std::string>{"--version", "--json"}, {"--json", "--version"}}) {
    const Finished json = run_octavo(args);
    EXPECT_EQ(json.status, 0);
    EXPECT_TRUE(json.out.starts_with(
        R"({"schema_version":1,"program":"octavo","version":"0.1.0","commit":")"))
        << json.out;
  }
}

TEST(Program, NamesAMisspeltWordInOneLine) {
  const Finished subcommand = run_octavo({"relpay"});
  EXPECT_EQ(subcommand.status, 2);
  EXPECT_EQ(subcommand.err, "octavo: no subcommand 'relpay'; did you mean 'replay'?\n");
  const Finished option = run_octavo({"replay", "--blcoks", "5"});
  EXPECT_EQ(option.status, 2);
  EXPECT_EQ(option.err, "octavo replay: no option '--blcoks'; did you mean '--blocks'?\n");
  EXPECT_EQ(option.out, "");
}

TEST(Program, RefusesASecondSubcommand) {
  const Finished two = run_octavo({"trace", "gen", "--kind", "chat", "plan"});
  EXPECT_EQ(two.status, 2) << two.out;
  EXPECT_EQ(lines_of(two.err).size(), 1U) << two.err;
}

TEST(Program, DiesQuietlyWhenNobodyReads) {
  // The reader is gone before the first byte comes.
  const Finished piped = run_shell("{ sleep 0.1; \"$OCTAVO\" --help; echo $? >&2; } | true");
  EXPECT_EQ(piped.err, "141\n");
  // The same where the parent ignores SIGPIPE.
  const Finished ignored =
      run_shell("trap '' PIPE; { sleep 0.1; \"$OCTAVO\" --help; echo $? >&2; } | true");
  EXPECT_EQ(ignored.err, "141\n");
}

TEST(Program, SaysThatADiskIsFull) {
  const Finished full = run_shell("\"$OCTAVO\" --help >/dev/full");
  EXPECT_EQ(full.status, 70);
  EXPECT_EQ(full.err, "octavo: cannot write to stdout\n");
}

TEST(Program, DiesOfTheSignalThatInterruptsIt) {
  const Finished interrupted = run_octavo_until(SIGINT, {"trace", "info", "-"});
  EXPECT_EQ(interrupted.status, 130) << interrupted.err;
  EXPECT_EQ(interrupted.err, "");
  EXPECT_EQ(run_octavo_until(SIGTERM, {"trace", "info", "-"}).status, 143);
}

}  // namespace
}  // namespace octavo::cli
