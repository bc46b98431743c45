// Histograms, figures, load over time and files of a serving simulation, fed by hand.
#include "octavo/sim/serve/serving_metrics.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "octavo/sim/serve/serving_files.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

namespace octavo::sim {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMs = 1'000'000;

RC_GTEST_PROP(Histogram, IsWithinATenthOfAPercentOfTheSortedValues, ()) {
  const auto octave = *rc::gen::inRange(1, 62);
  const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << octave)));
  LogHistogram histogram;
  Wide sum = 0;
  for (const std::int64_t value : values) {
    histogram.add(value);
    sum += wide(value);
  }
  std::vector<std::int64_t> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  RC_ASSERT(histogram.count() == static_cast<std::int64_t>(sorted.size()));
  RC_ASSERT(histogram.min() == sorted.front());
  RC_ASSERT(histogram.max() == sorted.back());
  RC_ASSERT(histogram.mean() == static_cast<std::int64_t>(sum / sorted.size()));
  for (const int permille : {1, 100, 500, 900, 990, 999, 1000}) {
    const std::size_t rank = (sorted.size() * static_cast<std::size_t>(permille) + 999) / 1000;
    const std::int64_t exact = sorted[rank - 1];
    const std::int64_t error = std::abs(histogram.percentile(permille) - exact);
    RC_ASSERT(wide(error) * 2048 <= wide(exact));
    RC_ASSERT(exact >= 2048 || error == 0);
  }
}

TEST(Histogram, CountsAValueManyTimesAndTakesTheLargest) {
  LogHistogram histogram;
  EXPECT_EQ(summary_of(histogram), TimeSummary{});
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  histogram.add(kLargest);
  histogram.add(10, 99);
  histogram.add(7, 0);
  EXPECT_EQ(histogram.count(), 100);
  EXPECT_EQ(histogram.min(), 10);
  EXPECT_EQ(histogram.percentile(990), 10);
  EXPECT_EQ(histogram.percentile(991), kLargest);
  EXPECT_EQ(histogram.max(), kLargest);
}

ServedRequest request(std::int64_t id,
                      std::int64_t arrival_ms,
                      std::int64_t scheduled_ms,
                      std::int64_t first_ms,
                      std::int64_t end_ms,
                      std::int64_t output) {
  ServedRequest served;
  served.request = id;
  served.replica = 0;
  served.arrival_ns = arrival_ms * kMs;
  served.scheduled_ns = scheduled_ms * kMs;
  served.first_token_ns = first_ms * kMs;
  served.end_ns = end_ms * kMs;
  served.input_tokens = 100;
  served.cached_tokens = 25;
  served.output_tokens = output;
  return served;
}

ServingStep step(std::int64_t begin_ns, std::int64_t end_ns, std::int64_t live) {
  ServingStep step;
  step.begin_ns = begin_ns;
  step.end_ns = end_ns;
  step.shape.decode_sequences = 2;
  step.shape.decode_tokens = 2;
  step.running_requests = 2;
  step.live_blocks = live;
  step.free_blocks = 1000 - live;
  return step;
}

// Limits of 50 ms and 10 ms a token:   first token   per token
//   0: 50 ms exactly                       good         10 ms exactly (90 ms / 9)      good
//   1: 51 ms                               late         1 ms
//   2: 10 ms                               good         90 ms + 1 ms over 9 tokens     slow
//   3: one token only                      good         no time per token              good
//   4: cancelled; 5: rejected
TEST(Metrics, CountsGoodRequestsByHand) {
  ServingMetrics metrics({.ttft_ns = 50 * kMs, .tpot_ns = 10 * kMs});
  metrics.on_arrival(0, 0, 1000 * kMs);
  metrics.on_request_end(request(0, 1000, 1010, 1050, 1140, 10));
  metrics.on_request_end(request(1, 1000, 1010, 1051, 1060, 10));
  metrics.on_request_end(request(2, 1000, 1005, 1010, 1101, 10));
  metrics.on_request_end(request(3, 1000, 1005, 1040, 1040, 1));
  ServedRequest cancelled = request(4, 1000, -1, -1, 1500, 0);
  cancelled.scheduled_ns = -1;
  cancelled.first_token_ns = -1;
  cancelled.cached_tokens = 0;
  cancelled.outcome = RequestOutcome::Cancelled;
  metrics.on_request_end(cancelled);
  ServedRequest rejected = cancelled;
  rejected.replica = -1;
  rejected.outcome = RequestOutcome::Rejected;
  rejected.end_ns = 3000 * kMs;
  metrics.on_request_end(rejected);

  const ServingSummary summary = metrics.summary();
  EXPECT_EQ(summary.finished_requests, 4);
  EXPECT_EQ(summary.good_requests, 2);
  EXPECT_EQ(summary.cancelled_requests, 1);
  EXPECT_EQ(summary.rejected_requests, 1);
  EXPECT_EQ(summary.input_tokens, 400);
  EXPECT_DOUBLE_EQ(summary.hit_rate(), 0.25);
  EXPECT_EQ(summary.output_tokens, 31);
  EXPECT_DOUBLE_EQ(summary.seconds(), 2.0);
  EXPECT_DOUBLE_EQ(summary.per_second(summary.good_requests), 1.0);
  EXPECT_EQ(summary.ttft.count, 4);
  EXPECT_EQ(summary.ttft.min_ns, 10 * kMs);
  EXPECT_EQ(summary.ttft.max_ns, 51 * kMs);
  EXPECT_EQ(summary.ttft.mean_ns, (50 + 51 + 10 + 40) * kMs / 4);
  EXPECT_EQ(summary.tpot.count, 3);
  EXPECT_EQ(summary.tpot.max_ns, 91 * kMs / 9);
  EXPECT_EQ(summary.queued.max_ns, 10 * kMs);
  EXPECT_EQ(summary.end_to_end.max_ns, 140 * kMs);
}

TEST(Metrics, WithoutLimitsEveryFinishedRequestIsGood) {
  ServingMetrics metrics;
  metrics.on_request_end(request(0, 0, 100, 9000, 99000, 3));
  EXPECT_EQ(metrics.summary().good_requests, 1);
}

TEST(Metrics, CountsAStepOnceForEachSequenceThatGenerates) {
  ServingMetrics metrics;
  metrics.on_step(step(0, 10 * kMs, 5));
  metrics.on_step(step(10 * kMs, 40 * kMs, 5));
  const ServingSummary summary = metrics.summary();
  EXPECT_EQ(summary.itl.count, 4);
  EXPECT_EQ(summary.itl.mean_ns, 20 * kMs);
  EXPECT_EQ(summary.busy_ns, 40 * kMs);
  EXPECT_EQ(summary.steps, 2);
}

// However often the buckets are merged, their sums are those of the steps and their extremes those
// of the steps that ended in them.
RC_GTEST_PROP(Series, KeepsExactSumsAndExtremesInFewBuckets, ()) {
  const auto durations = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::inRange<std::int64_t>(1, 3'000'000'000)));
  StepSeries series;
  std::vector<ServingStep> steps;
  std::int64_t now = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  for (const std::int64_t duration : durations) {
    const auto live = *rc::gen::inRange<std::int64_t>(0, 1000);
    steps.push_back(step(now, now + duration, live));
    series.add(steps.back());
    now += duration;
  }
  RC_ASSERT(series.buckets().size() <= StepSeries::kBucketsMax);
  std::map<std::size_t, StepBucket> expected;
  for (const ServingStep& one : steps) {
    const auto place =
        static_cast<std::size_t>((one.end_ns - series.begin_ns()) / series.width_ns());
    StepBucket& bucket = expected[place];
    GaugeBucket& gauge = bucket.gauges[static_cast<std::size_t>(Gauge::LiveBlocks)];
    gauge.min = bucket.steps == 0 ? one.live_blocks : std::min(gauge.min, one.live_blocks);
    gauge.max = std::max(gauge.max, one.live_blocks);
    gauge.weighted += wide(one.live_blocks) * wide(one.end_ns - one.begin_ns);
    bucket.busy_ns += one.end_ns - one.begin_ns;
    ++bucket.steps;
  }
  for (std::size_t i = 0; i < series.buckets().size(); ++i) {
    const StepBucket& bucket = series.buckets()[i];
    const StepBucket& want = expected[i];
    const auto live = static_cast<std::size_t>(Gauge::LiveBlocks);
    RC_ASSERT(bucket.steps == want.steps);
    RC_ASSERT(bucket.busy_ns == want.busy_ns);
    RC_ASSERT(bucket.gauges[live].min == want.gauges[live].min);
    RC_ASSERT(bucket.gauges[live].max == want.gauges[live].max);
    RC_ASSERT(bucket.mean_thousandths(Gauge::LiveBlocks) ==
              want.mean_thousandths(Gauge::LiveBlocks));
  }
}

TEST(Series, IsWrittenWithMeansToAThousandth) {
  std::vector<StepSeries> series(2);
  series[1].add(step(5, 15, 3));   // 3 for 10 ns
  series[1].add(step(15, 35, 4));  // 4 for 20 ns
  std::ostringstream out;
  write_series_csv(series, out);
  EXPECT_EQ(out.str(), std::string(kSeriesHeader) +
                           "1,5,1000000,2,30,0,4,0,0.000,0,2,2.000,2,3,3.666,4,0,0.000,0,"
                           "996,996.333,997\n");
}

TEST(RequestRows, LeaveEmptyWhatNeverCameToBe) {
  std::ostringstream out;
  RequestCsv csv(out);
  ServedRequest served = request(7, 1, 2, 3, 5, 3);
  served.session = 18'446'744'073'709'551'615U;
  served.recorded_cached_tokens = 0;
  csv.on_request_end(served);
  ServedRequest rejected;
  rejected.request = 8;
  rejected.outcome = RequestOutcome::Rejected;
  rejected.priority = -2;
  csv.on_request_end(rejected);
  csv.finish();
  EXPECT_EQ(out.str(),
            std::string(RequestCsv::kHeader) +
                "7,18446744073709551615,0,finished,0,1000000,2000000,3000000,5000000,2000000,"
                "1000000,100,3,25,0,0,0,0,0,0,0\n"
                "8,,,rejected,-2,0,,,0,,,0,0,0,0,0,0,0,0,0,\n");
}

TEST(Timeline, IsJsonWhoseSpansNestAndWhoseStepsFollowEachOther) {
  std::ostringstream out;
  TimelineWriter timeline(out, 1);
  timeline.on_step(step(1'000'001, 2'000'002, 5));
  timeline.on_preempted(3, 0, 2'000'002);
  timeline.on_step(step(2'000'002, 2'500'003, 5));
  ServedRequest served = request(3, 0, 1, 2, 9, 4);
  served.end_ns = 9'999'999;
  timeline.on_request_end(served);
  ServedRequest never = request(4, 0, 0, 0, 6, 0);
  never.scheduled_ns = -1;
  never.first_token_ns = -1;
  never.outcome = RequestOutcome::Cancelled;
  timeline.on_request_end(never);
  ServedRequest rejected = never;
  rejected.outcome = RequestOutcome::Rejected;
  rejected.replica = -1;
  timeline.on_request_end(rejected);
  timeline.finish();

  const Json json = Json::parse(out.str());
  std::map<std::string, std::vector<std::string>> open;
  double last_step_end = 0;
  int steps = 0;
  for (const Json& event : json.at("traceEvents")) {
    const std::string phase = event.at("ph");
    if (phase == "X") {
      EXPECT_GE(event.at("ts").get<double>(), last_step_end);
      last_step_end = event.at("ts").get<double>() + event.at("dur").get<double>();
      ++steps;
    } else if (phase == "b") {
      open[event.at("id")].push_back(event.at("name"));
    } else if (phase == "e") {
      std::vector<std::string>& names = open.at(event.at("id"));
      ASSERT_FALSE(names.empty());
      EXPECT_EQ(names.back(), event.at("name"));
      names.pop_back();
    }
  }
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(open.size(), 2U);
  for (const auto& [id, names] : open) {
    EXPECT_TRUE(names.empty()) << id;
  }
  EXPECT_NE(out.str().find(R"("ts":1000.001,"tid":1,"dur":1000.001)"), std::string::npos)
      << out.str();
  EXPECT_NE(out.str().find(R"("ph":"e","name":"request","pid":1,"ts":9999.999)"),
            std::string::npos);
}

}  // namespace
}  // namespace octavo::sim
