// Arrival processes and popularity: known answers, since workloads must stay what they are, and
// the distributions that they claim to be.

#include "arrivals.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "octavo/error.h"
#include "zipf.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

constexpr double kUnit = 4294967296.0;

// Regularized lower incomplete gamma function by its power series.
double gamma_cdf(double shape, double x) {
  double term = 1.0 / shape;
  double sum = term;
  for (int i = 1; i < 10'000 && term > sum * 1e-16; ++i) {
    term *= x / (shape + i);
    sum += term;
  }
  return sum * std::exp(shape * std::log(x) - x - std::lgamma(shape));
}

// The x at which `cdf` reaches p.
double quantile(const std::function<double(double)>& cdf, double p) {
  double low = 0;
  double high = 1000;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (cdf(middle) < p ? low : high) = middle;
  }
  return high;
}

double chi_square(const std::vector<std::int64_t>& counts, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double off = static_cast<double>(counts[i]) - expected[i];
    sum += off * off / expected[i];
  }
  return sum;
}

// The value that chi-square of `freedom` degrees exceeds once in 10^5 (Wilson and Hilferty, 1931).
double chi_square_limit(std::size_t freedom) {
  const double k = static_cast<double>(freedom);
  const double root = 1 - 2 / (9 * k) + 4.265 * std::sqrt(2 / (9 * k));
  return k * root * root * root;
}

struct Shape {
  std::uint64_t numerator;
  std::uint64_t denominator;
};

TEST(Gamma, HasTheMeanTheVarianceAndTheDistributionOfItsShape) {
  constexpr int kDraws = 60'000;
  constexpr std::size_t kBins = 25;
  std::uint64_t seed = 1;
  for (const Shape shape : {Shape{1, 1}, Shape{1, 2}, Shape{1, 4}, Shape{3, 4}, Shape{1, 20},
                            Shape{37, 100}, Shape{5, 2}, Shape{16, 1}, Shape{1, 100}}) {
    const double a = static_cast<double>(shape.numerator) / static_cast<double>(shape.denominator);
    const auto cdf = [a](double x) { return gamma_cdf(a, x); };
    // Bins of equal probability; those below the resolution of 2^-32 become one with the first.
    std::vector<double> edges;
    std::vector<double> expected{double{kDraws}};
    for (std::size_t i = 1; i < kBins; ++i) {
      const double edge = quantile(cdf, static_cast<double>(i) / kBins);
      if (edge > 1e-6) {
        const double above = kDraws * (1 - static_cast<double>(i) / kBins);
        edges.push_back(edge);
        expected.back() -= above;
        expected.push_back(above);
      }
    }
    ASSERT_GT(expected.size(), 3U);
    Rng rng(seed++);
    double sum = 0;
    double squares = 0;
    std::vector<std::int64_t> counts(expected.size());
    for (int i = 0; i < kDraws; ++i) {
      const double x =
          static_cast<double>(gamma_unit(rng, shape.numerator, shape.denominator)) / kUnit;
      sum += x;
      squares += (x - a) * (x - a);
      ++counts[static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), x) -
                                        edges.begin())];
    }
    const std::string name =
        std::to_string(shape.numerator) + "/" + std::to_string(shape.denominator);
    // Both within 4.5 standard errors; a fourth moment of a Gamma is (3 + 6 / a) a^2.
    EXPECT_NEAR(sum / kDraws, a, 4.5 * std::sqrt(a / kDraws)) << name;
    EXPECT_NEAR(squares / kDraws, a, 4.5 * std::sqrt((2 + 6 / a) * a * a / kDraws)) << name;
    EXPECT_LT(chi_square(counts, expected), chi_square_limit(expected.size() - 1)) << name;
  }
}

std::vector<std::int64_t> arrivals_of(const ArrivalOptions& options, int count) {
  SessionArrivals arrivals(options, Rng(7));
  std::vector<std::int64_t> times;
  for (int i = 0; i < count; ++i) {
    times.push_back(arrivals.next_ns());
  }
  return times;
}

TEST(SessionArrivals, HaveTheirRateAndTheirVariation) {
  constexpr int kCount = 50'000;
  struct Case {
    ArrivalProcess process;
    std::int64_t percent;
    double cv;
  };
  for (const Case& c :
       {Case{ArrivalProcess::Poisson, 100, 1.0}, Case{ArrivalProcess::Gamma, 25, 2.0},
        Case{ArrivalProcess::Gamma, 400, 0.5}, Case{ArrivalProcess::Gamma, 100, 1.0}}) {
    const auto times = arrivals_of(
        {.process = c.process, .rate_micro = 2'500'000, .burstiness_percent = c.percent}, kCount);
    double squares = 0;
    std::int64_t last = 0;
    constexpr double kMean = 4e8;
    for (const std::int64_t time : times) {
      ASSERT_GE(time, last);
      const double off = (static_cast<double>(time - last) - kMean) / kMean;
      squares += off * off;
      last = time;
    }
    EXPECT_NEAR(static_cast<double>(last) / kCount / kMean, 1.0, 4.5 * c.cv / std::sqrt(kCount));
    const double spread = std::sqrt((2 + 6 * c.cv * c.cv) / kCount);  // Of the variance, relative.
    EXPECT_NEAR(squares / kCount / (c.cv * c.cv), 1.0, 4.5 * spread) << c.percent;
  }
}

TEST(SessionArrivals, GammaOfShapeOneIsThePoissonProcess) {
  EXPECT_EQ(arrivals_of({.process = ArrivalProcess::Gamma, .burstiness_percent = 100}, 100),
            arrivals_of({.process = ArrivalProcess::Poisson}, 100));
}

TEST(SessionArrivals, FollowTheDay) {
  constexpr std::int64_t kDay = 86'400'000'000'000;
  constexpr int kDays = 40;
  SessionArrivals arrivals({.process = ArrivalProcess::Diurnal, .rate_micro = 20'000}, Rng(3));
  std::vector<std::int64_t> counts(24);
  for (std::int64_t time = arrivals.next_ns(); time < kDays * kDay; time = arrivals.next_ns()) {
    ++counts[static_cast<std::size_t>(time % kDay / (kDay / 24))];
  }
  std::vector<double> expected;
  for (int hour = 0; hour < 24; ++hour) {
    double swing = 0;  // Mean over the hour of the parabolas that the header names.
    for (int i = 0; i < 1000; ++i) {
      const double place = std::fmod((hour + (i + 0.5) / 1000) / 24 + 0.75, 1.0);
      const double y = std::fmod(place, 0.5) * 2;
      swing += (place < 0.5 ? 4 : -4) * y * (1 - y) / 1000;
    }
    expected.push_back(0.02 * 3600 * kDays * (1 + 0.8 * swing));
  }
  EXPECT_LT(chi_square(counts, expected), chi_square_limit(24));
  EXPECT_LT(counts[0] * 5, counts[12]);
}

TEST(SessionArrivals, TheDaySwingsAroundItsMean) {
  constexpr std::int64_t kDay = 86'400'000'000'000;
  constexpr std::int64_t kOne = std::int64_t{1} << 32;
  EXPECT_EQ(day_swing(0, kDay), -kOne);
  EXPECT_EQ(day_swing(kDay / 4, kDay), 0);
  EXPECT_EQ(day_swing(kDay / 2, kDay), kOne);
  EXPECT_EQ(day_swing(3 * kDay / 4, kDay), 0);
  EXPECT_EQ(day_swing(5 * kDay / 2, kDay), kOne);
  double sum = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const std::int64_t swing = day_swing(i * (kDay / 1000), kDay);
    EXPECT_LE(std::abs(swing), kOne);
    sum += static_cast<double>(swing) / kUnit;
  }
  EXPECT_NEAR(sum, 0, 1e-6);
}

TEST(SessionArrivals, AreTheSameNumbersEverywhere) {
  const auto digest = [](const ArrivalOptions& options) {
    std::uint64_t state = 0;
    for (const std::int64_t time : arrivals_of(options, 5000)) {
      state ^= static_cast<std::uint64_t>(time);
      state = splitmix64(state);
    }
    return state;
  };
  EXPECT_EQ(digest({.process = ArrivalProcess::Poisson, .rate_micro = 3'000'000}),
            16637100362124234757U);
  EXPECT_EQ(digest({.process = ArrivalProcess::Gamma, .burstiness_percent = 25}),
            15681355202586805680U);
  EXPECT_EQ(digest({.process = ArrivalProcess::Gamma, .burstiness_percent = 137}),
            13218504153012793658U);
  EXPECT_EQ(digest({.process = ArrivalProcess::Diurnal, .rate_micro = 100'000}),
            9888022528652495698U);
}

TEST(SessionArrivals, EndBeforeTimeDoes) {
  SessionArrivals arrivals({.rate_micro = 1}, Rng(1));
  EXPECT_THROW(
      {
        for (int i = 0; i < 100'000; ++i) {
          arrivals.next_ns();
        }
      },
      Error);
}

TEST(Zipf, WeightsArePowersOfTheRank) {
  for (const std::uint64_t permille : {0U, 1U, 500U, 730U, 1000U, 1200U, 2500U, 10000U}) {
    const double s = static_cast<double>(permille) / 1000;
    for (const std::uint64_t rank : {1U, 2U, 3U, 7U, 100U, 4096U, 1000003U}) {
      const double exact = std::pow(static_cast<double>(rank), -s) * 1099511627776.0;
      const double bound = exact * (s + 1) * std::pow(2.0, -30) + 1;
      EXPECT_NEAR(static_cast<double>(zipf_weight(rank, permille)), std::max(exact, 1.0), bound)
          << rank << " ^ -" << s;
    }
  }
  EXPECT_EQ(zipf_weight(1, 1000), std::uint64_t{1} << 40);
  EXPECT_EQ(zipf_weight(4, 1000), std::uint64_t{1} << 38);
}

TEST(Zipf, ChoosesInProportion) {
  constexpr int kDraws = 100'000;
  std::uint64_t seed = 1;
  for (const std::int64_t permille : {0, 700, 1000, 1500}) {
    constexpr std::size_t kItems = 40;
    const Zipf zipf(kItems, permille);
    std::vector<double> expected;
    for (std::size_t rank = 1; rank <= kItems; ++rank) {
      expected.push_back(
          std::pow(static_cast<double>(rank), -static_cast<double>(permille) / 1000));
    }
    const double scale = kDraws / std::accumulate(expected.begin(), expected.end(), 0.0);
    for (double& value : expected) {
      value *= scale;
    }
    Rng rng(seed++);
    std::vector<std::int64_t> counts(kItems);
    for (int i = 0; i < kDraws; ++i) {
      ++counts.at(zipf.choose(rng));
    }
    EXPECT_LT(chi_square(counts, expected), chi_square_limit(kItems - 1)) << permille;
  }
}

TEST(Zipf, WeightsAreTheSameNumbersEverywhere) {
  std::uint64_t state = 0;
  for (std::uint64_t rank = 1; rank <= 5000; ++rank) {
    state ^= zipf_weight(rank, 730) + zipf_weight(rank, 1250);
    state = splitmix64(state);
  }
  EXPECT_EQ(state, 3096366505128942857U);
}

}  // namespace
}  // namespace octavo::sim
