// The densities by hand, and who has the least of them.
#include <memory>

#include "blocks/hdq_contest.h"
#include "blocks/hdq_density.h"
#include "octavo/sim/rng.h"
#include <gtest/gtest.h>

namespace octavo::blocks::hdq {
namespace {

std::array<double, kBuckets> filled(double value) {
  std::array<double, kBuckets> values{};
  values.fill(value);
  return values;
}

TEST(HdqPooling, LeavesFallingRatesAlone) {
  std::array<double, kBuckets> hits{};
  for (std::size_t b = 0; b < kBuckets; ++b) {
    hits[b] = 32.0 - 2.0 * static_cast<double>(b);
  }
  EXPECT_EQ(pool_adjacent_violators(hits, filled(1)), hits);
}

TEST(HdqPooling, PoolsNeighboursThatRiseByTheirExposure) {
  std::array<double, kBuckets> hits = filled(1);
  std::array<double, kBuckets> exposure = filled(1);
  hits[0] = 8;      // Rate 8.
  hits[1] = 2;      // Rate 2, then
  hits[2] = 12;     // rate 3 over four times the exposure:
  exposure[2] = 4;  // together 14 / 5.
  const auto rates = pool_adjacent_violators(hits, exposure);
  EXPECT_EQ(rates[0], 8);
  EXPECT_EQ(rates[1], 14.0 / 5);
  EXPECT_EQ(rates[2], 14.0 / 5);
  EXPECT_EQ(rates[3], 1);
}

TEST(HdqPooling, PoolsBackThroughWhatWasInOrderBefore) {
  std::array<double, kBuckets> hits = filled(0);
  hits[0] = 3;
  hits[1] = 2;
  hits[2] = 1;
  hits[3] = 10;  // Lifts 1, then (2 + 1 + 10) / 3 lifts 3 as well: 16 / 4.
  const auto rates = pool_adjacent_violators(hits, filled(1));
  for (std::size_t b = 0; b < 4; ++b) {
    EXPECT_EQ(rates[b], 4) << b;
  }
  EXPECT_EQ(rates[4], 0);
}

TEST(HdqPooling, RisingRatesAllBecomeTheMean) {
  std::array<double, kBuckets> hits{};
  for (std::size_t b = 0; b < kBuckets; ++b) {
    hits[b] = static_cast<double>(b);
  }
  EXPECT_EQ(pool_adjacent_violators(hits, filled(1)), filled(7));
}

// Before anything is known: m = 10 blocks, p = 10 / 100 everywhere, all classes alike.
TEST(HdqDensity, BeginsWithAgeAlone) {
  Density density;
  density.learn(*std::make_unique<Counters>());
  for (std::size_t b = 0; b < kBuckets; ++b) {
    EXPECT_DOUBLE_EQ(density.lambda()[b], 0.1 / (0.95 * static_cast<double>(bucket_width(b))));
  }
  for (std::size_t c = 0; c < kClasses; ++c) {
    EXPECT_EQ(density.rho()[c], 1);
  }
}

// Sessions of 2 blocks: m = 2, the prior weighs 20. Class a (family 0) and class b (family 1) had
// 80 blocks each in bucket 0; 38 of a's were hit and none of b's.
TEST(HdqDensity, ShrinksClassesToFamiliesAndFamiliesToOne) {
  auto counters = std::make_unique<Counters>();
  counters->sessions = 80;
  counters->session_blocks = 160;
  const ClassId a = class_of(0, 1, {0, 0});
  const ClassId sibling = class_of(0, 1, {3, 2});
  const ClassId b = class_of(1, 1, {0, 0});
  counters->enter(a, 0, 80);
  counters->enter(b, 0, 80);
  counters->hit(a, 0, 38);
  Density density;
  density.learn(*counters);

  const double p = (38 + 2) / (160.0 + 20);  // 2 / 9
  EXPECT_DOUBLE_EQ(density.lambda()[0], p / (1 - p / 2));
  const double family = (38 + 20) / (80 * p + 20);
  EXPECT_DOUBLE_EQ(density.rho()[a], (38 + 20 * family) / (80 * p + 20));
  EXPECT_DOUBLE_EQ(density.rho()[sibling], family);  // Nothing of its own: its family's.
  const double other = 20 / (80 * p + 20);
  EXPECT_DOUBLE_EQ(density.rho()[b], 20 * other / (80 * p + 20));
  EXPECT_EQ(density.rho()[class_of(2, 1, {})], 1);
  EXPECT_DOUBLE_EQ(density.at(a, 0), density.lambda()[0] * density.rho()[a]);
}

TEST(HdqDensity, NeverRisesWithAge) {
  sim::Rng rng(7);
  for (int round = 0; round < 50; ++round) {
    auto counters = std::make_unique<Counters>();
    counters->sessions = 10;
    counters->session_blocks = 1 + rng.below(1000);
    for (std::size_t b = 0; b < kBuckets; ++b) {
      for (int i = 0; i < 5; ++i) {
        const std::size_t c = rng.below(kClasses);
        counters->enter(c, b, rng.below(1000));
        counters->hit(c, b, rng.below(counters->entered(c, b) + 1));
      }
    }
    Density density;
    density.learn(*counters);
    for (std::size_t b = 1; b < kBuckets; ++b) {
      ASSERT_LE(density.lambda()[b], density.lambda()[b - 1]) << round << " " << b;
      ASSERT_GT(density.lambda()[b], 0);
    }
  }
}

TEST(HdqCounters, HalvingHalvesEverything) {
  auto counters = std::make_unique<Counters>();
  counters->hit(3, 2, 9);
  counters->enter(143, 14, 100);
  counters->sessions = 16384;
  counters->session_blocks = 7;
  counters->halve();
  EXPECT_EQ(counters->hits(3, 2), 4U);
  EXPECT_EQ(counters->entered(143, 14), 50U);
  EXPECT_EQ(counters->sessions, 8192U);
  EXPECT_EQ(counters->session_blocks, 3U);
}

TEST(HdqContest, FindsTheLeastFilledQueueLikeASearch) {
  sim::Rng rng(11);
  auto counters = std::make_unique<Counters>();
  counters->sessions = 1;
  counters->session_blocks = 1;
  Density density;
  density.learn(*counters);
  Contest contest;
  contest.set_densities(density);
  EXPECT_TRUE(contest.empty());
  std::array<std::array<bool, kBuckets>, kClasses> queue{};
  for (int round = 0; round < 3000; ++round) {
    const std::size_t c = rng.below(kClasses);
    const std::size_t b = rng.below(kBuckets);
    queue[c][b] = rng.chance(1, 4);
    contest.set(c, b, queue[c][b], density);
    if (round % 50 == 0) {
      counters->enter(c, b, 20);
      counters->hit(rng.below(kClasses), rng.below(kBuckets), 15);
      density.learn(*counters);
      contest.set_densities(density);
    }
    std::size_t best = kClasses;
    std::size_t best_bucket = 0;
    for (std::size_t i = 0; i < kClasses; ++i) {
      std::size_t bucket = kBuckets;
      while (bucket > 0 && !queue[i][bucket - 1]) {
        --bucket;
      }
      if (bucket > 0 &&
          (best == kClasses || density.at(i, bucket - 1) < density.at(best, best_bucket))) {
        best = i;
        best_bucket = bucket - 1;
      }
    }
    ASSERT_EQ(contest.empty(), best == kClasses) << round;
    if (best < kClasses) {
      ASSERT_EQ(contest.winner(), best) << round;
      ASSERT_EQ(contest.winner_bucket(), best_bucket) << round;
    }
  }
}

}  // namespace
}  // namespace octavo::blocks::hdq
