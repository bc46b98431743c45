// The PTX and the cubins that nvcc made of the library's kernels, as the library's own build keeps
// them.
//
// OCTAVO_KEPT_DIR and OCTAVO_KEPT_SOURCES, which the build sets, say where they are and of what.
#pragma once

#include <string>
#include <vector>

#include "tests/cuda/compiled/cubin.h"
#include "tests/cuda/compiled/ptx.h"

namespace octavo::compiled {

struct KeptPtx {
  std::string source;  ///< "attend_general"
  PtxModule module;
};

struct KeptKernels {
  std::vector<KeptPtx> ptx;             ///< Of each source, one an architecture.
  std::vector<CompiledKernel> kernels;  ///< Of all sources and architectures.
  std::string compiler;                 ///< "13.0.88"
};

/// Throws std::runtime_error, with the file, for what is missing or cannot be read.
KeptKernels read_kept_kernels();

}  // namespace octavo::compiled
