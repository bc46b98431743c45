// Launches: which shapes are taken, parameters, faults.
#include "tests/cuda/simulated_gpu/runtime/runtime_testing.h"

namespace octavo::simulated_gpu {
namespace {

struct Shape {
  dim3 grid = dim3(1);
  dim3 block = dim3(32);
  std::size_t shared_bytes = 0;
};

cudaError_t launch_shape(const Shape& shape) {
  void* data = nullptr;
  std::uint64_t count = 0;
  void* arguments[] = {&data, &count};
  const cudaError_t status = cudaLaunchKernel(&add_one_function, shape.grid, shape.block, arguments,
                                              shape.shared_bytes, nullptr);
  EXPECT_EQ(cudaGetLastError(), status);
  return status;
}

std::shared_ptr<TestKernels> make_unbound() {
  auto kernels = std::make_shared<TestKernels>();
  kernels->add(&add_one_function, "unbound", {.parameters = {}, .static_shared_bytes = 1024},
               [](auto&&...) {});
  return kernels;
}

TEST(Launch, ShapesThatNoGpuTakesAreRefused) {
  reset({.kernels = make_unbound()});
  EXPECT_EQ(launch_shape({}), cudaSuccess);
  EXPECT_EQ(launch_shape({.grid = dim3(2147483647, 65535, 65535)}), cudaSuccess);
  EXPECT_EQ(launch_shape({.grid = dim3(2147483648)}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_shape({.grid = dim3(1, 65536)}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_shape({.grid = dim3(1, 1, 65536)}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_shape({.grid = dim3(0)}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_shape({.grid = dim3(1, 0)}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_shape({.grid = dim3(1, 1, 0)}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_shape({.block = dim3(0)}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_shape({.block = dim3(1024)}), cudaSuccess);
  EXPECT_EQ(launch_shape({.block = dim3(1025)}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_shape({.block = dim3(32, 33)}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_shape({.block = dim3(1, 1, 65)}), cudaErrorInvalidConfiguration);
}

TEST(Launch, ABlockHasNoMoreThreadsThanItsKernelWasCompiledFor) {
  reset({.kernels = make_add_one()});
  EXPECT_EQ(launch_shape({.block = dim3(128)}), cudaSuccess);
  EXPECT_EQ(launch_shape({.block = dim3(129)}), cudaErrorInvalidValue);
}

TEST(Launch, SharedMemoryBeyond48KiBIsAskedFor) {
  for (const int capability : {80, 90}) {
    reset({.capability = capability, .kernels = make_add_one()});
    constexpr std::size_t kUnasked = (48 << 10) - 1024;  // Its static memory counts.
    EXPECT_EQ(launch_shape({.shared_bytes = kUnasked}), cudaSuccess);
    EXPECT_EQ(launch_shape({.shared_bytes = kUnasked + 1}), cudaErrorInvalidValue);
    const int most = ((capability == 90 ? 227 : 163) << 10) - 1024;
    const auto ask = [](int size_bytes) {
      return cudaFuncSetAttribute(&add_one_function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  size_bytes);
    };
    EXPECT_EQ(ask(most + 1), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    EXPECT_EQ(ask(most), cudaSuccess);
    EXPECT_EQ(launch_shape({.shared_bytes = static_cast<std::size_t>(most)}), cudaSuccess);
    EXPECT_EQ(launch_shape({.shared_bytes = static_cast<std::size_t>(most) + 1}),
              cudaErrorInvalidValue);
  }
}

TEST(Launch, AKernelThatTheGpuDoesNotHaveIsRefused) {
  reset();
  EXPECT_EQ(launch_shape({}), cudaErrorNoKernelImageForDevice);
}

TEST(Launch, ParametersAreThoseOfTheCall) {
  reset({.time = WorkTime::Lazy, .kernels = make_add_one()});
  auto* const data = static_cast<std::uint8_t*>(device_bytes(8, 0));
  {
    void* from = data + 1;
    std::uint64_t count = 3;
    void* arguments[] = {&from, &count};
    EXPECT_EQ(cudaLaunchKernel(&add_one_function, dim3(1), dim3(1), arguments, 0, nullptr),
              cudaSuccess);
    from = nullptr;
    count = 99;
  }
  EXPECT_EQ(read_bytes(data, 8), (Bytes{0, 1, 1, 1, 0, 0, 0, 0}));
}

TEST(Launch, OfAnotherGpusStreamIsRefused) {
  reset({.num_gpus = 2, .kernels = make_add_one()});
  void* const data = device_bytes(8, 0);
  const cudaStream_t stream = make_stream();
  EXPECT_EQ(launch_add_one(data, 8, stream), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(launch_add_one(data, 8, stream), cudaErrorInvalidResourceHandle);
}

TEST(Launch, AFaultLosesTheGpu) {
  for (const RuntimeOptions& options : all_times({.num_gpus = 2, .kernels = make_add_one()})) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    void* const data = device_bytes(8, 0);
    EXPECT_EQ(launch_add_one(data, 9, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_EQ(last_fault(), "add_one: outside of what is allocated");
    EXPECT_EQ(cudaMemsetAsync(data, 0, 8, nullptr), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaFree(data), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress) << "sticky";
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
    void* const other = device_bytes(8, 5);
    EXPECT_EQ(read_bytes(other, 8), Bytes(8, 5)) << "the other GPU is whole";
    reset(options);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
}

}  // namespace
}  // namespace octavo::simulated_gpu
