// Makes a GPU's device with the options of attention that only tests choose.
//
// Threads: any.
#pragma once

#include <memory>

#include "octavo/cuda/cuda_device.h"
#include "operations.h"

namespace octavo::cuda {
inline namespace gpu {

/// As octavo::make_cuda_device, with `attend` in place of what `options` says of attention.
std::shared_ptr<Device> make_cuda_device(const CudaDeviceOptions& options,
                                         const AttendOptions& attend);

}  // namespace gpu
}  // namespace octavo::cuda
