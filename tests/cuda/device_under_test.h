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

/// One that refuses attention for which there is no tuned kernel.
inline std::shared_ptr<Device> tuned_device_under_test(std::uint64_t seed = 0) {
  return make_emulated_device({.seed = seed, .tuned_only = true});
}

/// One that attends on float tensor cores, within a bound, and refuses what they do not take.
inline std::shared_ptr<Device> fast_device_under_test(std::uint64_t seed = 0) {
  return make_emulated_device({.seed = seed, .fast = true, .tuned_only = true});
}

}  // namespace octavo::cuda_test
