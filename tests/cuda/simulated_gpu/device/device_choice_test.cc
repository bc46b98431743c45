// Which GPU a CudaDevice is made on, what it refuses, and two of them.
#include "tests/cuda/simulated_gpu/device/device_testing.h"

namespace octavo::simulated_gpu {
namespace {

ErrorCode refusal(const CudaDeviceOptions& options) {
  return code_of([&] { make_cuda_device(options); });
}

TEST(DeviceChoice, OptionsAreChecked) {
  reset({.num_gpus = 2});
  EXPECT_EQ(cuda_device_count(), 2);
  EXPECT_EQ(refusal({.ordinal = -1}), ErrorCode::InvalidArgument);
  EXPECT_EQ(refusal({.ordinal = 2}), ErrorCode::InvalidArgument);
  EXPECT_EQ(refusal({.staging_bytes = 4095}), ErrorCode::InvalidArgument);
  EXPECT_EQ(refusal({.workspace_bytes = -1}), ErrorCode::InvalidArgument);
  EXPECT_EQ(calls_of("cudaHostAlloc"), 0) << "before anything is made";
  reset({.num_gpus = 0});
  EXPECT_EQ(cuda_device_count(), 0);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_EQ(refusal({}), ErrorCode::DeviceError);
}

TEST(DeviceChoice, AnOldGpuIsRefused) {
  reset({.capability = 75});
  EXPECT_EQ(refusal({}), ErrorCode::Unimplemented);
  reset({.capability = 80});
  EXPECT_EQ(make_small_device()->kind(), DeviceKind::Cuda);
}

TEST(DeviceChoice, MemoryThatIsNotThereIsResourceExhausted) {
  reset({.memory_bytes = 1 << 20});
  EXPECT_EQ(refusal({.workspace_bytes = 1 << 20}), ErrorCode::ResourceExhausted);
  EXPECT_EQ(live(), Live{});
  const auto device = make_small_device();
  EXPECT_EQ(code_of([&] { device->allocate(1 << 20); }), ErrorCode::ResourceExhausted);
  EXPECT_EQ(code_of([&] { device->allocate(-1); }), ErrorCode::InvalidArgument);
  const ScopedBytes bytes(device, 1000);
  EXPECT_EQ(download(*device, bytes.data(), 1000), Bytes(1000));
}

void use_second_gpu(bool on_own_stream) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  const cudaStream_t stream = on_own_stream ? make_stream() : nullptr;
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  const auto device = make_small_device(1);
  EXPECT_EQ(device->name(), "cuda:1");
  const CudaStreamGuard guard(stream);
  for (int round = 0; round < 5; ++round) {
    const ScopedBytes first(device, 2000);
    const ScopedBytes second(device, 2000);
    const Bytes bytes = some_bytes(2000, static_cast<unsigned>(round));
    upload(*device, first.data(), bytes);
    device->copy(second.data(), first.data(), 2000);
    if (round % 2 == 0) {
      EXPECT_EQ(download(*device, second.data(), 2000), bytes);
    }
    device->fill(first.data(), 3, 2000);
  }
}

TEST(DeviceChoice, ASecondGpuIsUsedWhicheverIsCurrent) {
  for (const RuntimeOptions& options : all_times({.num_gpus = 2})) {
    for (const bool on_own_stream : {false, true}) {
      SCOPED_TRACE(to_text(options));
      reset(options);
      use_second_gpu(on_own_stream);
      int current = -1;
      EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
      EXPECT_EQ(current, 0);
      EXPECT_EQ(live().device_allocations, 0);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      EXPECT_EQ(last_fault(), "");
    }
  }
}

}  // namespace
}  // namespace octavo::simulated_gpu
