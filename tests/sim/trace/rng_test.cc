// The random numbers: known answers, since workloads must stay what they are, and distributions.

#include "octavo/sim/rng.h"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

TEST(Rng, SplitMix64GivesThePublishedSequence) {
  std::uint64_t state = 1234567;
  const std::array<std::uint64_t, 5> expected{6457827717110365317U, 3203168211198807973U,
                                              9817491932198370423U, 4593380528125082431U,
                                              16408922859458223821U};
  for (const std::uint64_t value : expected) {
    EXPECT_EQ(splitmix64(state), value);
  }
}

TEST(Rng, XoshiroGivesThePublishedSequence) {
  Rng rng(std::array<std::uint64_t, 4>{1, 2, 3, 4});
  const std::array<std::uint64_t, 6> expected{
      11520U, 0U, 1509978240U, 1215971899390074240U, 1216172134540287360U, 607988272756665600U};
  for (const std::uint64_t value : expected) {
    EXPECT_EQ(rng.next(), value);
  }
}

TEST(Rng, BelowStaysBelowAndReachesEveryValue) {
  Rng rng(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) {
    ++counts.at(rng.below(7));
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, 10'000, 500);
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(rng.below(1), 0U);
  }
}

TEST(Rng, BelowIsUniformForBoundsThatNearlyFill64Bits) {
  // Without drawing again, the lower third would come up twice as often as each other one.
  const std::uint64_t bound = 0xC000000000000000U;
  Rng rng(2);
  int lower_third = 0;
  for (int i = 0; i < 30'000; ++i) {
    const std::uint64_t value = rng.below(bound);
    ASSERT_LT(value, bound);
    lower_third += value < bound / 3 ? 1 : 0;
  }
  EXPECT_NEAR(lower_third, 10'000, 400);
}

TEST(Rng, BetweenIncludesBothEnds) {
  Rng rng(3);
  std::array<int, 5> counts{};
  for (int i = 0; i < 1'000; ++i) {
    ++counts.at(static_cast<std::size_t>(rng.between(-2, 2) + 2));
  }
  EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 100);
}

TEST(Rng, WeightedFollowsItsWeights) {
  Rng rng(4);
  const std::array<std::uint32_t, 4> weights{3, 0, 1, 6};
  std::array<int, 4> counts{};
  for (int i = 0; i < 100'000; ++i) {
    ++counts.at(rng.weighted(weights));
  }
  EXPECT_NEAR(counts[0], 30'000, 900);
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[2], 10'000, 900);
  EXPECT_NEAR(counts[3], 60'000, 900);
}

TEST(Rng, OctavesStayInTheirOctave) {
  Rng rng(5);
  const std::array<std::uint32_t, 3> weights{1, 0, 1};
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t value = rng.octaves(10, weights);
    EXPECT_TRUE((value >= 10 && value < 20) || (value >= 40 && value < 80)) << value;
  }
}

TEST(Rng, ExponentialHasItsMeanAndItsTail) {
  Rng rng(6);
  constexpr std::int64_t kMean = 30'000'000'000;
  constexpr int kDraws = 200'000;
  double sum = 0;
  int above_one_mean = 0;
  int above_three_means = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::int64_t value = rng.exponential(kMean);
    ASSERT_GE(value, 0);
    sum += static_cast<double>(value);
    above_one_mean += value > kMean ? 1 : 0;
    above_three_means += value > 3 * kMean ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDraws / kMean, 1.0, 0.01);
  EXPECT_NEAR(above_one_mean / double{kDraws}, 0.36788, 0.004);
  EXPECT_NEAR(above_three_means / double{kDraws}, 0.04979, 0.002);
}

TEST(Rng, ForksAreIndependentOfTheirParent) {
  Rng parent(8);
  Rng child = parent.fork();
  EXPECT_NE(parent.next(), child.next());
  Rng again(8);
  Rng same_child = again.fork();
  EXPECT_EQ(parent.next(), (again.next(), again.next()));
  same_child.next();
  EXPECT_EQ(child.next(), same_child.next());
}

}  // namespace
}  // namespace octavo::sim
