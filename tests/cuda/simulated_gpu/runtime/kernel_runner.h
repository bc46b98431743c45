// KernelRunner: what the simulated runtime launches kernels with. Tests of the runtime itself have
// kernels of their own; all others have MachineRunner.
//
// Threads: one call at a time; the runtime holds its lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tests/cuda/simulated_gpu/machine/machine.h"

namespace octavo::simulated_gpu {

class KernelRunner {
 public:
  virtual ~KernelRunner() = default;

  /// By mangled name; null where a GPU of this compute capability has no such kernel.
  virtual const KernelInterface* find(const std::string& name) = 0;

  /// As Machine::run. Throws MachineError.
  virtual void run(const std::string& name,
                   const LaunchShape& shape,
                   std::span<const std::byte> parameters,
                   const GpuMemory& memory,
                   std::uint64_t seed) = 0;
};

}  // namespace octavo::simulated_gpu
