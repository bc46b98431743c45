// Machine: runs the kernels of PTX files, as nvcc compiled them, without a GPU.
//
// It is exact where PTX is: every instruction does what the PTX ISA says of it, to the bit, but for
// products of floats on tensor cores and ex2.approx, whose results the ISA leaves open within a
// bound. It is stricter than a GPU: an access outside of what is allocated or not aligned to its
// size, a division by zero, a barrier that not all threads come to and a collective that its lanes
// do not meet at end the launch with a MachineError, which says where. Shared memory that nobody
// has written, and what is still being copied, is poison.
//
// Instructions that it does not know are refused when their kernel is first asked for: it knows
// what the kernels of this library are made of.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cuda/simulated_gpu/machine/memory.h"

namespace octavo::simulated_gpu {

/// Kernel, block, thread, PTX line, and what was wrong.
class MachineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Extent {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
};

struct LaunchShape {
  Extent grid;
  Extent block;
  std::uint32_t dynamic_shared_bytes = 0;
};

struct KernelParameter {
  std::uint32_t offset_bytes = 0;  ///< In what a launch passes.
  std::uint32_t size_bytes = 0;
};

/// What a launch needs to know of a kernel.
struct KernelInterface {
  std::vector<KernelParameter> parameters;
  std::uint32_t parameter_bytes = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t threads_max = 1024;  ///< Of a block.
};

class Kernel;

class Machine {
 public:
  /// The kernels of the PTX `text`, which messages call `file`. Of two of one name the later
  /// counts.
  void load(std::string_view text, const std::string& file);

  /// By mangled name; null where there is none. Throws std::runtime_error, with file and line, for
  /// one that the machine cannot read.
  const Kernel* find(const std::string& name) const;

  /// Mangled, in order.
  std::vector<std::string> names() const;

  static const KernelInterface& interface_of(const Kernel& kernel);

  /// Runs the whole grid before it returns. Blocks, and warps between barriers, take turns in an
  /// order drawn from `seed`; 0: as numbered. `parameters` has the kernel's parameter_bytes.
  /// The caller has checked the shape against the device's limits and the kernel's threads_max.
  void run(const Kernel& kernel,
           const LaunchShape& shape,
           std::span<const std::byte> parameters,
           const GpuMemory& memory,
           std::uint64_t seed) const;

  Machine();
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

 private:
  struct Kernels;
  std::unique_ptr<Kernels> kernels_;
};

}  // namespace octavo::simulated_gpu
