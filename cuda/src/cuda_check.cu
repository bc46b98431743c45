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

std::size_t hopper_shared_bytes() {
  int device = 0;
  int capability = 0;
  int bytes = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, device),
        "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "cudaDeviceGetAttribute");
  return capability < 9 ? 0 : static_cast<std::size_t>(bytes);
}

}  // namespace gpu
}  // namespace octavo::cuda
