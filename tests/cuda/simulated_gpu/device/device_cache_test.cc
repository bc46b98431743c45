// A KVCache over a CudaDevice: what it waits for, and what is left of it when the GPU is lost.
#include <cstdint>

#include "tests/cache/support/cache_testing.h"
#include "tests/cuda/simulated_gpu/device/device_testing.h"

namespace octavo::simulated_gpu {
namespace {

using testing::cache_prompt;
using testing::ids;
using testing::Ids;
using testing::prefill;
using testing::step;
using testing::story;

// A paged row and a state row.
KVCache make_cache_on(const std::shared_ptr<Device>& device) {
  return testing::make_cache(
      testing::paged_config(2, device),
      {{}, {.kind = KVLayerKind::State, .conv = {{4, 3}}, .recurrent = {1, 2, 2}}});
}

TEST(DeviceCache, AStepWaitsForNothing) {
  reset({.time = WorkTime::Lazy, .kernels = make_idle_kernels()});
  KVCache cache = make_cache_on(make_cuda_device());
  prefill(cache, 0, story(0, 6));
  prefill(cache, 1, story(1, 3));
  const std::int64_t before = waits();
  const std::int64_t queued_before = queued();
  for (int i = 0; i < 10; ++i) {
    step(cache, {0, 1}, {1, 1});
  }
  EXPECT_EQ(waits(), before);
  EXPECT_GT(queued(), queued_before + 20);
}

// What a step's index tensors hold, whenever the copies are done.
TEST(DeviceCache, IndicesArriveWhole) {
  for (const RuntimeOptions& options : all_times({.kernels = make_idle_kernels()})) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    KVCache cache = make_cache_on(make_small_device());
    prefill(cache, 0, story(0, 6));
    Ids lengths(4);
    lengths[0] = 6;
    for (std::int32_t i = 1; i <= 8; ++i) {
      const auto indices = step(cache, {0, 2}, {2, 1});
      lengths[0] += 2;
      lengths[2] += 1;
      if (i % 4 == 0) {
        EXPECT_EQ(testing::host(cache.seq_lens()), lengths);
        EXPECT_EQ(testing::host(indices.cu_seqlens_q), (Ids{0, 2, 3}));
        EXPECT_EQ(testing::table_row(cache, 2).size(), static_cast<std::size_t>((i + 3) / 4));
      }
    }
    EXPECT_EQ(last_fault(), "");
  }
}

// The GPU is lost at every call of a step in turn.
TEST(DeviceCache, SessionsOfALostGpuAreAbandonedWithoutIt) {
  int nth = 1;
  for (bool lost = true; lost; ++nth) {
    ASSERT_LT(nth, 200);
    SCOPED_TRACE("call " + std::to_string(nth));
    reset({.kernels = make_idle_kernels()});
    KVCache cache = make_cache_on(make_small_device());
    cache_prompt(cache, 0, story(0, 8));
    prefill(cache, 1, story(1, 7));
    const std::int64_t free_blocks = cache.paged_free_blocks();
    lose_gpu_at_call(nth, cudaErrorLaunchFailure);
    try {
      step(cache, {1, 2}, {2, 5});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::DeviceError) << error.what();
    }
    lost = !failed_function().empty();
    const std::int64_t before = calls();
    cache.abandon_batch(1);
    cache.abandon_batch(2);
    EXPECT_NO_THROW(cache.audit());
    EXPECT_EQ(cache.reserved_len(1), 0);
    EXPECT_EQ(cache.reserved_len(2), 0);
    EXPECT_EQ(cache.paged_free_blocks() + cache.paged_quarantined_blocks(),
              cache.paged_num_blocks());
    EXPECT_GE(cache.paged_free_blocks(), free_blocks - 3);
    cache.reset();
    EXPECT_EQ(calls(), before) << "the device was called";
    EXPECT_EQ(cache.paged_free_blocks(), cache.paged_num_blocks());
  }
  EXPECT_GT(nth, 8);
}

// A call that fails once: the step fails, and then the cache goes on.
TEST(DeviceCache, GoesOnBehindAFailure) {
  int nth = 1;
  for (bool failed = true; failed; ++nth) {
    ASSERT_LT(nth, 200);
    SCOPED_TRACE("call " + std::to_string(nth));
    reset({.kernels = make_idle_kernels()});
    KVCache cache = make_cache_on(make_small_device());
    prefill(cache, 0, story(0, 7));
    fail_call(nth, cudaErrorInvalidValue);
    try {
      step(cache, {0, 2}, {2, 5});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::DeviceError) << error.what();
    }
    failed = !failed_function().empty();
    stop_failing();
    static_cast<void>(cudaGetLastError());
    cache.abandon_batch(0);
    cache.abandon_batch(2);
    cache.release_quarantined();
    EXPECT_EQ(cache.admit(0, ids(story(5, 6))), 0);
    step(cache, {0}, {6});
    EXPECT_EQ(testing::host(cache.seq_lens()), (Ids{6, 0, 0, 0}));
    EXPECT_EQ(testing::table_row(cache, 0).size(), 2U);
    EXPECT_NO_THROW(cache.audit());
  }
  EXPECT_GT(nth, 8);
}

}  // namespace
}  // namespace octavo::simulated_gpu
