// CurrentDevice: makes a GPU the calling thread's current one while it lives, and puts the former
// one back. The emulation has one device and nothing to switch.
#pragma once

#include "kernels/platform.cuh"
#if defined(__CUDACC__)
#include "ignored_status.h"
#endif

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

#if defined(__CUDACC__)

class CurrentDevice {
 public:
  /// Raises DeviceError.
  explicit CurrentDevice(int ordinal) {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    if (previous_ != ordinal) {
      check(cudaSetDevice(ordinal), "cudaSetDevice");
      changed_ = true;
    }
  }
  ~CurrentDevice() {
    if (changed_) {
      ignore(cudaSetDevice(previous_));
    }
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int previous_ = 0;
  bool changed_ = false;
};

#else

class CurrentDevice {
 public:
  explicit CurrentDevice(int /*ordinal*/) noexcept {}
  ~CurrentDevice() {}  // As above: an object that is there for its scope.
};

#endif

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
