// Runs without a planted fault: clean, repeatable, and reaching what they claim to reach.
//
// RC_PARAMS="seed=N", which .ci/run makes of the commit, chooses the seeds; OCTAVO_CAMPAIGN=20 runs
// twenty times as many.

#include <cstdlib>
#include <string>

#include "octavo/error.h"
#include "octavo/sim/check/check_campaign.h"
#include <gtest/gtest.h>

#include "tests/sim/check/check_testing.h"
#include "tests/unit/blocks/allocation_counter.h"

namespace octavo::sim {
namespace {

// NOLINTBEGIN(concurrency-mt-unsafe): nothing else runs.
std::uint64_t seed_of_commit() {
  const char* given = std::getenv("RC_PARAMS");
  const std::string text = given == nullptr ? "" : given;
  const std::size_t at = text.find("seed=");
  return at == std::string::npos ? 20260101 : std::strtoull(text.c_str() + at + 5, nullptr, 10);
}

std::int64_t times() {
  const char* given = std::getenv("OCTAVO_CAMPAIGN");
  return given == nullptr ? 1 : std::max(1L, std::strtol(given, nullptr, 10));
}
// NOLINTEND(concurrency-mt-unsafe)

class Refusing final : public HostAllocations {
 public:
  void fail_after(std::int64_t successes) override {
    octavo::testing::fail_allocations_after(successes);
  }
  void allow() override { octavo::testing::allow_allocations(); }
};

std::string told(const CampaignResult& result) {
  return result.failed
             ? "seed " + std::to_string(result.failed_seed) + ": " + result.failed->drawn + ": " +
                   result.failed->violation->kind + ": " + result.failed->violation->what
             : "";
}

CampaignResult campaign(std::uint64_t seed) {
  Refusing refusing;
  CampaignOptions options{.check = small_options(seed), .runs = 60 * times()};
  options.check.layers = 2;
  options.check.host_allocations = &refusing;
  return run_check_campaign(options);
}

TEST(Check, ACampaignOverAllRowsAndFaultsFindsNothing) {
  const CampaignResult result = campaign(seed_of_commit());
  EXPECT_FALSE(result.failed.has_value()) << told(result);
  EXPECT_EQ(result.figures.differing_words, 0);
  EXPECT_GT(result.figures.compared_words, 1'000'000);
  EXPECT_GT(result.figures.distinct_states, 1'000);
  EXPECT_GT(result.figures.checked_outputs, 100);
}

// With a seed of its own: sixty runs of another may draw no cross-attention, say.
TEST(Check, ACampaignReachesEverything) {
  const CampaignResult result = campaign(20260101);
  EXPECT_FALSE(result.failed.has_value()) << told(result);
  EXPECT_GT(result.figures.served_tokens, 0);
  EXPECT_GT(result.figures.copied_blocks, 0);
  EXPECT_GT(result.figures.quarantined_blocks, 0);
  for (int fault = 0; fault < kCheckFaults; ++fault) {
    EXPECT_GT(result.figures.by_fault[static_cast<std::size_t>(fault)], 0)
        << to_string(static_cast<CheckFault>(fault)) << " never happened";
  }
  for (int verb = 0; verb < kCheckVerbs; ++verb) {
    EXPECT_GT(result.figures.by_verb[static_cast<std::size_t>(verb)], 0)
        << to_string(static_cast<CheckVerb>(verb)) << " was never done";
  }
}

TEST(Check, TwoDevicesInLockStepAgree) {
  CampaignOptions options{.check = small_options(seed_of_commit() + 1000), .runs = 10};
  options.check.layers = 2;
  options.check.devices = {ref_device(), ref_device()};
  const CampaignResult result = run_check_campaign(options);
  EXPECT_FALSE(result.failed.has_value()) << told(result);
  EXPECT_GT(result.figures.operations, 0);
}

TEST(Check, TheSameSeedEndsInTheSameState) {
  const auto run = [](std::uint64_t seed) {
    return run_check(*small_trace(3), small_options(seed));
  };
  const CheckResult a = run(5);
  const CheckResult b = run(5);
  const CheckResult c = run(6);
  ASSERT_FALSE(a.violation.has_value()) << a.violation->what;
  EXPECT_EQ(a.digest, b.digest);
  EXPECT_EQ(a.unseed, b.unseed);
  EXPECT_EQ(a.log.ops, b.log.ops);
  EXPECT_EQ(a.figures.compared_words, b.figures.compared_words);
  EXPECT_NE(a.unseed, c.unseed);
  const CheckResult again = replay_check_log(a.log, small_options(5));
  EXPECT_FALSE(again.violation.has_value());
  EXPECT_EQ(again.digest, a.digest);
}

TEST(Check, WithoutFaultsEveryRequestIsServedAndNothingIsAFault) {
  for (const WorkloadKind kind :
       {WorkloadKind::Chat, WorkloadKind::Agent, WorkloadKind::Adversarial}) {
    CheckOptions options = small_options(2);
    options.faults = parse_check_faults("none");
    options.rows = {parse_check_row("paged")};
    const CheckResult result = run_check(*small_trace(1, kind), options);
    EXPECT_FALSE(result.violation.has_value());
    EXPECT_EQ(result.requests, 25);
    EXPECT_EQ(result.dropped, 0);
    EXPECT_EQ(result.figures.faults, 0);
    EXPECT_GT(result.figures.served_tokens, 0) << "prompts of this workload share prefixes";
  }
}

TEST(Check, FaultsAreReadAsTheyAreWritten) {
  EXPECT_EQ(parse_check_faults("all"), CheckFaultWeights{});
  CheckFaultWeights some;
  some.fill(0);
  EXPECT_EQ(parse_check_faults("none"), some);
  some[static_cast<std::size_t>(CheckFault::Device)] = 5;
  EXPECT_EQ(parse_check_faults("device=5"), some);
  for (const char* wrong : {"", "x", "all,cancel", "cancel,cancel", "cancel=0,cancel=1",
                            "cancel=1001", "cancel=-1", "cancel=", "cancel,"}) {
    EXPECT_THROW(parse_check_faults(wrong), Error) << wrong;
  }
}

TEST(Check, RowsAreReadAsTheyAreWritten) {
  for (const char* text : {"paged", "window:int8", "ring:e4m3/int4", "release:static", "state",
                           "cross:none/e5m2", "continuous"}) {
    EXPECT_EQ(to_string(parse_check_row(text)), text);
  }
  EXPECT_EQ(to_string(parse_check_row("int8")), "paged:int8");
  for (const char* wrong : {"", "int9", "paged:", "paged:int8/", "state:int8", "int8:int8"}) {
    EXPECT_THROW(parse_check_row(wrong), Error) << wrong;
  }
}

TEST(Check, OptionsOutOfRangeAreRefused) {
  const auto refused = [](auto change) {
    CheckOptions options = small_options(1);
    change(options);
    EXPECT_THROW(run_check(*small_trace(1), options), Error);
  };
  refused([](CheckOptions& o) { o.devices.clear(); });
  refused([](CheckOptions& o) { o.head_dim = 12; });
  refused([](CheckOptions& o) { o.layers = 0; });
  refused([](CheckOptions& o) { o.max_prompt = 5000; });
  EXPECT_THROW(run_check_campaign({.check = small_options(1)}), Error);
  EXPECT_THROW(shrink_check({}, small_options(1)), Error);
}

}  // namespace
}  // namespace octavo::sim
