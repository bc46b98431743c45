// Makes any test program one of a simulated GPU with the kernels of this build: a fresh one for
// every test, which must neither lose it nor leave anything behind.
//
// OCTAVO_SIMULATED_CAPABILITY: 80 or 90 (90). OCTAVO_SIMULATED_TIME: eager, lazy or random
// (random). OCTAVO_SIMULATED_SEED: of all that is drawn (1).
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/cuda/simulated_gpu/device/machine_runner.h"
#include "tests/cuda/simulated_gpu/runtime/runtime.h"

namespace octavo::simulated_gpu {
namespace {

std::string setting(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

RuntimeOptions options() {
  RuntimeOptions made;
  made.capability = std::stoi(setting("OCTAVO_SIMULATED_CAPABILITY", "90"));
  const std::string time = setting("OCTAVO_SIMULATED_TIME", "random");
  made.time = time == "eager"  ? WorkTime::Eager
              : time == "lazy" ? WorkTime::Lazy
                               : WorkTime::Random;
  made.seed = std::stoull(setting("OCTAVO_SIMULATED_SEED", "1"));
  made.kernels = built_kernels(made.capability);
  return made;
}

class FreshGpu final : public testing::EmptyTestEventListener {
 private:
  // Nobody discovers these tests one by one: a program without any would pass for ever.
  void OnTestProgramStart(const testing::UnitTest& program) override {
    if (program.total_test_count() == 0) {
      std::fputs("no test was linked into this program\n", stderr);
      std::exit(EXIT_FAILURE);
    }
  }
  void OnTestStart(const testing::TestInfo& /*test*/) override { reset(options()); }
  void OnTestEnd(const testing::TestInfo& /*test*/) override {
    EXPECT_EQ(last_fault(), "");
    EXPECT_EQ(live(), Live{}) << "something was left behind";
  }
};

// Listeners must be there before main, whichever main that is.
[[maybe_unused]] const bool is_listening = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new FreshGpu);
  return true;
}();

}  // namespace
}  // namespace octavo::simulated_gpu
