// The gate and the guard, by hand. Capacity 1000: the balance is full at 100, and 20 behind is too
// much.
#include "blocks/hdq_guard.h"
#include <gtest/gtest.h>

namespace octavo::blocks::hdq {
namespace {

Guard open_guard() {
  Guard guard(1000);
  guard.touched(0, 0, 1000);  // Much that LRU missed, once and for all.
  return guard;
}

TEST(HdqGate, IsShutUntilThereIsSomethingToWin) {
  Guard guard(1000);
  EXPECT_FALSE(guard.leads());
  guard.touched(0, 0, 0);
  EXPECT_FALSE(guard.leads());
  guard.touched(100, 100, 108);  // 8 of 100: not more than 8 %.
  EXPECT_FALSE(guard.leads());
  guard.touched(0, 0, 1);
  EXPECT_TRUE(guard.leads());
  guard.touched(100, 100, 100);  // 9 of 200.
  EXPECT_FALSE(guard.leads());
}

TEST(HdqGate, ForgetsByHalfInEightCapacities) {
  Guard guard(1000);
  guard.touched(0, 0, 80);
  for (int i = 0; i < 8; ++i) {
    guard.allocated(1000);
  }
  guard.touched(499, 499, 499);  // 40 are left of the 80: just above 8 % of 499,
  EXPECT_TRUE(guard.open());
  guard.touched(3, 3, 3);  // and just below 8 % of 502.
  EXPECT_FALSE(guard.open());
}

TEST(HdqGate, HowAllocationsAreSplitChangesNothing) {
  Guard once(1000);
  Guard often(1000);
  once.touched(5, 5, 500);
  often.touched(5, 5, 500);
  once.allocated(777);
  for (int i = 0; i < 777; ++i) {
    often.allocated(1);
  }
  EXPECT_EQ(once.digest(), often.digest());
}

TEST(HdqGuard, HandsOverToLruTwoPercentBehindAndTakesBackAfterOneCapacity) {
  Guard guard = open_guard();
  guard.touched(0, 20, 20);
  EXPECT_EQ(guard.balance(), -20);
  EXPECT_TRUE(guard.leads());  // 2 % are allowed,
  guard.touched(0, 1, 1);
  EXPECT_FALSE(guard.leads());  // 2.1 % are not.
  EXPECT_EQ(guard.lru_for(), 1000);
  guard.touched(0, 50, 50);  // LRU's time is not counted.
  EXPECT_EQ(guard.balance(), -21);
  guard.allocated(999);
  EXPECT_FALSE(guard.leads());
  guard.allocated(1);
  EXPECT_EQ(guard.balance(), 0);
  guard.touched(0, 0, 1000);
  EXPECT_TRUE(guard.leads());
}

TEST(HdqGuard, StaysWithLruTwiceAsLongEachTimeUpToSixteenCapacities) {
  Guard guard = open_guard();
  for (const std::int64_t capacities : {1, 2, 4, 8, 16, 16}) {
    guard.touched(0, 21, 1000);
    EXPECT_EQ(guard.lru_for(), capacities * 1000);
    guard.allocated(capacities * 1000);
    guard.touched(0, 0, 1000);
    EXPECT_TRUE(guard.leads());
  }
}

TEST(HdqGuard, TheBalanceIsBoundedAndAFullOneForgives) {
  Guard guard = open_guard();
  guard.touched(0, 21, 21);
  guard.allocated(1000);
  EXPECT_EQ(guard.stay(), 2);
  guard.touched(99, 0, 1000);
  EXPECT_EQ(guard.stay(), 2);
  guard.touched(500, 0, 1000);
  EXPECT_EQ(guard.balance(), 100);
  EXPECT_EQ(guard.stay(), 1);
  guard.touched(0, 120, 120);  // 100 ahead, then 20 behind.
  EXPECT_TRUE(guard.leads());
  guard.touched(0, 1, 1);
  EXPECT_FALSE(guard.leads());
}

TEST(HdqGuard, SumsOfAgesWithoutAllocationsDoNotOverflow) {
  Guard guard(1000);
  for (int i = 0; i < 200; ++i) {
    guard.touched(0, std::int64_t{1} << 34, std::int64_t{1} << 35);
    EXPECT_TRUE(guard.open());
  }
}

}  // namespace
}  // namespace octavo::blocks::hdq
