// A kernel of a test's own over memory of the device under test. For sources that are compiled with
// the kernels: by nvcc where a GPU runs them.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "device_bytes.h"
#include "device_under_test.h"

#include "cuda/kernels/platform.cuh"

namespace octavo::cuda_test {

/// What kernel(from, to, n) makes of `from`: a grid of 4 blocks of 64 threads.
template <typename From, typename To>
std::vector<To> results_of(void (*kernel)(const From*, To*, std::uint32_t),
                           const std::vector<From>& from) {
  const auto device = device_under_test();
  Bytes bytes(from.size() * sizeof(From));
  std::memcpy(bytes.data(), from.data(), bytes.size());
  const DeviceBytes in(device, bytes);
  const DeviceBytes out(device, Bytes(from.size() * sizeof(To)));
  cuda::launch(kernel, {{4}, {64}}, {}, in.at<const From>(), out.at<To>(),
               static_cast<std::uint32_t>(from.size()));
  std::vector<To> to(from.size());
  std::memcpy(to.data(), out.read().data(), to.size() * sizeof(To));
  return to;
}

}  // namespace octavo::cuda_test
