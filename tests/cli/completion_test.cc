// Completion scripts and the manual page, made from the declarations of the commands.
#include <sstream>
#include <string>
#include <vector>

#include "process.h"
#include <gtest/gtest.h>

namespace octavo::cli {
namespace {

bool has_program(const std::string& name) {
  return run_shell("command -v " + name + " >/dev/null").status == 0;
}

// What bash offers for a line whose last word is being typed.
std::vector<std::string> completed(const std::string& line) {
  const Finished offered = run_shell(
      "exec bash -c 'source <(\"$OCTAVO\" completion bash); "
      "read -ra COMP_WORDS <<< \"$1\"; [[ $1 == *\" \" ]] && COMP_WORDS+=(\"\"); "
      "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _octavo; printf \"%s\\n\" \"${COMPREPLY[@]}\"' bash "
      "\"" +
      line + "\"");
  EXPECT_EQ(offered.status, 0) << offered.err;
  EXPECT_EQ(offered.err, "");
  std::vector<std::string> words;
  std::istringstream stream(offered.out);
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  return words;
}

using Words = std::vector<std::string>;

TEST(Completion, OffersCommandsAndOptionsInBash) {
  if (!has_program("bash")) {
    GTEST_SKIP() << "no bash on the path";
  }
  EXPECT_EQ(completed("octavo re"), (Words{"replay", "report"}));
  EXPECT_EQ(completed("octavo trace in"), (Words{"info"}));
  EXPECT_EQ(completed("octavo trace gen ch"), (Words{"chat"}));
  EXPECT_EQ(completed("octavo plan --gpu-memory-u"), (Words{"--gpu-memory-utilization"}));
  EXPECT_EQ(completed("octavo mrc --js"), (Words{"--json"}));
  EXPECT_EQ(completed("octavo --quiet plan --expl"), (Words{"--explain"}));
  // Options of one command are not those of another.
  EXPECT_EQ(completed("octavo mrc --expl"), Words{});
}

TEST(Completion, LeavesValuesToFileNames) {
  if (!has_program("bash")) {
    GTEST_SKIP() << "no bash on the path";
  }
  EXPECT_EQ(completed("octavo plan --model "), Words{});
  // A value is no command, whatever it is called.
  EXPECT_EQ(completed("octavo replay --trace mrc --expa"), (Words{"--expand-tokens"}));
}

TEST(Completion, OffersEveryCommandInEveryShell) {
  const std::string help = run_octavo({"--help"}).out;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Finished script = run_octavo({"completion", shell});
    EXPECT_EQ(script.status, 0) << script.err;
    for (const char* word : {"plan", "replay", "check-events", "completion",
                             "gpu-memory-utilization", "expand-tokens", "think-s"}) {
      EXPECT_NE(script.out.find(word), std::string::npos) << shell << " " << word;
    }
  }
  EXPECT_EQ(run_octavo({"completion", "tcsh"}).status, 2);
  EXPECT_EQ(run_octavo({"completion"}).status, 2);
}

TEST(Completion, IsWhatTheShellsCanRead) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    if (has_program(shell)) {
      const std::string name(shell);
      const Finished checked =
          run_shell("\"$OCTAVO\" completion " + name + " > script.$$; " + name +
                        " -n script.$$; status=$?; rm script.$$; exit $status",
                    "/tmp");
      EXPECT_EQ(checked.status, 0) << name << ": " << checked.err;
      EXPECT_EQ(checked.err, "") << name;
    }
  }
}

TEST(Manual, HasEveryCommandAndOption) {
  const Finished page = run_octavo({"man"});
  EXPECT_EQ(page.status, 0) << page.err;
  EXPECT_TRUE(page.out.starts_with(".TH OCTAVO 1")) << page.out.substr(0, 80);
  for (const char* part :
       {".SH NAME\n", ".SH SYNOPSIS\n", ".SS octavo plan\n", ".SS octavo trace gen chat\n",
        "\\fB\\-\\-gpu\\-memory\\-utilization\\fR", "Exit codes: 0 ok"}) {
    EXPECT_NE(page.out.find(part), std::string::npos) << part;
  }
}

TEST(Manual, GivesFlagsNoValue) {
  const std::string page = run_octavo({"man"}).out;
  EXPECT_NE(page.find("\\fB\\-\\-help\\fR\n"), std::string::npos);
  EXPECT_NE(page.find("\\fB\\-\\-explain\\fR\n"), std::string::npos);
  EXPECT_NE(page.find("\\fB\\-\\-gpus\\fR \\fI"), std::string::npos);
}

TEST(Manual, IsSetWithoutAWarning) {
  if (!has_program("groff")) {
    GTEST_SKIP() << "no groff on the path";
  }
  const Finished set = run_shell("\"$OCTAVO\" man | groff -man -Tutf8 -ww -P-cbou");
  EXPECT_EQ(set.status, 0);
  EXPECT_EQ(set.err, "");
  EXPECT_NE(set.out.find("COMMANDS"), std::string::npos);
  EXPECT_NE(set.out.find("octavo report plan.json -o plan.html"), std::string::npos);
}

}  // namespace
}  // namespace octavo::cli
