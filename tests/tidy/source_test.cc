// What the rules see of a source: code without comments and without the insides of literals.
#include "source.h"

#include <string>

#include <gtest/gtest.h>

namespace octavo::tidy {
namespace {

std::string code_of(std::string_view text) {
  std::string joined;
  for (const std::string& line : make_source("core/src/x.cc", text).code) {
    joined += line + "|";
  }
  return joined;
}

TEST(Source, BlanksCommentsAndKeepsColumns) {
  EXPECT_EQ(code_of("a;  // rand(\nb;"), "a;          |b;|");
  EXPECT_EQ(code_of("a /* x */ b"), "a         b|");
  EXPECT_EQ(code_of("a /* x\ny */ b"), "a     |     b|");
  EXPECT_EQ(code_of("a /* never closed\nb"), "a                | |");
}

TEST(Source, ContinuesALineCommentBehindABackslash) {
  EXPECT_EQ(code_of("// a \\\nstill\nb"), "      |     |b|");
}

TEST(Source, BlanksTheInsidesOfLiterals) {
  EXPECT_EQ(code_of(R"(f("rand(", 'x');)"), R"(f("     ", ' ');)"
                                            "|");
  EXPECT_EQ(code_of(R"(f("a\"b", '\'');)"), R"(f("    ", '  ');)"
                                            "|");
  EXPECT_EQ(code_of(R"(f("// no comment") + 1)"), R"(f("             ") + 1)"
                                                  "|");
}

TEST(Source, BlanksRawStrings) {
  EXPECT_EQ(code_of("f(R\"(a\"b)\") + g"), "f(R       ) + g|");
  EXPECT_EQ(code_of("f(R\"x(a)\" )x\") + g"), "f(R          ) + g|");
}

TEST(Source, TakesAQuoteInANumberForASeparator) {
  EXPECT_EQ(code_of("n = 1'000'000; c = 'x';"), "n = 1'000'000; c = ' ';|");
  EXPECT_EQ(code_of("n = 0xff'ff; // x"), "n = 0xff'ff;     |");
}

TEST(Source, KeepsTheNamesOfIncludes) {
  EXPECT_EQ(code_of("#include \"octavo/error.h\"  // why"), "#include \"octavo/error.h\"|");
}

TEST(Source, KnowsItsKindByItsPath) {
  EXPECT_TRUE(make_source("core/include/octavo/x.h", "").is_header());
  EXPECT_TRUE(make_source("cuda/kernels/x.cuh", "").is_cpp());
  EXPECT_TRUE(make_source("core/plan.cmake", "").is_cmake());
  EXPECT_TRUE(make_source("CMakeLists.txt", "").is_cmake());
  EXPECT_EQ(make_source("CMakeLists.txt", "").top(), "");
  EXPECT_EQ(make_source("core/src/x.cc", "").top(), "core");
  EXPECT_EQ(make_source("tools/run", "").extension(), "");
}

TEST(Source, KnowsWhetherTheLastLineEnds) {
  EXPECT_TRUE(make_source("a.md", "x\n").ends_with_line_feed);
  EXPECT_TRUE(make_source("a.md", "").ends_with_line_feed);
  EXPECT_FALSE(make_source("a.md", "x").ends_with_line_feed);
}

}  // namespace
}  // namespace octavo::tidy
