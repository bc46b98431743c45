// `octavo check` of a cache on a simulated GPU, in lock step with the reference: what
// tools/gpu_check does on a real one.
//
// OCTAVO_CAMPAIGN=20 takes twenty times as many runs, and the recorded workloads whole.
#include "octavo/sim/check/check.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "octavo/cuda/cuda_device.h"
#include "octavo/sim/check/check_campaign.h"
#include <gtest/gtest.h>

#include "tests/sim/check/check_testing.h"

namespace octavo::simulated_gpu {
namespace {

std::int64_t times() {
  const char* const given = std::getenv("OCTAVO_CAMPAIGN");
  return given == nullptr ? 1 : std::max(1L, std::strtol(given, nullptr, 10));
}

sim::CheckDevice gpu() {
  return {.name = "cuda", .make = [] { return make_cuda_device({.staging_bytes = 4096}); }};
}

std::string told(const sim::CheckViolation& violation) {
  return violation.kind + ": " + violation.what;
}

TEST(CheckOnAGpu, ACampaignOverAllRowsAndFaultsFindsNothing) {
  sim::CampaignOptions options{.check = sim::small_options(11), .runs = 6 * times()};
  options.check.layers = 2;
  options.check.devices = {sim::ref_device(), gpu()};
  const sim::CampaignResult result = sim::run_check_campaign(options);
  EXPECT_FALSE(result.failed.has_value())
      << "seed " << result.failed_seed << ": " << told(*result.failed->violation);
  EXPECT_EQ(result.figures.differing_words, 0);
  EXPECT_GT(result.figures.compared_words, 100'000);
  EXPECT_GT(result.figures.copied_blocks, 0);
}

TEST(CheckOnAGpu, RecordedWorkloadsFindNothing) {
  for (const char* const name : {"chat", "agent", "adversarial"}) {
    SCOPED_TRACE(name);
    const auto trace = sim::open_trace(OCTAVO_SOURCE_DIR "/traces/" + std::string(name) + ".jsonl");
    sim::CheckOptions options;
    options.devices = {sim::ref_device(), gpu()};
    options.seed = 7;
    options.faults = sim::parse_check_faults("all");
    options.limit = times() > 1 ? 0 : 6;  // 0: all requests.
    const sim::CheckResult result = sim::run_check(*trace, options);
    EXPECT_FALSE(result.violation.has_value()) << told(*result.violation);
    EXPECT_EQ(result.figures.differing_words, 0);
    EXPECT_GT(result.figures.compared_words, 100'000);
    if (times() > 1) {
      std::printf("%s: %lld requests, %lld operations, %lld words compared\n", name,
                  static_cast<long long>(result.requests),
                  static_cast<long long>(result.figures.operations),
                  static_cast<long long>(result.figures.compared_words));
    }
  }
}

}  // namespace
}  // namespace octavo::simulated_gpu
