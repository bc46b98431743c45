// Each rule on a text that breaks it and on its nearest neighbour that does not.
#include "rules.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace octavo::tidy {
namespace {

using Rule = Findings (*)(const Tree&);

// The findings of `rule` on one file, as "line line line".
std::string lines_found(Rule rule, std::string path, std::string_view text) {
  std::string lines;
  for (const Finding& finding : rule({make_source(std::move(path), text)})) {
    lines += lines.empty() ? "" : " ";
    lines += std::to_string(finding.line);
  }
  return lines;
}

std::string repeated(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += text;
  }
  return out;
}

TEST(BannedNames, AreFoundInCodeOnly) {
  EXPECT_EQ(lines_found(check_banned_names, "core/src/x.cc",
                        "int a = rand();\n// rand()\nf(\"rand()\");\nint operand(int);\n"),
            "1");
  EXPECT_EQ(lines_found(check_banned_names, "tests/x_test.cc",
                        "std::uniform_int_distribution<int> d(1, 6);\nstd::random_device r;\n"),
            "1 2");
  EXPECT_EQ(lines_found(check_banned_names, "sim/x.cc", "assert(x);\nstatic_assert(x);\n"), "1");
}

TEST(BannedNames, SayWhatToUse) {
  const Findings findings = check_banned_names({make_source("sim/x.cc", "y = atoi(s);\n")});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(to_string(findings[0]),
            "sim/x.cc:1: atoi( is banned: it cannot report an error; use std::from_chars");
}

TEST(BannedNames, DependOnTheFolder) {
  const std::string_view text = "auto t = std::chrono::steady_clock::now();\n";
  EXPECT_EQ(lines_found(check_banned_names, "core/src/x.cc", text), "1");
  EXPECT_EQ(lines_found(check_banned_names, "tools/src/x.cc", text), "");
  EXPECT_EQ(lines_found(check_banned_names, "sim/x.cc", "std::cout << 1;\n"), "1");
  EXPECT_EQ(lines_found(check_banned_names, "tests/x_test.cc", "n = atoi(s);\n"), "");
}

TEST(BannedNames, NeedAReasonForAnUnorderedContainer) {
  EXPECT_EQ(lines_found(check_banned_names, "core/src/x.h",
                        "#include <unordered_map>\nstd::unordered_map<int, int> m;\n"),
            "2");
  EXPECT_EQ(lines_found(check_banned_names, "sim/x.h",
                        "// Never iterated, only looked up by id.\nstd::unordered_set<int> s;\n"),
            "");
  EXPECT_EQ(lines_found(check_banned_names, "tests/x.h", "std::unordered_set<int> s;\n"), "");
}

TEST(BannedNames, LetNoClockAndNoForeignRandomnessDecide) {
  for (const std::string_view line :
       {"#include <random>", "std::mt19937 rng(1);", "std::mt19937_64 rng(1);",
        "std::default_random_engine e;", "std::gamma_distribution<> d(2);", "x = drand48();",
        "auto seed = time(nullptr);", "auto t = ::clock();",
        "auto t = std::chrono::system_clock::now();", "clock_gettime(CLOCK_MONOTONIC, &t);",
        "auto t = std::chrono::high_resolution_clock::now();", "n = std::hash<int>()(i);",
        "using Clock = std::chrono::steady_clock;"}) {
    for (const char* path : {"core/src/x.cc", "sim/cache/x.cc"}) {
      EXPECT_EQ(lines_found(check_banned_names, path, std::string(line) + "\n"), "1")
          << path << ": " << line;
    }
  }
  const std::string_view stopwatch = "clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);\n";
  EXPECT_EQ(lines_found(check_banned_names, "sim/cache/pool_replay.cc", stopwatch), "");
  EXPECT_EQ(lines_found(check_banned_names, "sim/x.cc", "next_time(3);\nint runtime(int);\n"), "");
}

TEST(UnorderedWalks, AreFoundWhereverTheContainerIsDeclared) {
  const std::string member = "std::unordered_map<int, std::vector<int>> m_;\n";
  for (const std::string_view walk :
       {"for (const auto& [key, value] : m_) {\n", "for (auto i = m_.begin(); i != e; ++i) {\n",
        "std::vector<int> v(m_.cbegin(), e);\n", "std::erase_if(m_, dead);\n",
        "for (int x :\n     m_) {\n"}) {
    EXPECT_NE(lines_found(check_unordered_walks, "sim/x.cc", member + std::string(walk)), "")
        << walk;
    const Tree tree{make_source("core/src/x.h", member),
                    make_source("core/src/x.cc", "#include \"x.h\"\n" + std::string(walk))};
    EXPECT_EQ(check_unordered_walks(tree).size(), 1U) << walk;
  }
  for (const std::string_view use :
       {"auto i = m_.find(3);\nif (i == m_.end()) {\n", "for (int x : other_m_) {\n",
        "f(a ? b : m_);\n", "for (int x : list) {\n  m_.erase(x);\n"}) {
    EXPECT_EQ(lines_found(check_unordered_walks, "sim/x.cc", member + std::string(use)), "") << use;
  }
  EXPECT_EQ(lines_found(check_unordered_walks, "tests/x.cc", member + "for (auto& x : m_) {\n"),
            "");
}

TEST(Layout, CountsColumnsNotBytes) {
  EXPECT_EQ(lines_found(check_layout, "sim/x.cc", repeated("x", 100) + "\n"), "");
  EXPECT_EQ(lines_found(check_layout, "sim/x.cc", repeated("x", 101) + "\n"), "1");
  EXPECT_EQ(lines_found(check_layout, "sim/x.cc", "//" + repeated("\u00e9", 98) + "\n"), "");
}

TEST(Layout, LetsProseAndDataBeWide) {
  EXPECT_EQ(lines_found(check_layout, "README.md", repeated("x", 120) + "\n"), "");
  EXPECT_EQ(lines_found(check_layout, "traces/expected.json", repeated("x", 120) + "\n"), "");
  EXPECT_EQ(lines_found(check_layout, "core/plan.cmake", repeated("x", 120) + "\n"), "1");
  EXPECT_EQ(lines_found(check_layout, "tools/run", repeated("x", 120) + "\n"), "1");
}

TEST(Layout, CountsTheLinesOfAFile) {
  EXPECT_EQ(lines_found(check_layout, "sim/x.cc", repeated("x;\n", 500)), "");
  EXPECT_EQ(lines_found(check_layout, "sim/x.cc", repeated("x;\n", 501)), "0");
  EXPECT_EQ(lines_found(check_layout, "README.md", repeated("x\n", 501)), "");
}

TEST(Layout, SeesBlanksTabsAndLineEnds) {
  EXPECT_EQ(lines_found(check_layout, "sim/x.cc", "a; \n"), "1");
  EXPECT_EQ(lines_found(check_layout, "sim/x.cc", "\ta;\n"), "1");
  EXPECT_EQ(lines_found(check_layout, "sim/x.cc", "a;\r\n"), "1");
  EXPECT_EQ(lines_found(check_layout, "sim/x.cc", "a;"), "0");
}

TEST(FunctionLength, IsMeasuredFromBraceToBrace) {
  const auto function = [](int inside) {
    return "int f() {\n" + repeated("x();\n", inside) + "}\n";
  };
  EXPECT_EQ(lines_found(check_function_length, "sim/x.cc", function(68)), "");
  EXPECT_EQ(lines_found(check_function_length, "sim/x.cc", function(69)), "1");
}

TEST(FunctionLength, LooksIntoNamespacesAndClasses) {
  const std::string body = " {\n" + repeated("if (a) {\n}\n", 40) + "}\n";
  EXPECT_EQ(
      lines_found(check_function_length, "sim/x.cc", "namespace a::b {\nvoid f()" + body + "}\n"),
      "2");
  EXPECT_EQ(lines_found(check_function_length, "sim/x.h",
                        "class A : public B {\n public:\n  int f(int x = 3) const" + body + "};\n"),
            "3");
  EXPECT_EQ(lines_found(check_function_length, "sim/x.cc", "A::A()\n    : a_{1}, b_(2)" + body),
            "2");
  EXPECT_EQ(lines_found(check_function_length, "tests/x.cc", "TEST(A, B)" + body), "1");
  EXPECT_EQ(lines_found(check_function_length, "sim/x.cc", "A& A::operator=(const A& a)" + body),
            "1");
  EXPECT_EQ(lines_found(check_function_length, "sim/x.cc",
                        "template <typename T = int>\nvoid f(T t)" + body),
            "2");
  EXPECT_EQ(lines_found(check_function_length, "sim/x.cc", "extern \"C\" void f(int)" + body), "1");
}

TEST(FunctionLength, LeavesTypesAndTablesAlone) {
  const std::string body = " {\n" + repeated("int a;\n", 80) + "};\n";
  EXPECT_EQ(lines_found(check_function_length, "sim/x.cc", "struct A" + body), "");
  EXPECT_EQ(lines_found(check_function_length, "sim/x.cc", "class alignas(64) A final" + body), "");
  EXPECT_EQ(lines_found(check_function_length, "sim/x.cc", "enum class A : int" + body), "");
  EXPECT_EQ(lines_found(check_function_length, "sim/x.cc", "constexpr A kTable[] =" + body), "");
  EXPECT_EQ(lines_found(check_function_length, "sim/x.cc", "#define X() \\\n  {\\\n" + body), "");
}

TEST(IncludeDirection, KeepsTheLayersApart) {
  const auto found = [](std::string path, std::string include) {
    return lines_found(check_include_direction, std::move(path), "#include " + include + "\n");
  };
  EXPECT_EQ(found("core/src/x.cc", "\"octavo/error.h\""), "");
  EXPECT_EQ(found("core/src/x.cc", "\"octavo/sim/trace.h\""), "1");
  EXPECT_EQ(found("sim/x.cc", "\"octavo/error.h\""), "");
  EXPECT_EQ(found("sim/x.cc", "\"octavo/ref_cpu/cpu_device.h\""), "1");
  EXPECT_EQ(found("ref_cpu/src/x.cc", "\"octavo/cuda/cuda_device.h\""), "1");
  EXPECT_EQ(found("cuda/src/x.cu", "\"octavo/ref_cpu/cpu_device.h\""), "1");
  EXPECT_EQ(found("tools/src/x.cc", "\"octavo/sim/trace.h\""), "");
  EXPECT_EQ(found("tests/x.cc", "\"octavo/cuda/cuda_device.h\""), "");
}

TEST(IncludeDirection, KeepsThirdPartiesInTheirPlace) {
  const auto found = [](std::string path, std::string include) {
    return lines_found(check_include_direction, std::move(path), "#include " + include + "\n");
  };
  EXPECT_EQ(found("core/src/x.cc", "<vector>"), "");
  EXPECT_EQ(found("core/src/x.cc", "<xxhash.h>"), "");
  EXPECT_EQ(found("core/src/x.cc", "<nlohmann/json.hpp>"), "1");
  EXPECT_EQ(found("sim/trace/x.cc", "<nlohmann/json.hpp>"), "");
  EXPECT_EQ(found("sim/trace/x.h", "<nlohmann/json.hpp>"), "");
  EXPECT_EQ(found("sim/include/octavo/sim/x.h", "<nlohmann/json.hpp>"), "1");
  EXPECT_EQ(found("core/src/x.h", "<emmintrin.h>"), "");
  EXPECT_EQ(found("sim/trace/x.cc", "<CLI/CLI.hpp>"), "1");
  EXPECT_EQ(found("sim/trace/x.cc", "<Eigen/Dense>"), "1");
  EXPECT_EQ(found("ref_cpu/src/x.cc", "<Eigen/Dense>"), "");
  EXPECT_EQ(found("core/src/x.cc", "\"../plan/x.h\""), "1");
  EXPECT_EQ(found("core/src/x.cc", "<octavo/error.h>"), "1");
}

TEST(Headers, OpenWithACommentAndAGuard) {
  EXPECT_EQ(lines_found(check_headers, "sim/x.h", "// What.\n#pragma once\n#include <a>\n"), "");
  EXPECT_EQ(lines_found(check_headers, "sim/x.h", "#pragma once\n"), "1");
  EXPECT_EQ(lines_found(check_headers, "sim/x.h", "// What.\n#include <a>\n#pragma once\n"), "0");
  EXPECT_EQ(lines_found(check_headers, "sim/x.h", "// What.\n#pragma once\nusing namespace a;\n"),
            "3");
  EXPECT_EQ(lines_found(check_headers, "sim/x.cc", "using namespace std::chrono_literals;\n"), "");
}

TEST(Leftovers, AreNotesAndPathsOfOneMachine) {
  // Put together here, since this file is looked at too.
  const std::string note = std::string("TO") + "DO";
  const std::string place = std::string("/ho") + "me/x";
  EXPECT_EQ(lines_found(check_leftovers, "sim/x.cc", "// " + note + ": later\n"), "1");
  EXPECT_EQ(lines_found(check_leftovers, "README.md", "(" + note + ")\n" + note + "S\n"), "1");
  EXPECT_EQ(lines_found(check_leftovers, "tools/run", "cd " + place + "\n"), "1");
  EXPECT_EQ(lines_found(check_leftovers, "tools/run", "cd ${HERE}" + place + "\n"), "");
}

TEST(Listed, EverySourceStandsInACMakeFile) {
  const auto count = [](std::string_view cmake, std::string path) {
    return check_listed(
               {make_source("core/CMakeLists.txt", cmake), make_source(std::move(path), "")})
        .size();
  };
  EXPECT_EQ(count("target_sources(x PRIVATE src/a.cc)", "core/src/a.cc"), 0U);
  EXPECT_EQ(count("target_sources(x PRIVATE src/aa.cc)", "core/src/a.cc"), 1U);
  EXPECT_EQ(count("# src/a.cc", "core/src/a.cc"), 1U);
  EXPECT_EQ(count("target_sources(x PRIVATE a.cc)", "core/src/a.cc"), 1U);
  EXPECT_EQ(count("FILES include/octavo/a.h)", "core/include/octavo/a.h"), 0U);
  EXPECT_EQ(count("", "core/include/octavo/a.h"), 1U);
  EXPECT_EQ(count("octavo_bench(a_bench)", "core/a_bench.cc"), 0U);
  EXPECT_EQ(count("octavo_bench(b_bench)", "core/a_bench.cc"), 1U);
}

TEST(Listed, APrivateHeaderIsIncludedBySomebody) {
  const Source cmake = make_source("core/CMakeLists.txt", "add_library(x src/a.cc)\n");
  const Source header = make_source("core/src/a.h", "");
  EXPECT_EQ(check_listed({cmake, header, make_source("core/src/a.cc", "")}).size(), 1U);
  EXPECT_TRUE(
      check_listed({cmake, header, make_source("core/src/a.cc", "#include \"a.h\"\n")}).empty());
}

TEST(Markdown, HasOneTitleInFront) {
  EXPECT_EQ(lines_found(check_markdown, "a.md", "# A\n\n## B\n```\n# not a title\n```\n"), "");
  EXPECT_EQ(lines_found(check_markdown, "a.md", "# A\n# B\n"), "2");
  EXPECT_EQ(lines_found(check_markdown, "a.md", "A\n"), "1");
  EXPECT_EQ(lines_found(check_markdown, "a.md", "# A\n```\n"), "0");
}

TEST(Markdown, LinksLeadToFiles) {
  const auto count = [](std::string_view link) {
    return check_markdown({make_source("core/README.md", "# A\n" + std::string(link) + "\n"),
                           make_source("core/src/plan/x.cc", ""), make_source("LICENSE", "")})
        .size();
  };
  EXPECT_EQ(count("[x](src/plan/x.cc)"), 0U);
  EXPECT_EQ(count("[x](src/plan)"), 0U);
  EXPECT_EQ(count("[x](../LICENSE)"), 0U);
  EXPECT_EQ(count("[x](#a-heading) [y](https://example.org/y)"), 0U);
  EXPECT_EQ(count("[x](src/plan/y.cc)"), 1U);
  EXPECT_EQ(count("[x](src/plan/x.cc) [y](../y)"), 1U);
}

}  // namespace
}  // namespace octavo::tidy
