// What gpu_bandwidth times, small enough for a simulated GPU: every case is queued, captured in a
// graph and replayed as it would be there. Times mean nothing here.
#include "tests/bench/gpu/gpu_cases.h"

#include <memory>
#include <set>
#include <string>

#include "octavo/cuda/cuda_device.h"
#include <gtest/gtest.h>

#include "tests/bench/gpu/gpu_timer.h"

namespace octavo::simulated_gpu {
namespace {

TEST(GpuCases, AreQueuedCapturedAndReplayed) {
  constexpr std::int64_t kShrink = 64;
  bench::GpuTimer timer;
  std::set<std::string> names;
  bench::for_each_gpu_case(
      make_cuda_device({.tuned_only = true}), make_cuda_device({.fast = true, .tuned_only = true}),
      [&](const bench::GpuCase& item) {
        SCOPED_TRACE(item.name);
        EXPECT_TRUE(names.insert(item.name).second) << "the same name twice";
        EXPECT_GT(timer.median_us(item.work, 1, 1), 0);
        EXPECT_GT(item.goal, 0);
      },
      kShrink);
  EXPECT_EQ(names.size(), 29u);
}

}  // namespace
}  // namespace octavo::simulated_gpu
