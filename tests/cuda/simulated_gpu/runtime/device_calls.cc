// Which GPUs there are, and errors.
#include <algorithm>
#include <array>

#include <cuda_runtime_api.h>

#include "tests/cuda/simulated_gpu/runtime/call.h"

namespace octavo::simulated_gpu {
namespace {

cudaError_t find_attribute(const Runtime& runtime, cudaDeviceAttr attribute, int& value) {
  const bool is_hopper = runtime.options.capability >= 90;
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      value = runtime.options.capability / 10;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      value = runtime.options.capability % 10;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      value = (is_hopper ? 227 : 163) << 10;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      value = is_hopper ? 132 : 108;
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}

bool is_gpu(const Runtime& runtime, int ordinal) {
  return ordinal >= 0 && ordinal < runtime.options.num_gpus;
}

struct NamedError {
  cudaError_t error;
  const char* name;
};

#define OCTAVO_NAMED(error) \
  NamedError {              \
    error, #error           \
  }
constexpr std::array kNames = {
    OCTAVO_NAMED(cudaSuccess),
    OCTAVO_NAMED(cudaErrorInvalidValue),
    OCTAVO_NAMED(cudaErrorMemoryAllocation),
    OCTAVO_NAMED(cudaErrorInvalidConfiguration),
    OCTAVO_NAMED(cudaErrorInvalidMemcpyDirection),
    OCTAVO_NAMED(cudaErrorMissingConfiguration),
    OCTAVO_NAMED(cudaErrorInvalidDeviceFunction),
    OCTAVO_NAMED(cudaErrorNoDevice),
    OCTAVO_NAMED(cudaErrorInvalidDevice),
    OCTAVO_NAMED(cudaErrorNoKernelImageForDevice),
    OCTAVO_NAMED(cudaErrorInvalidResourceHandle),
    OCTAVO_NAMED(cudaErrorIllegalState),
    OCTAVO_NAMED(cudaErrorNotReady),
    OCTAVO_NAMED(cudaErrorIllegalAddress),
    OCTAVO_NAMED(cudaErrorLaunchOutOfResources),
    OCTAVO_NAMED(cudaErrorLaunchFailure),
    OCTAVO_NAMED(cudaErrorStreamCaptureUnsupported),
    OCTAVO_NAMED(cudaErrorStreamCaptureInvalidated),
    OCTAVO_NAMED(cudaErrorStreamCaptureMerge),
    OCTAVO_NAMED(cudaErrorStreamCaptureUnmatched),
    OCTAVO_NAMED(cudaErrorStreamCaptureUnjoined),
    OCTAVO_NAMED(cudaErrorStreamCaptureIsolation),
    OCTAVO_NAMED(cudaErrorStreamCaptureImplicit),
    OCTAVO_NAMED(cudaErrorStreamCaptureWrongThread),
    OCTAVO_NAMED(cudaErrorCapturedEvent),
    OCTAVO_NAMED(cudaErrorUnknown),
};
#undef OCTAVO_NAMED

/// A lost GPU is not forgotten.
cudaError_t find_last_error(bool forget) {
  cudaError_t status = cudaSuccess;
  with_runtime([&](Runtime& runtime) {
    status = runtime.gpus.empty() ? cudaSuccess : runtime.current_gpu().lost;
  });
  if (status == cudaSuccess) {
    status = last_error();
  }
  if (forget) {
    last_error() = cudaSuccess;
  }
  return status;
}

}  // namespace
}  // namespace octavo::simulated_gpu

using octavo::simulated_gpu::CallKind;
using octavo::simulated_gpu::Runtime;

extern "C" {

cudaError_t CUDARTAPI cudaGetDeviceCount(int* count) {
  return octavo::simulated_gpu::call(
      "cudaGetDeviceCount", CallKind::HostOnly, [&](Runtime& runtime) {
        *count = runtime.options.num_gpus;
        return runtime.options.num_gpus > 0 ? cudaSuccess : cudaErrorNoDevice;
      });
}

cudaError_t CUDARTAPI cudaGetDevice(int* device) {
  return octavo::simulated_gpu::call("cudaGetDevice", CallKind::HostOnly, [&](Runtime&) {
    *device = octavo::simulated_gpu::current_ordinal();
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaSetDevice(int device) {
  return octavo::simulated_gpu::call("cudaSetDevice", CallKind::HostOnly, [&](Runtime& runtime) {
    if (!octavo::simulated_gpu::is_gpu(runtime, device)) {
      return cudaErrorInvalidDevice;
    }
    octavo::simulated_gpu::current_ordinal() = device;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return octavo::simulated_gpu::call("cudaDeviceGetAttribute", [&](Runtime& runtime) {
    return octavo::simulated_gpu::is_gpu(runtime, device)
               ? octavo::simulated_gpu::find_attribute(runtime, attribute, *value)
               : cudaErrorInvalidDevice;
  });
}

cudaError_t CUDARTAPI cudaGetLastError() {
  return octavo::simulated_gpu::find_last_error(true);
}

cudaError_t CUDARTAPI cudaPeekAtLastError() {
  return octavo::simulated_gpu::find_last_error(false);
}

const char* CUDARTAPI cudaGetErrorName(cudaError_t error) {
  const auto found = std::ranges::find(octavo::simulated_gpu::kNames, error,
                                       &octavo::simulated_gpu::NamedError::error);
  return found == octavo::simulated_gpu::kNames.end() ? "unrecognized error code" : found->name;
}

const char* CUDARTAPI cudaGetErrorString(cudaError_t /*error*/) {
  return "as the simulated runtime has it";
}

}  // extern "C"
