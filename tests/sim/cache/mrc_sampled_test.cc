// The sampled curve: near the exact one, and right about how near.

#include <algorithm>
#include <cmath>
#include <string>

#include "octavo/error.h"
#include "octavo/sim/mrc.h"
#include "octavo/sim/trace_generate.h"
#include "random_trace.h"
#include "recorded_trace.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

constexpr int kSeeds = 12;
constexpr int kSizes = 12;

struct Coverage {
  int points = 0;
  int covered = 0;
  double worst = 0;   // The largest difference to the exact hit rate,
  double mean = 0;    // and the mean one.
  double stated = 0;  // The mean stated error.
};

Coverage measure(LoadedTrace& trace, std::int64_t block_size, double rate) {
  trace.rewind();
  const Mrc exact = compute_mrc(trace, {block_size, {}, 0});
  Coverage coverage;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    SampledMrcOptions options;
    options.block_size = block_size;
    options.rate = rate;
    options.seed = static_cast<std::uint64_t>(seed);
    trace.rewind();
    const SampledMrc sampled = compute_sampled_mrc(trace, options);
    for (const std::int64_t blocks : exact.spread_sizes(kSizes)) {
      const SampledPoint point = sampled.at(blocks);
      const double difference = std::abs(point.hit_rate - exact.at(blocks).hit_rate());
      ++coverage.points;
      coverage.covered += difference <= point.error ? 1 : 0;
      coverage.worst = std::max(coverage.worst, difference);
      coverage.mean += difference;
      coverage.stated += point.error;
    }
  }
  coverage.mean /= coverage.points;
  coverage.stated /= coverage.points;
  return coverage;
}

void expect_covered(LoadedTrace& trace,
                    const std::string& name,
                    std::int64_t block_size,
                    double rate) {
  const Coverage coverage = measure(trace, block_size, rate);
  const std::string text =
      name + ", block " + std::to_string(block_size) + ", rate " + std::to_string(rate) + ": " +
      std::to_string(coverage.covered) + " of " + std::to_string(coverage.points) +
      " covered; off by " + with_digits(coverage.mean, 5) + " on average, " +
      with_digits(coverage.worst, 5) + " at most, stated " + with_digits(coverage.stated, 5);
  EXPECT_GE(coverage.covered * 100, coverage.points * 85) << text;
  EXPECT_LE(coverage.mean, coverage.stated) << text;
  EXPECT_LE(coverage.stated, 0.1) << text;
}

TEST(SampledMrc, StatesItsErrorOnGeneratedWorkloads) {
  for (const WorkloadKind kind : {WorkloadKind::Chat, WorkloadKind::Agent}) {
    WorkloadOptions options;
    options.kind = kind;
    options.seed = 3;
    options.requests = 4000;
    LoadedTrace trace(*make_workload(options));
    expect_covered(trace, std::string(to_string(kind)), trace.block_size(), 0.2);
  }
}

TEST(SampledMrc, StatesItsErrorOnTheMooncakeTraces) {
  for (const char* name : {"conversation", "synthetic"}) {
    const auto path = mooncake_trace(name);
    if (!std::filesystem::exists(path)) {
      GTEST_SKIP() << path << " is not there";
    }
    LoadedTrace trace(*open_trace(path.string()));
    expect_covered(trace, name, 512, 0.1);
    expect_covered(trace, name, 512, 0.02);
  }
}

TEST(SampledMrc, OfAllBlocksMissesOnlyTheHolesAndWhatAPartCannotTell) {
  WorkloadOptions options;
  options.requests = 2000;
  LoadedTrace trace(*make_workload(options));
  for (const std::int64_t block_size : {64, 16, 128, 96}) {
    trace.rewind();
    const Mrc exact = compute_mrc(trace, {block_size, {}, 0});
    trace.rewind();
    SampledMrcOptions sampling;
    sampling.block_size = block_size;
    sampling.rate = 1;
    const SampledMrc sampled = compute_sampled_mrc(trace, sampling);
    EXPECT_EQ(sampled.sampled_blocks(), exact.distinct_blocks);
    EXPECT_EQ(sampled.longest_blocks, exact.longest_blocks);
    // Where nothing is evicted, depths play no part.
    EXPECT_NEAR(sampled.at(2147483647).hit_rate, exact.at(2147483647).hit_rate(), 1e-12);
    for (const std::int64_t size : exact.spread_sizes(8)) {
      EXPECT_NEAR(sampled.at(size).hit_rate, exact.at(size).hit_rate(), 0.02) << block_size;
    }
  }
}

TEST(SampledMrc, TheSeedDecides) {
  WorkloadOptions options;
  options.requests = 500;
  LoadedTrace trace(*make_workload(options));
  const auto rate = [&trace](std::uint64_t seed) {
    trace.rewind();
    SampledMrcOptions sampling;
    sampling.rate = 0.3;
    sampling.seed = seed;
    return compute_sampled_mrc(trace, sampling).at(5000).hit_rate;
  };
  EXPECT_EQ(rate(1), rate(1));
  EXPECT_NE(rate(1), rate(2));
}

TEST(SampledMrc, NamesWhatIsOutOfRange) {
  const auto message = [](double rate, std::int64_t blocks) {
    TraceRequest request;
    request.input_tokens = 40;
    request.block_ids = {1, 2, 3};
    LoadedTrace trace("the trace", 16, {request});
    SampledMrcOptions options;
    options.rate = rate;
    try {
      compute_sampled_mrc(trace, options).at(blocks);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message(0, 3), "mrc: rate 0.000000 is outside (0, 1]");
  EXPECT_EQ(message(2, 3), "mrc: rate 2.000000 is outside (0, 1]");
  EXPECT_EQ(message(0.5, 2),
            "mrc: blocks 2 is below the longest request, which a sampled curve begins with, "
            "expected at least 3");
  EXPECT_EQ(message(0.5, 3), "no error");
}

}  // namespace
}  // namespace octavo::sim
