// The checker checked: every fault that is planted in a device is found, shrunk to a handful of
// operations, and gone when the fault is.

#include <iostream>
#include <sstream>
#include <string>

#include "octavo/sim/check/check_campaign.h"
#include <gtest/gtest.h>

#include "tests/sim/check/check_testing.h"
#include "tests/sim/check/planted_device.h"

namespace octavo::sim {
namespace {

struct Case {
  Plant plant = Plant::None;
  const char* rows = "paged";
  std::int64_t operations_max = 4;  ///< Of the shrunk log, the final read-back included.
  const char* kind = nullptr;       ///< Of the violation; null: any.
  bool everywhere = false;          ///< What is expected is computed by the same faulty device.
};

CheckDevice device_of(Plant plant) {
  return {.name = "planted", .make = [plant] { return make_planted_device(plant); }};
}

class PlantedFault : public ::testing::TestWithParam<Case> {};

TEST_P(PlantedFault, IsFoundAndShrunk) {
  const Case& planted = GetParam();
  CampaignOptions options{.check = small_options(1), .runs = 40};
  options.check.devices = {device_of(planted.plant)};
  options.check.oracle = device_of(planted.everywhere ? planted.plant : Plant::None);
  options.check.rows = {parse_check_row(planted.rows)};
  options.check.faults = parse_check_faults("cancel,rewind,duplicate-admit,pressure");
  const CampaignResult found = run_check_campaign(options);
  ASSERT_TRUE(found.failed.has_value())
      << "not found in " << found.runs << " runs, " << found.figures.operations << " operations";
  if (planted.kind != nullptr) {
    EXPECT_EQ(found.failed->violation->kind, planted.kind) << found.failed->violation->what;
  }
  const CheckResult small = shrink_check(*found.failed, options.check);
  std::ostringstream log;
  write_check_log(small.log, log);
  ASSERT_TRUE(small.violation.has_value());
  std::cout << "found in run " << found.runs << " after " << found.figures.operations
            << " operations; " << found.failed->log.ops.size() << " -> " << small.log.ops.size()
            << " operations: " << small.violation->kind << ": " << small.violation->what << '\n';
  EXPECT_LE(std::ssize(small.log.ops), planted.operations_max) << log.str();
  EXPECT_EQ(small.violation->kind, found.failed->violation->kind);

  // What was written down says the same; and it is the planted fault that it says it of.
  std::istringstream text(log.str());
  const CheckLog read = read_check_log(text, "log");
  const CheckResult again = replay_check_log(read, options.check);
  ASSERT_TRUE(again.violation.has_value());
  EXPECT_EQ(again.violation->what, small.violation->what);
  options.check.devices = {device_of(Plant::None)};
  options.check.oracle.reset();
  EXPECT_FALSE(replay_check_log(read, options.check).violation.has_value());
}

INSTANTIATE_TEST_SUITE_P(
    All,
    PlantedFault,
    ::testing::Values(Case{Plant::CopySkipped, "paged", 6},
                      Case{Plant::CopyShort, "paged", 6},
                      Case{Plant::CopyFromElsewhere, "paged:int8", 8},
                      Case{Plant::UploadLost, "paged", 12},
                      Case{Plant::GatherStale, "paged", 6},
                      Case{Plant::ClearSkipped, "paged", 10},
                      Case{Plant::RowElsewhere, "paged", 4},
                      Case{Plant::RowLost, "paged", 3},
                      Case{Plant::HeadsSwapped, "paged", 3},
                      Case{Plant::ScaleWrong, "paged:int8", 3},
                      Case{Plant::WindowShort, "window", 4, "attention"},
                      Case{Plant::WindowLong, "ring", 4, "attention"},
                      Case{Plant::CausalMaskLost, "continuous", 3, "attention"},
                      Case{Plant::ScoreWrong, "paged", 4, "attention"},
                      Case{Plant::StatesNotZeroed, "state", 6},
                      Case{Plant::StateOfOtherSlot, "state", 4},
                      Case{Plant::CrossShort, "cross", 3},
                      Case{Plant::ScoreWrong, "paged", 4, "arithmetic", true},
                      Case{Plant::WindowShort, "window", 4, "arithmetic", true},
                      Case{Plant::ScaleWrong, "paged:int4", 4, "storage", true}),
    [](const auto& index) {
      return std::string(to_string(index.param.plant)) +
             (index.param.everywhere ? "Everywhere" : "");
    });

}  // namespace
}  // namespace octavo::sim
