#include <string>

#include "kernels/platform.cuh"
#include "octavo/error.h"

namespace octavo::cuda {
inline namespace gpu {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) {
    return;
  }
  // What is not sticky must not be reported by the next launch as well.
  static_cast<void>(cudaGetLastError());
  const ErrorCode code =
      status == cudaErrorMemoryAllocation ? ErrorCode::ResourceExhausted : ErrorCode::DeviceError;
  throw Error(code, std::string(call) + ": " + cudaGetErrorName(status) + ": " +
                        cudaGetErrorString(status));
}

}  // namespace gpu
}  // namespace octavo::cuda
