// CudaDevice while a graph is being captured: what it refuses without harm, what it lets in.
#include <string_view>

#include "tests/cuda/attend_case.h"
#include "tests/cuda/simulated_gpu/device/device_testing.h"
#include "tests/cuda/simulated_gpu/device/graph_device.h"

namespace octavo::simulated_gpu {
namespace {

using cuda_test::AttendCase;

constexpr unsigned kStreamFlags[] = {cudaStreamNonBlocking, cudaStreamDefault};

cudaStream_t begin_capture(unsigned flags = cudaStreamNonBlocking) {
  const cudaStream_t stream = make_stream(flags);
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  return stream;
}

// The capture must be whole.
cudaGraphExec_t end_capture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  return executable;
}

TEST(DeviceCapture, WhatAReplayCouldNotRepeatIsRefused) {
  reset();
  const auto device = make_small_device();
  const ScopedBytes bytes(device, 100);
  Bytes host(100);
  // In a stream that is captured itself, and in the default stream beside a blocking one.
  for (const unsigned flags : kStreamFlags) {
    const cudaStream_t stream = begin_capture(flags);
    {
      const CudaStreamGuard guard(flags == cudaStreamNonBlocking ? stream : nullptr);
      EXPECT_EQ(code_of([&] { device->allocate(100); }), ErrorCode::FailedPrecondition);
      EXPECT_EQ(code_of([&] { upload(*device, bytes.data(), host); }),
                ErrorCode::FailedPrecondition);
      EXPECT_EQ(code_of([&] { download(*device, bytes.data(), 100); }),
                ErrorCode::FailedPrecondition);
    }
    end_capture(stream);
  }
  EXPECT_EQ(download(*device, bytes.data(), 100), Bytes(100));
}

TEST(DeviceCapture, CopiesAndFillsAreReplayed) {
  for (const RuntimeOptions& options : all_times()) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    const auto device = make_small_device();
    const ScopedBytes first(device, 100);
    const ScopedBytes second(device, 100);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const cudaStream_t stream = begin_capture();
    const CudaStreamGuard guard(stream);
    device->copy(second.data(), first.data(), 100);
    device->fill(second.data(), 9, 10);
    const cudaGraphExec_t executable = end_capture(stream);
    EXPECT_EQ(download(*device, second.data(), 100), Bytes(100));
    for (unsigned round = 0; round < 3; ++round) {
      Bytes bytes = some_bytes(100, round);
      upload(*device, first.data(), bytes);
      ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
      std::fill_n(bytes.begin(), 10, std::uint8_t{9});
      EXPECT_EQ(download(*device, second.data(), 100), bytes);
    }
  }
}

// A tensor goes while its thread captures: its memory was not a graph's.
TEST(DeviceCapture, MemoryMayBeGivenBackInOne) {
  for (const RuntimeOptions& options : all_times()) {
    for (const unsigned flags : kStreamFlags) {
      SCOPED_TRACE(to_text(options));
      reset(options);
      auto device = make_small_device();
      const std::int64_t before = live().device_allocations;
      const cudaStream_t stream = make_stream(flags);
      {
        const CudaStreamGuard guard(flags == cudaStreamNonBlocking ? stream : nullptr);
        void* const data = device->allocate(100);
        device->fill(data, 1, 100);
        ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
        device->deallocate(data, 100);
        end_capture(stream);
        device->deallocate(device->allocate(100), 100);
      }
      EXPECT_EQ(live().device_allocations, before) << "it went with a later call";
      {
        void* const data = device->allocate(100);
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        const CudaStreamGuard guard(stream);
        device->fill(data, 2, 100);
        ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
        device->deallocate(data, 100);
        end_capture(stream);
      }
      device.reset();
      EXPECT_EQ(live().device_allocations, 0) << "or with the device";
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      EXPECT_EQ(last_fault(), "");
    }
  }
}

AttendCase attend_case(std::int32_t length) {
  AttendCase made;
  made.lengths = {length};
  made.queries = {1};
  made.partials = false;
  return made;
}

TEST(DeviceCapture, AWorkspaceGrowsOutsideOnly) {
  reset({.kernels = make_idle_kernels()});
  const auto device = make_small_device();
  GraphDevice captured(device, make_stream());
  const AttendCase small = attend_case(600);
  EXPECT_EQ(code_of([&] { run_case(small, make_data(small), captured); }),
            ErrorCode::FailedPrecondition);
  run_case(small, make_data(small), *device);
  run_case(small, make_data(small), captured);
}

// Replays of a graph use the workspace of its capture, also when a larger one has come since.
TEST(DeviceCapture, TheWorkspaceOfAGraphStays) {
  reset({.kernels = make_idle_kernels()});
  auto device = make_small_device();
  GraphDevice captured(device, make_stream());
  const auto run = [&](std::int32_t length, Device& on) {
    const AttendCase test = attend_case(length);
    run_case(test, make_data(test), on);
  };
  run(600, *device);
  const std::int64_t before = live().device_allocations;
  run(1200, *device);
  EXPECT_EQ(live().device_allocations, before) << "what nobody captured goes";
  run(1200, captured);
  run(2400, *device);
  EXPECT_EQ(live().device_allocations, before + 1) << "what a graph uses stays";
  run(4800, *device);
  EXPECT_EQ(live().device_allocations, before + 1);
}

}  // namespace
}  // namespace octavo::simulated_gpu
