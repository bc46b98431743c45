// Attention whose calls of the runtime fail, each in turn: what follows has the reference's bits.
#include <string>

#include "octavo/ref_cpu/cpu_device.h"

#include "tests/cuda/attend_case.h"
#include "tests/cuda/device_under_test.h"
#include "tests/cuda/simulated_gpu/device/device_testing.h"
#include "tests/cuda/simulated_gpu/device/machine_runner.h"

namespace octavo::simulated_gpu {
namespace {

// Two chunks a tile, to be combined, and a workspace that holds a tile or two at once.
TEST(AttendFailure, LeavesNothingForTheNextCall) {
  cuda_test::AttendCase test;
  test.lengths = {300, 270, 20};
  test.queries = {1, 1, 1};
  test.partials = false;
  const cuda_test::CaseData data = make_data(test);
  const cuda_test::CaseResult expected = run_case(test, data, *make_cpu_device(1));
  for (std::int64_t nth = 1, failed = 1; failed > 0; nth += 3) {
    SCOPED_TRACE("call " + std::to_string(nth));
    reset({.seed = static_cast<std::uint64_t>(nth), .kernels = built_kernels(90)});
    const auto device =
        cuda_test::device_under_test(cuda_test::TestedOptions{.attend_workspace_bytes = 10000});
    fail_call(nth, cudaErrorInvalidValue);
    try {
      EXPECT_EQ(difference(run_case(test, data, *device), expected), "");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::DeviceError) << error.what();
    }
    failed = failed_function().empty() ? 0 : 1;
    stop_failing();
    EXPECT_EQ(difference(run_case(test, data, *device), expected), "");
    EXPECT_EQ(last_fault(), "");
  }
}

// What the test above has to be.
TEST(AttendFailure, ALaunchInSlicesIsOneOfMany) {
  reset({.kernels = built_kernels(90)});
  cuda_test::AttendCase test;
  test.lengths = {300, 270, 20};
  test.queries = {1, 1, 1};
  test.partials = false;
  const auto device =
      cuda_test::device_under_test(cuda_test::TestedOptions{.attend_workspace_bytes = 10000});
  run_case(test, make_data(test), *device);
  EXPECT_GT(calls_of("cudaLaunchKernel"), 1) << "the case above is of several launches";
}

}  // namespace
}  // namespace octavo::simulated_gpu
