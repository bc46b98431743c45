#include "tests/cuda/compiled/ways.h"

#include <gtest/gtest.h>

#include "tests/cuda/compiled/cubin_builder.h"

namespace octavo::compiled {
namespace {

using Way = std::vector<std::size_t>;

SassCode decode_way(const SassWriter& writer) {
  std::vector<std::byte> bytes;
  for (const std::uint64_t word : writer.words) {
    for (int i = 0; i < 8; ++i) {
      bytes.push_back(static_cast<std::byte>(word >> (8 * i) & 0xFFu));
    }
  }
  return decode_sass(bytes, writer.architecture);
}

// 0 branches to 4; 1, 2 and 3 are the long side, 4 the short one; 5 branches back to 4; 6 ends.
SassCode two_sides() {
  SassWriter code;
  code.branch(3, SassWriter::kIf);
  code.add(kMultiplyAdd);
  code.add(kMultiplyAdd);
  code.branch(1);
  code.add(kMultiplyAdd);
  code.branch(-2, SassWriter::kIf);
  code.add(kExit);
  return decode_way(code);
}

TEST(ShortestWay, TakesTheShorterSide) {
  EXPECT_EQ(shortest_way(two_sides(), {}), (Way{0, 4, 5, 6}));
}

TEST(ShortestWay, TakesTheSideThatARuleAsksFor) {
  EXPECT_EQ(shortest_way(two_sides(), {.passes = {{2}}}), (Way{0, 1, 2, 3, 5, 6}));
  EXPECT_EQ(shortest_way(two_sides(), {.avoids = {4}}), (Way{0, 1, 2, 3, 5, 6}));
}

TEST(ShortestWay, RunsALoopAgainWhereARuleAsksForIt) {
  EXPECT_EQ(shortest_way(two_sides(), {.passes = {{4}, {1}}}), (Way{0, 1, 2, 3, 5, 4, 5, 6}));
}

TEST(ShortestWay, PassesAnyOneOfAList) {
  EXPECT_EQ(shortest_way(two_sides(), {.passes = {{1, 4}}}), (Way{0, 4, 5, 6}));
}

TEST(ShortestWay, LeavesOutWhatIsFree) {
  EXPECT_EQ(shortest_way(two_sides(), {.free = {1, 2, 3}}), (Way{0, 5, 6}));
}

TEST(ShortestWay, IsNothingWhereThereIsNone) {
  EXPECT_EQ(shortest_way(two_sides(), {.passes = {{2}, {}}}), std::nullopt);
  EXPECT_EQ(shortest_way(two_sides(), {.avoids = {5}}), std::nullopt);
  EXPECT_EQ(shortest_way(two_sides(), {.avoids = {0}}), std::nullopt);
  EXPECT_EQ(shortest_way({}, {}), std::nullopt);
}

TEST(ShortestWay, RefusesRulesThatItCannotFollow) {
  EXPECT_THROW(shortest_way(two_sides(), {.passes = std::vector<Way>(9, {0})}),
               std::invalid_argument);
  EXPECT_THROW(shortest_way(two_sides(), {.avoids = {7}}), std::out_of_range);
}

}  // namespace
}  // namespace octavo::compiled
