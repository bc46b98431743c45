// The table and the JSON of figures that nobody measured.
#include "bandwidth_report.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace octavo::bench {
namespace {

constexpr Ceilings kCeilings{.copy_gb_per_s = 4000.0, .read_gb_per_s = 5000.0, .launch_us = 2.0};

Measurement bytes_case(double time_us) {
  return {.name = "decode", .time_us = time_us, .bytes = 1'000'000'000, .goal = 0.75};
}

TEST(BandwidthReport, BytesAreMeasuredByBothCeilings) {
  const Figure figure = figure_of(bytes_case(250.0), kCeilings);
  EXPECT_EQ(figure.unit, "GB/s");
  EXPECT_DOUBLE_EQ(figure.value, 4000.0);
  EXPECT_DOUBLE_EQ(figure.of_copy, 1.0);
  EXPECT_DOUBLE_EQ(figure.of_read, 0.8);
}

TEST(BandwidthReport, AGoalIsMetFromItsValueOn) {
  // 3,000 of 4,000 GB/s.
  EXPECT_TRUE(figure_of(bytes_case(1e6 / 3000.0), kCeilings).meets_goal);
  EXPECT_FALSE(figure_of(bytes_case(1e6 / 2999.0), kCeilings).meets_goal);
}

TEST(BandwidthReport, OperationsCountWhereNoBytesDo) {
  Measurement prefill{.name = "prefill", .time_us = 1000.0, .operations = 3e10, .goal = 25.0};
  const Figure figure = figure_of(prefill, kCeilings);
  EXPECT_EQ(figure.unit, "TFLOP/s");
  EXPECT_DOUBLE_EQ(figure.value, 30.0);
  EXPECT_EQ(figure.of_copy + figure.of_read, 0.0);
  EXPECT_TRUE(figure.meets_goal);
  prefill.goal = 31.0;
  EXPECT_FALSE(figure_of(prefill, kCeilings).meets_goal);
}

TEST(BandwidthReport, OfTimesLessIsMore) {
  Measurement latency{.name = "one sequence", .time_us = 12.0, .goal = 10.0};
  EXPECT_EQ(figure_of(latency, kCeilings).unit, "us");
  EXPECT_FALSE(figure_of(latency, kCeilings).meets_goal);
  latency.goal = 12.0;
  EXPECT_TRUE(figure_of(latency, kCeilings).meets_goal);
  latency.goal = 0.0;
  EXPECT_TRUE(figure_of(latency, kCeilings).meets_goal);
}

TEST(BandwidthReport, LinesStandInColumns) {
  const BandwidthReport report{.gpu = "Some GPU", .sms = 132, .ceilings = kCeilings};
  EXPECT_EQ(heading_of(report),
            "Some GPU, 132 SMs: copy 4000 GB/s, read 5000 GB/s, empty launch 2.0 us\n"
            "                                                     us                   of copy  "
            "of read         goal\n");
  EXPECT_EQ(line_of(bytes_case(250.0), kCeilings),
            "decode                                           250.00   4000.0 GB/s     100.0 %   "
            "80.0 %         75 %\n");
  EXPECT_EQ(line_of(bytes_case(500.0), kCeilings),
            "decode                                           500.00   2000.0 GB/s      50.0 %   "
            "40.0 %         75 % missed\n");
  EXPECT_EQ(line_of({.name = "one sequence", .time_us = 9.0, .goal = 10.0}, kCeilings),
            "one sequence                                       9.00      9.0 us                   "
            "            10 us\n");
}

TEST(BandwidthReport, TheJsonHasEverything) {
  const BandwidthReport report{.gpu = "Some \"GPU\"",
                               .commit = "0123abc-dirty",
                               .sms = 132,
                               .driver = 13010,
                               .runtime = 13000,
                               .ceilings = kCeilings,
                               .cases = {bytes_case(500.0)}};
  const auto json = nlohmann::json::parse(to_json(report).dump());
  const nlohmann::json expected = {{"schema_version", 1},
                                   {"gpu", "Some \"GPU\""},
                                   {"commit", "0123abc-dirty"},
                                   {"sms", 132},
                                   {"cuda_driver", 13010},
                                   {"cuda_runtime", 13000},
                                   {"copy_gb_per_s", 4000.0},
                                   {"read_gb_per_s", 5000.0},
                                   {"launch_us", 2.0},
                                   {"cases",
                                    {{{"name", "decode"},
                                      {"time_us", 500.0},
                                      {"bytes", 1'000'000'000},
                                      {"operations", 0.0},
                                      {"unit", "GB/s"},
                                      {"value", 2000.0},
                                      {"of_copy", 0.5},
                                      {"of_read", 0.4},
                                      {"goal", 0.75},
                                      {"meets_goal", false}}}}};
  EXPECT_EQ(json, expected);
}

}  // namespace
}  // namespace octavo::bench
