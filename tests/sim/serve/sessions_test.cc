// Closed loops: who waits for whom, and how long.

#include "octavo/sim/rng.h"
#include "serving_testing.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

// Of one session; a lone one of 16 + 1 tokens takes 1160 ns.
TraceRequest turn(std::int64_t recorded_ns, std::uint64_t id, std::uint64_t session = 1) {
  TraceRequest request = request_of(recorded_ns, 16, 1, id);
  request.session = session;
  return request;
}

TEST(Sessions, TheNextTurnComesItsDelayAfterTheEndOfTheOneBefore) {
  std::vector<TraceRequest> requests = {turn(100, 1), turn(999'999, 2), turn(0, 3)};
  requests[1].delay_ns = 500;
  requests[2].delay_ns = 0;
  const Served r = serve(requests, small_engine(64));
  EXPECT_EQ(r.log.arrivals.at(0).first, 100);
  EXPECT_EQ(r.log.arrivals.at(1).first, 100 + 1160 + 500);
  EXPECT_EQ(r.log.arrivals.at(2).first, 100 + 1160 + 500 + 1160);
  EXPECT_EQ(r.result.counters.late_arrivals, 0);
}

TEST(Sessions, AFirstTurnComesWhenItWasRecordedWhateverItsDelay) {
  std::vector<TraceRequest> requests = {turn(100, 1), turn(200, 2, 5)};
  requests[0].delay_ns = 7;
  requests[1].delay_ns = 7;
  const Served r = serve(requests, small_engine(64));
  EXPECT_EQ(r.log.arrivals.at(0).first, 100);
  EXPECT_EQ(r.log.arrivals.at(1).first, 200);
}

TEST(Sessions, ATurnWithoutDelayComesWhenItWasRecorded) {
  const Served r = serve({turn(100, 1), turn(150, 2)}, small_engine(64));
  EXPECT_EQ(r.log.arrivals.at(1).first, 150);
}

TEST(Sessions, AnOpenLoopKnowsNoDelays) {
  std::vector<TraceRequest> requests = {turn(100, 1), turn(150, 2)};
  requests[1].delay_ns = 500;
  requests[1].wait_for = {0};
  ServingConfig config = small_engine(64);
  config.closed_loop = false;
  EXPECT_EQ(serve(requests, config).log.arrivals.at(1).first, 150);
}

TEST(Sessions, AParentGoesOnWhenTheLastOfThoseItWaitsForHasEnded) {
  std::vector<TraceRequest> requests = {turn(0, 1), turn(50'000, 2, 2), turn(80'000, 3, 3),
                                        turn(10'000, 4)};
  requests[3].delay_ns = 10;
  requests[3].wait_for = {1, 2};
  EXPECT_EQ(serve(requests, small_engine(64)).log.arrivals.at(3).first, 80'000 + 1160 + 10);
  requests[3].delay_ns.reset();  // Then its own time counts too.
  EXPECT_EQ(serve(requests, small_engine(64)).log.arrivals.at(3).first, 80'000 + 1160);
  requests[3].arrival_ns = 200'000;
  EXPECT_EQ(serve(requests, small_engine(64)).log.arrivals.at(3).first, 200'000);
}

TEST(Sessions, ARejectedOrCancelledTurnIsAnEndToo) {
  std::vector<TraceRequest> requests = {turn(100, 1), turn(0, 2)};
  requests[0].input_tokens = 2000;
  requests[0].block_ids.assign(125, 9);
  requests[1].delay_ns = 30;
  const Served r = serve(requests, small_engine(64));
  EXPECT_EQ(r.log.end_of(0).outcome, RequestOutcome::Rejected);
  EXPECT_EQ(r.log.arrivals.at(1).first, 130);
}

TEST(Sessions, ThinkTimesAreExponentialAndTheSeedsOwn) {
  std::vector<TraceRequest> requests;
  for (int i = 0; i < 400; ++i) {
    requests.push_back(turn(0, static_cast<std::uint64_t>(i)));
  }
  ServingConfig config = small_engine(4096);
  config.think_mean_ns = 1'000'000;
  const Served r = serve(requests, config);
  double sum = 0;
  for (int i = 1; i < 400; ++i) {
    sum += static_cast<double>(r.log.arrivals.at(i).first - r.log.end_of(i - 1).end_ns);
  }
  // A mean of 399 exponential times: its standard deviation is 1e6 / sqrt(399); four of them.
  EXPECT_NEAR(sum / 399, 1e6, 4 * 1e6 / 19.97);
  EXPECT_EQ(serve(requests, config).result.digest, r.result.digest);
  config.seed = 2;
  EXPECT_NE(serve(requests, config).result.digest, r.result.digest);
}

TEST(Sessions, WhatIsReadTooLateComesAtOnceAndIsCounted) {
  // With one request read ahead, the second line is read when the first arrives.
  ServingConfig config = small_engine(64);
  config.read_ahead = 1;
  const Served r = serve({turn(500, 1, 1), turn(100, 2, 2), turn(600, 3, 3)}, config);
  EXPECT_EQ(r.log.arrivals.at(1).first, 500);
  EXPECT_EQ(r.log.arrivals.at(2).first, 600);
  EXPECT_EQ(r.result.counters.late_arrivals, 1);
  config.read_ahead = 2;
  EXPECT_EQ(serve({turn(500, 1, 1), turn(100, 2, 2)}, config).log.arrivals.at(1).first, 100);
}

TEST(Sessions, ATurnReadAfterTheEndOfTheOneBeforeStillKeepsItsDelay) {
  std::vector<TraceRequest> requests = {turn(0, 1, 1), turn(50'000, 2, 2), turn(0, 3, 1)};
  requests[2].delay_ns = 100'000;
  ServingConfig config = small_engine(64);
  config.read_ahead = 1;
  EXPECT_EQ(serve(requests, config).log.arrivals.at(2).first, 1160 + 100'000);
}

TEST(Sessions, MemoryKeepsNothingOfRequestsThatEnded) {
  std::vector<TraceRequest> requests;
  for (int i = 0; i < 500; ++i) {
    requests.push_back(turn(i * 2000, static_cast<std::uint64_t>(i), 0));
  }
  EXPECT_EQ(serve(requests, small_engine(64)).result.requests_alive_max, 1);
}

}  // namespace
}  // namespace octavo::sim
