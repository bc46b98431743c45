// Which kernel a launch means: CUDA names it by the address of the host function that nvcc makes
// for it.
//
// Threads: any.
#pragma once

#include <string>

namespace octavo::simulated_gpu {

/// `name`: mangled, as a KernelRunner knows it. `host_function`: an address that no other kernel
/// has.
void name_kernel(const void* host_function, const std::string& name);

}  // namespace octavo::simulated_gpu
