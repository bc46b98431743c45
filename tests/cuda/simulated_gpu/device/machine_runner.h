// MachineRunner: the kernels that nvcc made, from the PTX that the library's build keeps, run by a
// Machine.
//
// A file is read when one of its kernels is asked for first. Owned by the runtime's options; may
// outlive a `reset`, so that a program reads a file once. Threads: one call at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda/simulated_gpu/runtime/kernel_runner.h"

namespace octavo::simulated_gpu {

class MachineRunner final : public KernelRunner {
 public:
  /// Of the PTX files in `folder`, those that a driver would choose for a GPU of `capability` (80
  /// or 90). Throws std::runtime_error when there are none.
  MachineRunner(const std::string& folder, int capability);

  /// Mangled, in order.
  std::vector<std::string> names() const;

  const KernelInterface* find(const std::string& name) override;
  void run(const std::string& name,
           const LaunchShape& shape,
           std::span<const std::byte> parameters,
           const GpuMemory& memory,
           std::uint64_t seed) override;

 private:
  const Kernel* load(const std::string& name);

  Machine machine_;
  std::map<std::string, std::string> files_;  ///< By kernel; empty when the file has been read.
};

/// Of this build's library; the same one at every call of a process.
std::shared_ptr<MachineRunner> built_kernels(int capability);

}  // namespace octavo::simulated_gpu
