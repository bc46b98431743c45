// The device that the tests of this folder hold against the reference: the CUDA kernels run by the
// host. Tests reach its memory through Device alone, so that another device can stand here.
#pragma once

#include <cstdint>
#include <memory>

#include "octavo/cuda/emulated_device.h"
#include "octavo/device.h"

namespace octavo::cuda_test {

/// `seed` is of the order in which thread blocks and threads run; 0: as numbered.
inline std::shared_ptr<Device> device_under_test(std::uint64_t seed = 0) {
  return make_emulated_device({.seed = seed});
}

}  // namespace octavo::cuda_test
