// Kernels within and beyond the bounds of their memory, for a build with AddressSanitizer:
// `bounds_main <memory> <index>` reads and writes one byte, and takes an address as an index.
// CMakeLists.txt says of which it expects a report.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "octavo/device.h"
#include "octavo/error.h"

#include "cuda/kernels/platform.cuh"

namespace octavo::cuda {
inline namespace emulated {
namespace {

constexpr int kBytes = 37;

__global__ void touch_static(int index) {
  OCTAVO_SHARED_ARRAY(unsigned char, before, 24);
  OCTAVO_SHARED_ARRAY(unsigned char, bytes, kBytes);
  OCTAVO_SHARED_ARRAY(unsigned char, behind, 24);
  before[threadIdx.x] = 1;
  behind[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 3) {
    unsigned char* byte = bytes + index;
    *byte = 1;
  }
}

__global__ void touch_dynamic(int index) {
  OCTAVO_DYNAMIC_SHARED(bytes);
  __syncthreads();
  if (threadIdx.x == 3) {
    bytes[index] = 1;
  }
}

__global__ void touch_global(unsigned char* bytes, int index) {
  __syncthreads();
  if (threadIdx.x == 3) {
    bytes[index] = 1;
  }
}

__global__ void copy_from_global(const unsigned char* bytes, int index) {
  OCTAVO_SHARED_ARRAY(int, word, 1);
  if (threadIdx.x == 3) {
    async_copy<4>(word, bytes + index, true);
    async_copy_commit();
    async_copy_wait<0>();
  }
}

// Threads that an error leaves behind are gone, and their stacks are whole again.
__global__ void diverge(int* out) {
  volatile int frame[64] = {};
  if (threadIdx.x < 5) {
    frame[threadIdx.x] = 1;
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[0] = frame[3];
}

int run(std::string_view memory, int index) {
  const LaunchShape shape{2, 16, kBytes};
  const std::unique_ptr<unsigned char[]> bytes(new unsigned char[kBytes]());
  int errors = 0;
  for (int i = 0; i < 20; ++i) {
    try {
      int out = 0;
      launch(diverge, shape, {}, &out);
    } catch (const Error&) {
      ++errors;
    }
  }
  if (memory == "static") {
    launch(touch_static, shape, {}, index);
  } else if (memory == "dynamic") {
    launch(touch_dynamic, shape, {}, index);
  } else if (memory == "global") {
    launch(touch_global, shape, {}, bytes.get(), index);
  } else if (memory == "device") {
    HostDevice device;  // What the emulated device's memory is.
    void* const data = device.allocate(kBytes);
    launch(touch_global, shape, {}, static_cast<unsigned char*>(data), index);
    device.deallocate(data, kBytes);
  } else if (memory == "copy") {
    launch(copy_from_global, shape, {}, bytes.get(), index);
  } else {
    return 2;
  }
  return errors == 20 ? 0 : 3;
}

}  // namespace
}  // namespace emulated
}  // namespace octavo::cuda

int main(int argc, char** argv) {
  const int status = argc == 3 ? octavo::cuda::run(argv[1], std::atoi(argv[2])) : 2;
  std::puts(status == 0 ? "ran" : "failed");
  return status;
}
