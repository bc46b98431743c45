// Kernels: how a program makes them known, and how it launches them.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include <cuda_runtime_api.h>

#include "tests/cuda/simulated_gpu/runtime/call.h"
#include "tests/cuda/simulated_gpu/runtime/kernel_names.h"
#include "tests/cuda/simulated_gpu/runtime/submission.h"

namespace octavo::simulated_gpu {
namespace {

constexpr std::int64_t kUnaskedSharedBytes = 48 << 10;

/// By the address of the host's function of that kernel, which a launch names. Those that nvcc made
/// are there before main begins.
std::map<const void*, std::string>& kernel_names() {
  static auto* const names = new std::map<const void*, std::string>;
  return *names;
}

struct CallConfiguration {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};

std::optional<CallConfiguration>& pushed() {
  thread_local std::optional<CallConfiguration> configuration;
  return configuration;
}

std::int64_t shared_bytes_max(const Runtime& runtime) {
  return (runtime.options.capability >= 90 ? 227 : 163) << 10;
}

bool is_within(const dim3& size, std::array<unsigned, 3> most) {
  return size.x >= 1 && size.x <= most[0] && size.y >= 1 && size.y <= most[1] && size.z >= 1 &&
         size.z <= most[2];
}

cudaError_t check_shape(const Runtime& runtime,
                        const void* host_function,
                        const KernelInterface& kernel,
                        const CallConfiguration& shape) {
  const std::uint64_t threads = std::uint64_t{shape.block.x} * shape.block.y * shape.block.z;
  if (!is_within(shape.grid, {2147483647u, 65535u, 65535u}) ||
      !is_within(shape.block, {1024u, 1024u, 64u}) || threads > 1024) {
    return cudaErrorInvalidConfiguration;
  }
  if (threads > kernel.threads_max) {
    return cudaErrorInvalidValue;
  }
  const auto asked = runtime.dynamic_shared_bytes.find(host_function);
  const std::int64_t allowed =
      asked == runtime.dynamic_shared_bytes.end()
          ? std::max<std::int64_t>(0, kUnaskedSharedBytes - kernel.static_shared_bytes)
          : asked->second;
  return static_cast<std::int64_t>(shape.shared_bytes) > allowed ? cudaErrorInvalidValue
                                                                 : cudaSuccess;
}

std::vector<std::byte> packed(const KernelInterface& kernel, void* const* arguments) {
  std::vector<std::byte> bytes(kernel.parameter_bytes);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const KernelParameter& parameter = kernel.parameters[i];
    std::memcpy(bytes.data() + parameter.offset_bytes, arguments[i], parameter.size_bytes);
  }
  return bytes;
}

LaunchShape to_shape(const CallConfiguration& from) {
  return {.grid = {from.grid.x, from.grid.y, from.grid.z},
          .block = {from.block.x, from.block.y, from.block.z},
          .dynamic_shared_bytes = static_cast<std::uint32_t>(from.shared_bytes)};
}

/// What a launch does to a GPU, as often as it is asked.
Act to_act(Runtime& runtime,
           const std::string& name,
           LaunchShape shape,
           std::vector<std::byte> in) {
  return [&runtime, name, shape, in = std::move(in)](Gpu& gpu) {
    const std::uint64_t seed =
        runtime.options.seed == 0 ? 0 : runtime.scheduler.random().next() | 1u;
    try {
      runtime.options.kernels->run(name, shape, in, gpu.memory, seed);
    } catch (const MachineError& error) {
      throw Fault(error.what());
    }
  };
}

const KernelInterface* find_kernel(const Runtime& runtime, const void* host_function) {
  const auto name = kernel_names().find(host_function);
  return name == kernel_names().end() || runtime.options.kernels == nullptr
             ? nullptr
             : runtime.options.kernels->find(name->second);
}

cudaError_t launch(Runtime& runtime,
                   const void* host_function,
                   const CallConfiguration& shape,
                   void* const* arguments) {
  Stream* const stream = runtime.find_stream(shape.stream);
  if (stream == nullptr || stream->gpu != &runtime.current_gpu()) {
    return cudaErrorInvalidResourceHandle;
  }
  const KernelInterface* const kernel = find_kernel(runtime, host_function);
  if (kernel == nullptr) {
    return cudaErrorNoKernelImageForDevice;
  }
  const cudaError_t status = check_shape(runtime, host_function, *kernel, shape);
  if (status != cudaSuccess) {
    return status;
  }
  ++runtime.queued;
  return submit(
      runtime, *stream,
      to_act(runtime, kernel_names()[host_function], to_shape(shape), packed(*kernel, arguments)));
}

cudaError_t set_dynamic_shared(Runtime& runtime, const void* host_function, int size_bytes) {
  const KernelInterface* const kernel = find_kernel(runtime, host_function);
  if (kernel == nullptr) {
    return cudaErrorInvalidDeviceFunction;
  }
  if (size_bytes < 0 ||
      size_bytes + std::int64_t{kernel->static_shared_bytes} > shared_bytes_max(runtime)) {
    return cudaErrorInvalidValue;
  }
  runtime.dynamic_shared_bytes[host_function] = size_bytes;
  return cudaSuccess;
}

}  // namespace

void name_kernel(const void* host_function, const std::string& name) {
  with_runtime([&](Runtime&) { kernel_names()[host_function] = name; });
}

}  // namespace octavo::simulated_gpu

using octavo::simulated_gpu::Runtime;

// Their declarations are nvcc's own.
extern "C" {

void** CUDARTAPI __cudaRegisterFatBinary(void* binary);
void CUDARTAPI __cudaRegisterFatBinaryEnd(void** handle);
void CUDARTAPI __cudaUnregisterFatBinary(void** handle);
void CUDARTAPI __cudaRegisterFunction(void** handle,
                                      const char* host_function,
                                      char* device_function,
                                      const char* name,
                                      int thread_limit,
                                      uint3* thread,
                                      uint3* block,
                                      dim3* block_size,
                                      dim3* grid_size,
                                      int* warp_size);
unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid,
                                               dim3 block,
                                               std::size_t shared_bytes,
                                               CUstream_st* stream);
cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3* grid,
                                                 dim3* block,
                                                 std::size_t* shared_bytes,
                                                 void* stream);
cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t* kernel, const void* host_function);
cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel,
                                         dim3 grid,
                                         dim3 block,
                                         void** arguments,
                                         std::size_t shared_bytes,
                                         cudaStream_t stream);

void** CUDARTAPI __cudaRegisterFatBinary(void* /*binary*/) {
  static void* nothing = nullptr;
  return &nothing;
}

void CUDARTAPI __cudaRegisterFatBinaryEnd(void** /*handle*/) {}

void CUDARTAPI __cudaUnregisterFatBinary(void** /*handle*/) {}

void CUDARTAPI __cudaRegisterFunction(void** /*handle*/,
                                      const char* host_function,
                                      char* /*device_function*/,
                                      const char* name,
                                      int /*thread_limit*/,
                                      uint3* /*thread*/,
                                      uint3* /*block*/,
                                      dim3* /*block_size*/,
                                      dim3* /*grid_size*/,
                                      int* /*warp_size*/) {
  octavo::simulated_gpu::name_kernel(host_function, name);
}

unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid,
                                               dim3 block,
                                               std::size_t shared_bytes,
                                               CUstream_st* stream) {
  octavo::simulated_gpu::pushed() = {grid, block, shared_bytes, stream};
  return 0;
}

cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3* grid,
                                                 dim3* block,
                                                 std::size_t* shared_bytes,
                                                 void* stream) {
  auto& pushed = octavo::simulated_gpu::pushed();
  if (!pushed.has_value()) {
    return cudaErrorMissingConfiguration;
  }
  *grid = pushed->grid;
  *block = pushed->block;
  *shared_bytes = pushed->shared_bytes;
  *static_cast<cudaStream_t*>(stream) = pushed->stream;
  pushed.reset();
  return cudaSuccess;
}

// Asked once a process for each kernel: its host function is as good a name as any.
cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(host_function));
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaLaunchKernel(const void* host_function,
                                       dim3 grid,
                                       dim3 block,
                                       void** arguments,
                                       std::size_t shared_bytes,
                                       cudaStream_t stream) {
  return octavo::simulated_gpu::call("cudaLaunchKernel", [&](Runtime& runtime) {
    return octavo::simulated_gpu::launch(runtime, host_function,
                                         {grid, block, shared_bytes, stream}, arguments);
  });
}

cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel,
                                         dim3 grid,
                                         dim3 block,
                                         void** arguments,
                                         std::size_t shared_bytes,
                                         cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t CUDARTAPI cudaFuncSetAttribute(const void* host_function,
                                           cudaFuncAttribute attribute,
                                           int value) {
  return octavo::simulated_gpu::call("cudaFuncSetAttribute", [&](Runtime& runtime) {
    return attribute == cudaFuncAttributeMaxDynamicSharedMemorySize
               ? octavo::simulated_gpu::set_dynamic_shared(runtime, host_function, value)
               : cudaErrorInvalidValue;
  });
}

}  // extern "C"
