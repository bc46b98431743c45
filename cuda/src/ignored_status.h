// For calls of the CUDA runtime whose failure nobody could do anything about: what is given back
// when the GPU is gone.
//
// Threads: any.
#pragma once

#include <cuda_runtime_api.h>

namespace octavo::cuda {
inline namespace gpu {

/// Forgets a failure, which CUDA would keep for the next launch to report.
inline void ignore(cudaError_t status) noexcept {
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
  }
}

}  // namespace gpu
}  // namespace octavo::cuda
