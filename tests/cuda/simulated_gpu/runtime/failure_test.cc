// Failures that a test asks for, and what is counted.
#include <string>

#include "tests/cuda/simulated_gpu/runtime/runtime_testing.h"

namespace octavo::simulated_gpu {
namespace {

TEST(Failure, TheNthCallFailsOnceAndDoesNothing) {
  reset();
  void* const data = device_bytes(4, 1);
  fail_call(2, cudaErrorLaunchFailure);
  EXPECT_EQ(cudaMemset(data, 2, 1), cudaSuccess);
  EXPECT_EQ(failed_function(), "");
  EXPECT_EQ(cudaMemset(data, 3, 4), cudaErrorLaunchFailure);
  EXPECT_EQ(failed_function(), "cudaMemset");
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(read_bytes(data, 4), (Bytes{2, 1, 1, 1}));
}

TEST(Failure, AGpuIsLostFromACallOn) {
  reset({.num_gpus = 2});
  void* const data = device_bytes(4, 1);
  lose_gpu_at_call(2, cudaErrorLaunchFailure);
  EXPECT_EQ(cudaMemset(data, 2, 1), cudaSuccess);
  EXPECT_EQ(cudaMemset(data, 2, 1), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaMemset(data, 2, 1), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  int device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess) << "the host knows it by itself";
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(Failure, CallsAndWaitsAreCounted) {
  reset();
  EXPECT_EQ(calls(), 0);
  void* const data = device_bytes(4, 1);
  EXPECT_EQ(calls(), 3);
  EXPECT_EQ(calls_of("cudaMalloc"), 1);
  EXPECT_EQ(calls_of("cudaMemset"), 1);
  EXPECT_EQ(calls_of("cudaFree"), 0);
  EXPECT_EQ(waits(), 1);
  EXPECT_EQ(queued(), 1);
  EXPECT_EQ(cudaMemsetAsync(data, 0, 4, nullptr), cudaSuccess);
  EXPECT_EQ(queued(), 2);
  EXPECT_EQ(waits(), 1);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(calls(), 4) << "a question about errors is no call";
}

TEST(Failure, AWaitForNothingDoesNotBlock) {
  reset({.time = WorkTime::Lazy});
  void* const data = device_bytes(4, 1);
  const cudaStream_t stream = make_stream();
  EXPECT_EQ(cudaMemsetAsync(data, 2, 4, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(blocking_waits(), 1);
}

TEST(Failure, WithoutAGpuThereIsNone) {
  reset({.num_gpus = 0});
  int count = -1;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  EXPECT_EQ(count, 0);
  void* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, 4), cudaErrorNoDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNoDevice);
}

TEST(Failure, ErrorsHaveTheirNames) {
  EXPECT_EQ(std::string(cudaGetErrorName(cudaErrorStreamCaptureImplicit)),
            "cudaErrorStreamCaptureImplicit");
}

}  // namespace
}  // namespace octavo::simulated_gpu
