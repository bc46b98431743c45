// The simulation against queueing theory, where theory has the answer.
//
// A mean waiting time is estimated from one long run by batch means: the run is cut into batches
// long enough to be nearly independent, and the spread of their means gives the standard error.
// Seeds are fixed; the bounds are four standard errors, and a second, absolute one says that the
// error itself is small enough for the test to mean something.

#include <cmath>

#include "octavo/sim/rng.h"
#include "serving_testing.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

// Poisson arrivals; the lengths of outputs are one, or geometric.
class PoissonTrace final : public TraceReader {
 public:
  PoissonTrace(std::int64_t requests, std::int64_t mean_gap_ns, std::int64_t mean_output)
      : TraceReader("poisson", TraceFormat::Octavo, 16, {.prefix_ids = false}),
        left_(requests),
        mean_gap_ns_(mean_gap_ns),
        mean_output_(mean_output) {}

 private:
  bool read(TraceRequest& request) override {
    if (left_-- == 0) {
      return false;
    }
    now_ns_ += rng_.exponential(mean_gap_ns_);
    request.arrival_ns = now_ns_;
    request.input_tokens = 1;
    request.output_tokens = 1;
    while (mean_output_ > 1 && !rng_.chance(1, static_cast<std::uint64_t>(mean_output_))) {
      ++request.output_tokens;
    }
    return true;
  }
  Rng rng_{11};
  std::int64_t left_;
  std::int64_t mean_gap_ns_;
  std::int64_t mean_output_;
  std::int64_t now_ns_ = 0;
};

// Waiting times in batches, in the order of the ends.
class Waiting final : public ServingObserver {
 public:
  explicit Waiting(std::int64_t batch) : batch_(batch) {}

  void on_request_end(const ServedRequest& request) override {
    const auto wait = static_cast<double>(request.scheduled_ns - request.arrival_ns);
    sum_ += wait;
    batch_sum_ += wait;
    if (++count_ % batch_ == 0) {
      means_.push_back(batch_sum_ / static_cast<double>(batch_));
      batch_sum_ = 0;
    }
  }
  double mean() const { return sum_ / static_cast<double>(count_); }
  double standard_error() const {
    const auto batches = static_cast<double>(means_.size());
    double squares = 0;
    for (const double each : means_) {
      squares += (each - mean()) * (each - mean());
    }
    return std::sqrt(squares / (batches - 1) / batches);
  }

 private:
  std::int64_t batch_;
  std::int64_t count_ = 0;
  double sum_ = 0;
  double batch_sum_ = 0;
  std::vector<double> means_;
};

ServingConfig engine(int max_num_seqs) {
  ServingConfig config;
  config.num_blocks = 4096;
  config.max_num_seqs = max_num_seqs;
  return config;
}

// One request at a time, each takes one step of a constant time D: M/D/1. Pollaczek and Khinchine:
// the mean wait is rho D / (2 (1 - rho)).
TEST(Queueing, AMeanWaitOfMD1) {
  for (const double rho : {0.3, 0.6, 0.8}) {
    constexpr std::int64_t kServiceNs = 1'000'000;
    Waiting waiting(4000);
    PoissonTrace trace(100'000, static_cast<std::int64_t>(kServiceNs / rho), 1);
    simulate(trace, engine(1), LinearCost(kServiceNs, 0, 0), &waiting);
    const double expected = rho * kServiceNs / (2 * (1 - rho));
    EXPECT_LT(waiting.standard_error(), 0.04 * expected) << rho;
    EXPECT_NEAR(waiting.mean(), expected, 4 * waiting.standard_error()) << rho;
  }
}

// c slots and steps of a constant, short time: a request with a geometric number of tokens holds a
// slot for a nearly exponential time. Erlang: the mean wait is C(c, a) S / (c - a), where S is the
// mean time in the slot, a = lambda S the offered load and C the probability to wait. Not in the
// theory: an arrival waits for the end of the step under way, half a step on average, and a
// geometric time of 50 steps varies by a fiftieth less than an exponential one, a step and a half
// of the wait for one server and less for more. Two steps bound the sum.
TEST(Queueing, AMeanWaitOfMMc) {
  constexpr std::int64_t kStepNs = 1000;
  constexpr std::int64_t kMeanOutput = 50;
  constexpr double kServiceNs = kStepNs * kMeanOutput;
  for (const int servers : {1, 4}) {
    const double offered = 0.75 * servers;
    Waiting waiting(3000);
    PoissonTrace trace(60'000, static_cast<std::int64_t>(kServiceNs / offered), kMeanOutput);
    simulate(trace, engine(servers), LinearCost(kStepNs, 0, 0), &waiting);

    double blocking = 1;  // Erlang B, by its recurrence.
    for (int k = 1; k <= servers; ++k) {
      blocking = offered * blocking / (k + offered * blocking);
    }
    const double wait_probability = servers * blocking / (servers - offered * (1 - blocking));
    const double expected = wait_probability * kServiceNs / (servers - offered);
    EXPECT_LT(waiting.standard_error(), 0.1 * expected) << servers;
    EXPECT_NEAR(waiting.mean(), expected, 4 * waiting.standard_error() + 2 * kStepNs) << servers;
  }
}

// With next to no load nobody waits, and the first token takes what its prefill takes.
TEST(Queueing, UnderLightLoadTheFirstTokenTakesTheServiceTime) {
  Log log;
  PoissonTrace trace(200, 1'000'000'000, 3);
  simulate(trace, engine(8), LinearCost(1000, 10, 1), &log);
  int alone = 0;
  for (const ServedRequest& end : log.ends) {
    alone += end.first_token_ns - end.arrival_ns == 1010 ? 1 : 0;
  }
  EXPECT_EQ(alone, 200);
}

}  // namespace
}  // namespace octavo::sim
