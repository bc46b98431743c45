// The kernels in a cubin, the ELF file of machine code that ptxas writes: what they need, and their
// instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda/compiled/elf.h"
#include "tests/cuda/compiled/sass.h"

namespace octavo::compiled {

struct CompiledKernel {
  std::string mangled;
  std::string name;                ///< Short: "attend_general<true, false>".
  int architecture = 0;            ///< 80, 90
  std::size_t registers = 0;       ///< A thread's.
  std::size_t shared_bytes = 0;    ///< Static, without what CUDA itself keeps there.
  std::size_t frame_bytes = 0;     ///< Of local memory, a thread's.
  std::size_t local_accesses = 0;  ///< Instructions that read or write local memory: spills.
  std::size_t instructions = 0;    ///< With the subroutines, without the padding after the last.
  SassCode code;
};

/// Throws std::runtime_error for what is no cubin, or is damaged.
std::vector<CompiledKernel> read_cubin(Bytes bytes);

/// A mangled name as people write it, without what it returns, its parameters, and the namespace of
/// the kernels.
std::string short_name(const std::string& mangled);

}  // namespace octavo::compiled
