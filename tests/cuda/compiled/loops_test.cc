#include "tests/cuda/compiled/loops.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/cuda/compiled/cubin_builder.h"

namespace octavo::compiled {
namespace {

constexpr unsigned kReturn = 0x950;
constexpr unsigned kLoad = 0x981;

SassCode decode(const SassWriter& writer, const SassNotes& notes = {}) {
  std::vector<std::byte> bytes;
  for (const std::uint64_t word : writer.words) {
    for (int i = 0; i < 8; ++i) {
      bytes.push_back(static_cast<std::byte>(word >> (8 * i) & 0xFFu));
    }
  }
  return decode_sass(bytes, writer.architecture, notes);
}

class LoopsOf : public testing::TestWithParam<int> {
 protected:
  SassWriter code_{.architecture = GetParam(), .words = {}};
};

INSTANTIATE_TEST_SUITE_P(Architectures, LoopsOf, testing::Values(80, 90));

TEST_P(LoopsOf, StraightCodeHasNone) {
  code_.add(kMultiplyAdd);
  code_.branch(1);
  code_.add(kLoad);
  code_.add(kExit);
  EXPECT_TRUE(find_loops(decode(code_)).empty());
  EXPECT_TRUE(find_loops({}).empty());
}

TEST_P(LoopsOf, AJumpBackClosesALoop) {
  code_.add(kLoad);
  code_.add(kMultiplyAdd);
  code_.add(kMultiplyAdd);
  code_.branch(-3, SassWriter::kIf);
  code_.add(kExit);
  const std::vector<Loop> loops = find_loops(decode(code_));
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].header, 1u);
  EXPECT_EQ(loops[0].body, (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_EQ(loops[0].count(kMultiplyAdd & 0x1FFu), 2u);
  EXPECT_EQ(loops[0].count(kLoad & 0x1FFu), 0u);
  EXPECT_TRUE(loops[0].is_innermost);
}

TEST_P(LoopsOf, OnlyTheInnermostIsInnermost) {
  code_.add(kLoad);
  code_.add(kMultiplyAdd);
  code_.branch(-2, SassWriter::kIf);
  code_.branch(-4, SassWriter::kIf);
  code_.add(kExit);
  const std::vector<Loop> loops = find_loops(decode(code_));
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_FALSE(loops[0].is_innermost);
  EXPECT_EQ(loops[0].body.size(), 4u);
  EXPECT_TRUE(loops[1].is_innermost);
  EXPECT_EQ(loops[1].body.size(), 2u);
}

TEST_P(LoopsOf, BothSidesOfAConditionBelongToTheBody) {
  code_.branch(2, SassWriter::kIf);
  code_.add(kLoad);
  code_.branch(1);
  code_.add(kMultiplyAdd);
  code_.branch(-5, SassWriter::kIf);
  code_.add(kExit);
  const std::vector<Loop> loops = find_loops(decode(code_));
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].body.size(), 5u);
}

// The compiler moves what threads that have parted run behind the rest; from there it jumps back.
TEST_P(LoopsOf, WhatOnlyDivergedWarpsRunIsNoPartOfOne) {
  code_.add(kLoad);
  code_.diverged_branch(3);
  code_.add(kMultiplyAdd);
  code_.branch(-4, SassWriter::kIf);
  code_.add(kExit);
  code_.add(kMultiplyAdd);
  code_.branch(-5);
  const std::vector<Loop> loops = find_loops(decode(code_));
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].body, (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST_P(LoopsOf, ACycleWithTwoEntriesIsNone) {
  code_.branch(2, SassWriter::kIf);
  code_.add(kMultiplyAdd);
  code_.add(kMultiplyAdd);
  code_.add(kLoad);
  code_.branch(-4, SassWriter::kIf);
  code_.add(kExit);
  EXPECT_TRUE(find_loops(decode(code_)).empty());
}

TEST_P(LoopsOf, AJumpBackOverADeadEndClosesNone) {
  code_.branch(2);
  code_.add(kMultiplyAdd);
  code_.add(kExit);
  code_.add(kLoad);
  code_.branch(-4);
  EXPECT_TRUE(find_loops(decode(code_)).empty());
}

TEST_P(LoopsOf, APredicatedExitGoesOn) {
  code_.add(kMultiplyAdd);
  code_.add(kExit, SassWriter::kIf);
  code_.branch(-3);
  EXPECT_EQ(find_loops(decode(code_)).size(), 1u);
  SassWriter other{.architecture = GetParam(), .words = {}};
  other.add(kMultiplyAdd);
  other.add(kReturn);
  other.branch(-3);
  EXPECT_TRUE(find_loops(decode(other)).empty());
}

TEST_P(LoopsOf, ACallOfASubroutineComesBack) {
  code_.add(kMultiplyAdd);
  code_.call(2);
  code_.branch(-3, SassWriter::kIf);
  code_.add(kExit);
  code_.add(kLoad);
  code_.add(kReturn);
  const std::vector<Loop> loops =
      find_loops(decode(code_, {.indirect_targets = {}, .subroutines = {4}}));
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].body, (std::vector<std::size_t>{0, 1, 2}));
}

TEST_P(LoopsOf, ACallOfAnythingElseLeavesTheLoop) {
  code_.add(kMultiplyAdd);
  code_.call(1, SassWriter::kIf);
  code_.branch(-3);
  code_.add(kMultiplyAdd);
  code_.branch(-2, SassWriter::kIf);
  code_.add(kExit);
  const std::vector<Loop> loops = find_loops(decode(code_));
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].body, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(loops[1].body, (std::vector<std::size_t>{3, 4}));
  SassWriter jump{.architecture = GetParam(), .words = {}};
  jump.add(kMultiplyAdd);
  jump.call(1);
  jump.branch(-3);
  jump.add(kExit);
  EXPECT_TRUE(find_loops(decode(jump)).empty());
}

TEST_P(LoopsOf, FarBranchesAreFollowed) {
  code_.branch(1000);
  for (int i = 0; i < 1000; ++i) {
    code_.add(kExit);
  }
  code_.branch(-1001, SassWriter::kIf);
  code_.add(kExit);
  const SassCode code = decode(code_);
  EXPECT_EQ(code[0].targets, (std::vector<std::size_t>{1001}));
  EXPECT_EQ(code[1001].targets, (std::vector<std::size_t>{1}));
}

TEST_P(LoopsOf, BranchesOutOfTheCodeAreRefused) {
  code_.branch(1);
  EXPECT_THROW(decode(code_), std::runtime_error);
  SassWriter back{.architecture = GetParam(), .words = {}};
  back.branch(-2);
  EXPECT_THROW(decode(back), std::runtime_error);
}

TEST(OperationName, IsTheNumberWhereNoneIsKnown) {
  EXPECT_EQ(operation_name(0x023), "FFMA");
  EXPECT_EQ(operation_name(0x1FF), "0x1FF");
}

TEST_P(LoopsOf, AnIterationCanBeWithoutTheSideThatHasAnOperation) {
  constexpr unsigned kDivide = 0x302;
  code_.add(kMultiplyAdd);
  code_.branch(4, SassWriter::kIf);
  code_.add(kMultiplyAdd);  // Only on the way to the division.
  code_.branch(1, SassWriter::kIf);
  code_.add(kDivide);
  code_.add(kDivide);
  code_.add(kLoad);
  code_.branch(-8, SassWriter::kIf);
  code_.add(kExit);
  const SassCode code = decode(code_);
  const std::vector<Loop> loops = find_loops(code);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(iteration_without(code, loops[0], kDivide & 0x1FFu),
            (std::vector<std::size_t>{0, 1, 6, 7}));
  EXPECT_EQ(iteration_without(code, loops[0], 0x1FFu), loops[0].body);
  EXPECT_TRUE(iteration_without(code, loops[0], kMultiplyAdd & 0x1FFu).empty());
}

}  // namespace
}  // namespace octavo::compiled
