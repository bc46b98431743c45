#include "tests/cuda/simulated_gpu/runtime/test_kernels.h"

#include <cstring>
#include <utility>

#include <cuda_runtime_api.h>

#include "tests/cuda/simulated_gpu/runtime/kernel_names.h"

namespace octavo::simulated_gpu {

void TestKernels::add(const void* host_function,
                      const std::string& name,
                      KernelInterface interface,
                      Body body) {
  kernels_[name] = {std::move(interface), std::move(body)};
  name_kernel(host_function, name);
}

const KernelInterface* TestKernels::find(const std::string& name) {
  const auto found = kernels_.find(name);
  if (found == kernels_.end()) {
    return takes_any_ ? &any_ : nullptr;
  }
  return &found->second.interface;
}

void TestKernels::run(const std::string& name,
                      const LaunchShape& shape,
                      std::span<const std::byte> parameters,
                      const GpuMemory& memory,
                      std::uint64_t /*seed*/) {
  if (runs_++ == fault_at_) {
    throw MachineError(name + ": a fault that the test asked for");
  }
  const auto found = kernels_.find(name);
  if (found != kernels_.end()) {
    found->second.body(shape, parameters, memory);
  }
}

std::shared_ptr<TestKernels> make_idle_kernels() {
  auto kernels = std::make_shared<TestKernels>();
  kernels->take_any();
  return kernels;
}

const char add_one_function = 0;

std::shared_ptr<TestKernels> make_add_one() {
  auto kernels = std::make_shared<TestKernels>();
  const KernelInterface interface {
    .parameters = {{0, 8}, {8, 8}}, .parameter_bytes = 16, .static_shared_bytes = 1024,
    .threads_max = 128
  };
  kernels->add(&add_one_function, "add_one", interface,
               [](const LaunchShape&, std::span<const std::byte> in, const GpuMemory& memory) {
                 std::uint64_t data = 0;
                 std::uint64_t count = 0;
                 std::memcpy(&data, in.data(), sizeof data);
                 std::memcpy(&count, in.data() + sizeof data, sizeof count);
                 if (memory.find(data).end < data + count) {
                   throw MachineError("add_one: outside of what is allocated");
                 }
                 for (std::uint64_t i = 0; i < count; ++i) {
                   std::byte& byte = memory.host(data)[i];
                   byte = static_cast<std::byte>(std::to_integer<unsigned>(byte) + 1);
                 }
               });
  return kernels;
}

cudaError_t launch_add_one(void* data, std::uint64_t count, cudaStream_t stream) {
  void* arguments[] = {&data, &count};
  return cudaLaunchKernel(&add_one_function, dim3(1), dim3(32), arguments, 0, stream);
}

}  // namespace octavo::simulated_gpu
