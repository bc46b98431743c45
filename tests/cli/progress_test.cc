// The progress line: when it shows, what it says, and that it goes away.
#include "progress.h"

#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace octavo::tools {
namespace {

using namespace std::chrono_literals;

constexpr char kErase[] = "\r\033[K";

// A clock that stands still until it is told to go on.
Progress::Clock::time_point now_;  // NOLINT: a plain function has no other place for it
Progress::Clock::time_point fake_now() {
  return now_;
}

class ProgressLine : public ::testing::Test {
 protected:
  std::string written() {
    std::string text = err_.str();
    err_.str("");
    return text;
  }

  std::ostringstream out_;
  std::ostringstream err_;
  Context context_{.out = out_, .err = err_, .err_is_terminal = true, .run = {}};
};

TEST_F(ProgressLine, ShowsAfterOneSecondTenTimesASecondAtMost) {
  Progress progress(context_, "replay", "requests", &fake_now);
  now_ += 999ms;
  progress.update(10, 100);
  EXPECT_EQ(written(), "");
  now_ += 1ms;
  progress.update(25, 100);
  EXPECT_EQ(written(), std::string(kErase) + "replay: 25 % (25 of 100 requests), 3 s left");
  now_ += 99ms;
  progress.update(26, 100);
  EXPECT_EQ(written(), "");
  now_ += 1ms;
  progress.update(27, 100);
  EXPECT_EQ(written(), std::string(kErase) + "replay: 27 % (27 of 100 requests), 3 s left");
}

TEST_F(ProgressLine, CountsWhenTheTotalIsUnknown) {
  Progress progress(context_, "trace", "lines", &fake_now);
  now_ += 2s;
  progress.update(12031, 0);
  EXPECT_EQ(written(), std::string(kErase) + "trace: 12031 lines");
}

TEST_F(ProgressLine, IsErasedAtTheEndIfItWasShown) {
  {
    Progress progress(context_, "replay", "requests", &fake_now);
    now_ += 2s;
    progress.update(1, 2);
    written();
  }
  EXPECT_EQ(written(), kErase);
  { const Progress progress(context_, "replay", "requests", &fake_now); }
  EXPECT_EQ(written(), "");
}

TEST_F(ProgressLine, NeverShowsWithoutATerminalOrWhenQuiet) {
  for (const bool is_terminal : {false, true}) {
    context_.err_is_terminal = is_terminal;
    context_.quiet = is_terminal;
    Progress progress(context_, "replay", "requests", &fake_now);
    now_ += 5s;
    progress.update(1, 2);
    EXPECT_EQ(written(), "");
  }
}

}  // namespace
}  // namespace octavo::tools
