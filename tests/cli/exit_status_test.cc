// Every kind of error has its exit code and one line.
#include "exit_status.h"

#include <new>
#include <sstream>
#include <stdexcept>
#include <string>

#include "octavo/error.h"
#include "octavo/sim/input_error.h"
#include "program.h"
#include <gtest/gtest.h>

namespace octavo::tools {
namespace {

// "CODE TEXT" for what `thrown` becomes.
template <typename Thrown>
std::string report(const Thrown& thrown) {
  std::ostringstream err;
  int code = -1;
  try {
    throw thrown;
  } catch (...) {
    code = report_current_exception("octavo replay", err);
  }
  return std::to_string(code) + " " + err.str();
}

TEST(ExitStatus, IsTwoForTheCommandLine) {
  EXPECT_EQ(report(UsageError("--a excludes --b")),
            "2 octavo replay: --a excludes --b (see octavo replay --help)\n");
  EXPECT_EQ(report(CLI::RequiredError("--trace")),
            "2 octavo replay: --trace is required (see octavo replay --help)\n");
  EXPECT_EQ(report(CLI::ExtrasError({"x"})),
            "2 octavo replay: the following argument was not expected: x "
            "(see octavo replay --help)\n");
  EXPECT_EQ(report(CLI::RequiredError("A subcommand")),
            "2 octavo replay: a subcommand is required (see octavo replay --help)\n");
  EXPECT_EQ(report(Error(ErrorCode::InvalidArgument, "make: 0 is outside [1, 2]")),
            "2 octavo replay: make: 0 is outside [1, 2]\n");
  EXPECT_EQ(report(Error(ErrorCode::Unimplemented, "not yet")), "2 octavo replay: not yet\n");
}

TEST(ExitStatus, IsThreeForAnInputFile) {
  EXPECT_EQ(report(sim::InputError("a.jsonl", 7, "hash_ids", "is missing")),
            "3 octavo replay: a.jsonl:7: hash_ids: is missing\n");
}

TEST(ExitStatus, IsFourForWhatDoesNotFit) {
  EXPECT_EQ(report(Error(ErrorCode::ResourceExhausted, "weights: 130 GiB do not fit")),
            "4 octavo replay: weights: 130 GiB do not fit\n");
}

TEST(ExitStatus, IsSeventyForBugsAndForTheMachine) {
  EXPECT_EQ(report(Error(ErrorCode::Internal, "audit: I-3")), "70 octavo replay: audit: I-3\n");
  EXPECT_EQ(report(Error(ErrorCode::FailedPrecondition, "x")), "70 octavo replay: x\n");
  EXPECT_EQ(report(Error(ErrorCode::DeviceError, "x")), "70 octavo replay: x\n");
  EXPECT_EQ(report(std::bad_alloc()), "70 octavo replay: out of memory\n");
  EXPECT_EQ(report(std::logic_error("x")), "70 octavo replay: internal error: x\n");
  EXPECT_EQ(report(7), "70 octavo replay: internal error\n");
}

TEST(ExitStatus, ComesWithOneLine) {
  EXPECT_EQ(report(Error(ErrorCode::Internal, "two\nlines\n")), "70 octavo replay: two lines\n");
}

TEST(Program, ReportsThatItsOutputCannotBeWritten) {
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios_base::badbit);
  Context context{.out = out, .err = err, .run = {}};
  EXPECT_EQ(run_program(std::vector<std::string>{"--version"}, context), kExitInternal);
  EXPECT_EQ(err.str(), "octavo: cannot write to stdout\n");
}

}  // namespace
}  // namespace octavo::tools
