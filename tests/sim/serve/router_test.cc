// Who gets a request.

#include "router.h"

#include <array>

#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

using Figures = std::vector<std::int64_t>;

TEST(Router, RoundRobinTakesTurnsWhateverTheLoad) {
  Router router(RouterKind::RoundRobin, 1, Rng(1));
  EXPECT_FALSE(router.wants_prefixes());
  for (const int expected : {0, 1, 2, 0, 1}) {
    EXPECT_EQ(router.choose(Figures{100, 5, 0}, {}), expected);
  }
}

TEST(Router, LeastLoadedTakesTheLeastAndTiesInTurn) {
  Router router(RouterKind::LeastLoaded, 1, Rng(1));
  EXPECT_EQ(router.choose(Figures{10, 5, 7}, {}), 1);
  EXPECT_EQ(router.choose(Figures{4, 9, 4}, {}), 2) << "behind the one chosen last";
  EXPECT_EQ(router.choose(Figures{4, 4, 4}, {}), 0);
  EXPECT_EQ(router.choose(Figures{4, 4, 4}, {}), 1);
}

TEST(Router, LongestPrefixWeighsWhatIsNotCachedAgainstLoad) {
  Router router(RouterKind::LongestPrefix, 2, Rng(1));
  EXPECT_TRUE(router.wants_prefixes());
  EXPECT_EQ(router.choose(Figures{100, 0}, Figures{10, 100}), 0) << "120 against 200";
  EXPECT_EQ(router.choose(Figures{200, 0}, Figures{10, 100}), 1) << "220 against 200";
}

TEST(Router, PowerOfTwoTakesTheLessLoadedOfTwoDifferentOnes) {
  Router router(RouterKind::PowerOfTwo, 1, Rng(1));
  // Of three replicas the most loaded is never the better of two; the least loaded is drawn in two
  // of three pairs. Binomial(3000, 2/3): a standard deviation of 25.8; five of them.
  std::array<int, 3> chosen{};
  for (int i = 0; i < 3000; ++i) {
    ++chosen[static_cast<std::size_t>(router.choose(Figures{3, 1, 2}, {}))];
  }
  EXPECT_EQ(chosen[0], 0);
  EXPECT_NEAR(chosen[1], 2000, 129);
  EXPECT_EQ(chosen[1] + chosen[2], 3000);
  EXPECT_EQ(Router(RouterKind::PowerOfTwo, 1, Rng(1)).choose(Figures{7}, {}), 0);
}

}  // namespace
}  // namespace octavo::sim
