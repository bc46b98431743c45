// Kernels that a test writes in C++, for what is no test of a kernel.
//
// Owned by the runtime's options and the test. Threads: one at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tests/cuda/simulated_gpu/runtime/runtime.h"

namespace octavo::simulated_gpu {

class TestKernels final : public KernelRunner {
 public:
  using Body = std::function<void(
      const LaunchShape& shape, std::span<const std::byte> parameters, const GpuMemory&)>;

  /// Names the kernel to the runtime as well, as name_kernel does.
  void add(const void* host_function,
           const std::string& name,
           KernelInterface interface,
           Body body);
  /// Whatever else is launched does nothing, with parameters that nobody looks at.
  void take_any() { takes_any_ = true; }
  /// The launch after the next `successes` ones faults.
  void fault_after(std::int64_t successes) { fault_at_ = runs_ + successes; }

  /// Launches that have been run.
  std::int64_t runs() const { return runs_; }

  const KernelInterface* find(const std::string& name) override;
  void run(const std::string& name,
           const LaunchShape& shape,
           std::span<const std::byte> parameters,
           const GpuMemory& memory,
           std::uint64_t seed) override;

 private:
  struct Kernel {
    KernelInterface interface;
    Body body;
  };

  std::map<std::string, Kernel> kernels_;
  KernelInterface any_;
  bool takes_any_ = false;
  std::int64_t runs_ = 0;
  std::int64_t fault_at_ = -1;
};

/// Kernels that all do nothing.
std::shared_ptr<TestKernels> make_idle_kernels();

/// Adds one to each of the `count` bytes at `data`: parameters (void* data, std::uint64_t count).
/// Its threads_max is 128 and it has 1024 bytes of static shared memory.
extern const char add_one_function;
std::shared_ptr<TestKernels> make_add_one();
/// Queues add_one on the stream. The error of the launch.
cudaError_t launch_add_one(void* data, std::uint64_t count, cudaStream_t stream);

}  // namespace octavo::simulated_gpu
