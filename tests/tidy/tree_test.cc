// The rules of the house, over the checkout that this test was built from.
#include "rules.h"
#include <gtest/gtest.h>

namespace octavo::tidy {
namespace {

const Tree& checkout() {
  static const Tree kTree = load_tree(OCTAVO_SOURCE_DIR);
  return kTree;
}

void expect_none(const Findings& findings) {
  for (const Finding& finding : findings) {
    ADD_FAILURE() << to_string(finding);
  }
}

TEST(Checkout, IsReadWhole) {
  // A wrong path or a wrong list of folders would make every other test here pass on nothing.
  bool has_core = false;
  bool has_rules = false;
  for (const Source& source : checkout()) {
    has_core = has_core || source.path == "core/include/octavo/error.h";
    has_rules = has_rules || source.path == "tests/tidy/tree_test.cc";
    EXPECT_FALSE(source.path.starts_with("build")) << source.path;
  }
  EXPECT_TRUE(has_core);
  EXPECT_TRUE(has_rules);
}

TEST(Checkout, UsesNoBannedNames) {
  expect_none(check_banned_names(checkout()));
}
TEST(Checkout, WalksNoUnorderedContainer) {
  expect_none(check_unordered_walks(checkout()));
}
TEST(Checkout, KeepsTheLayoutOfFilesAndLines) {
  expect_none(check_layout(checkout()));
}
TEST(Checkout, KeepsFunctionsShort) {
  expect_none(check_function_length(checkout()));
}
TEST(Checkout, KeepsTheDirectionOfIncludes) {
  expect_none(check_include_direction(checkout()));
}
TEST(Checkout, OpensHeadersWithACommentAndAGuard) {
  expect_none(check_headers(checkout()));
}
TEST(Checkout, LeavesNothingForLater) {
  expect_none(check_leftovers(checkout()));
}
TEST(Checkout, ListsEveryFileInCMake) {
  expect_none(check_listed(checkout()));
}
TEST(Checkout, HasOneTitleAMarkdownFileAndLinksThatLead) {
  expect_none(check_markdown(checkout()));
}

}  // namespace
}  // namespace octavo::tidy
