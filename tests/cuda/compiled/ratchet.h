// What every compiled kernel needs, as a file of the repository holds it, so that a change that
// makes a kernel take more is seen.
//
// The file is text: a first line with the compiler, then a line a kernel and architecture.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cuda/compiled/cubin.h"

namespace octavo::compiled {

struct KernelFigures {
  int architecture = 0;
  std::string name;
  std::size_t registers = 0;
  std::size_t local_accesses = 0;
  std::size_t shared_bytes = 0;
  std::size_t instructions = 0;

  bool operator==(const KernelFigures&) const = default;
};

struct Ratchet {
  std::string compiler;  ///< "13.0.88"
  std::vector<KernelFigures> kernels;

  bool operator==(const Ratchet&) const = default;
};

/// By architecture and name. Of a kernel that several files compile, the larger figures.
std::vector<KernelFigures> figures_of(std::span<const CompiledKernel> kernels);

/// Throws std::runtime_error, with the line, for what write_ratchet does not write.
Ratchet read_ratchet(std::string_view text);
std::string write_ratchet(const Ratchet& ratchet);

struct RatchetFindings {
  std::vector<std::string> failures;
  std::vector<std::string> improvements;  ///< Kernels that need less than their line allows.
};

/// A kernel may need no more registers, local accesses and shared memory than its line says; and
/// kernels and lines belong to each other. The number of instructions is for readers.
RatchetFindings compare(std::span<const KernelFigures> allowed,
                        std::span<const KernelFigures> found);

}  // namespace octavo::compiled
