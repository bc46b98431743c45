// HDQ in cases of a few blocks, worked out by hand, and its digest.
#include <numeric>

#include "dense_cache.h"
#include "octavo/sim/rng.h"
#include <gtest/gtest.h>

namespace octavo::testing {
namespace {

using Ids = std::vector<std::int32_t>;

Ids range(std::int32_t from, std::int32_t count) {
  Ids ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), from);
  return ids;
}

Ids join(Ids head, const Ids& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

std::int64_t serve(DenseCache& cache, const Ids& ids, std::int64_t output = 0) {
  return cache.serve(ids, std::ssize(ids), output);
}

TEST(Hdq, IsPlainLruWhileThereIsNothingToWin) {
  DenseCache cache(6, 512);
  serve(cache, {0, 1, 2});
  serve(cache, {10, 11});
  EXPECT_EQ(serve(cache, {0, 1, 2}), 3);
  EXPECT_FALSE(cache.hdq().guard().leads());
  serve(cache, {20, 21, 22});  // Takes the free one, and 11 and 10.
  EXPECT_FALSE(cache.resident(10));
  EXPECT_TRUE(cache.resident(2));
  serve(cache, {30});  // And 2, the deepest of the oldest.
  EXPECT_FALSE(cache.resident(2));
  EXPECT_TRUE(cache.resident(1));
  cache.hdq().audit();
}

TEST(Hdq, CountsWhatLruWouldHaveHit) {
  DenseCache cache(4, 512);
  serve(cache, {0, 1, 2});
  serve(cache, {10, 11});   // LRU: 0 1 10 11.
  serve(cache, {0, 1, 2});  // Two hits; then 0 1 2 and 10.
  EXPECT_EQ(cache.hdq().lru_hits(), 2);
  serve(cache, {10, 11});  // One; then 10 11 and 0 1.
  EXPECT_EQ(cache.hdq().lru_hits(), 3);
  serve(cache, {0, 1, 2});
  EXPECT_EQ(cache.hdq().lru_hits(), 5);
}

// A stream that never comes back, and every fourth session the first third of a circle too large
// for LRU.
TEST(Hdq, KeepsWhatComesBackFromWhatDoesNot) {
  DenseCache cache(60, 512);
  std::int32_t fresh = 1000;
  std::int64_t late_hits = 0;
  std::int64_t late_lru = 0;
  for (int i = 0; i < 4000; ++i) {
    if (i == 2000) {
      late_hits = -cache.hdq().hits();
      late_lru = -cache.hdq().lru_hits();
    }
    if (i % 4 == 0) {
      serve(cache, range(i / 4 % 10 * 4, 4), 10);
    } else {
      serve(cache, range(fresh, 4), 200);
      fresh += 4;
    }
  }
  late_hits += cache.hdq().hits();
  late_lru += cache.hdq().lru_hits();
  EXPECT_EQ(late_lru, 0);
  EXPECT_GT(late_hits, 1900);  // Of 2000.
  EXPECT_TRUE(cache.hdq().guard().leads());
  cache.hdq().audit();
}

// A block is never given up before what continues it, however little its class promises: the
// shared head has the class of one-timers, its continuation that of what always comes back.
TEST(Hdq, SetsAsideWhatStillCarriesABlock) {
  DenseCache cache(30, 512);
  sim::Rng rng(5);
  const Ids trunk = range(0, 3);
  for (int i = 0; i < 3000; ++i) {
    const auto branch = static_cast<std::int32_t>(10 + 5 * rng.below(40));
    Ids ids = join(trunk, range(branch, static_cast<std::int32_t>(1 + rng.below(5))));
    if (rng.chance(1, 3)) {
      ids = range(1000 + 8 * i, 8);
    }
    serve(cache, ids, static_cast<std::int64_t>(rng.below(200)));  // Throws for a bad victim.
    if (i % 100 == 0) {
      cache.hdq().audit();
    }
  }
}

TEST(Hdq, RemembersSeventeenCapacitiesAndNotMore) {
  DenseCache cache(10, 512);
  for (std::int32_t i = 0; i < 300; ++i) {
    serve(cache, range(2 * i, 2));
    EXPECT_EQ(cache.hdq().known().count(), std::min(2 * (i + 1), 170));
    cache.hdq().audit();
  }
  EXPECT_TRUE(cache.known(range(598, 2)));
  EXPECT_TRUE(cache.known(range(430, 2)));
  EXPECT_FALSE(cache.known(range(428, 2)));
  EXPECT_TRUE(cache.known(range(430, 1)));
  EXPECT_FALSE(cache.known(range(428, 1)));
}

// Two thousand sessions of a fixed workload: whoever changes a decision changes this number, and no
// compiler or optimisation may.
TEST(Hdq, DecidesTheSameInEveryBuild) {
  DenseCache cache(40, 512);
  sim::Rng rng(1);
  std::vector<Ids> past(1);
  std::int32_t fresh = 0;
  for (int i = 0; i < 2000; ++i) {
    Ids ids = past[rng.below(past.size())];
    ids.resize(rng.below(ids.size() + 1));
    for (std::uint64_t n = rng.below(8); n > 0; --n) {
      ids.push_back(fresh++);
    }
    serve(cache, ids, static_cast<std::int64_t>(rng.below(300)));
    past.push_back(ids);
    if (past.size() > 150) {
      past.erase(past.begin() + static_cast<std::ptrdiff_t>(rng.below(past.size())));
    }
  }
  cache.hdq().audit();
  EXPECT_TRUE(cache.hdq().guard().leads());
  EXPECT_EQ(cache.hdq().digest(), 15881791668530556442U);
}

}  // namespace
}  // namespace octavo::testing
