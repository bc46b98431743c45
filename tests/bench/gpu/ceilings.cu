#include "ceilings.h"

namespace octavo::bench {
namespace {

constexpr int kThreads = 256;
constexpr int kLoads = 4;  // In flight a thread.

__global__ void copy_kernel(uint4* to, const uint4* from) {
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * kLoads) * kThreads + threadIdx.x;
  uint4 words[kLoads];
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    words[i] = __ldcs(from + first + i * kThreads);
  }
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    __stcs(to + first + i * kThreads, words[i]);
  }
}

__global__ void read_kernel(unsigned* sum, const uint4* from) {
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * kLoads) * kThreads + threadIdx.x;
  unsigned mixed = 0;
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const uint4 word = __ldcs(from + first + i * kThreads);
    mixed |= word.x | word.y | word.z | word.w;
  }
  if (mixed != 0) {  // Never, of zeroed memory; but the loads must happen.
    *sum = mixed;
  }
}

__global__ void empty_kernel() {}

}  // namespace

Ceilings measure_ceilings(GpuTimer& timer, std::int64_t size_bytes) {
  uint4* from = nullptr;
  uint4* to = nullptr;
  require(cudaMalloc(&from, static_cast<std::size_t>(size_bytes)), "cudaMalloc");
  require(cudaMalloc(&to, static_cast<std::size_t>(size_bytes)), "cudaMalloc");
  require(cudaMemset(from, 0, static_cast<std::size_t>(size_bytes)), "cudaMemset");
  const auto words = size_bytes / static_cast<std::int64_t>(sizeof(uint4));
  const auto blocks = static_cast<unsigned>(words / kThreads / kLoads);
  const auto bytes = static_cast<double>(size_bytes);
  Ceilings ceilings;
  const double copy_us = timer.median_us(
      [&] { copy_kernel<<<blocks, kThreads, 0, timer.stream()>>>(to, from); });
  const double read_us = timer.median_us([&] {
    read_kernel<<<blocks, kThreads, 0, timer.stream()>>>(reinterpret_cast<unsigned*>(to), from);
  });
  ceilings.launch_us = timer.median_us([&] { empty_kernel<<<1, 32, 0, timer.stream()>>>(); });
  ceilings.copy_gb_per_s = 2.0 * bytes / copy_us * 1e-3;
  ceilings.read_gb_per_s = bytes / read_us * 1e-3;
  require(cudaFree(from), "cudaFree");
  require(cudaFree(to), "cudaFree");
  return ceilings;
}

}  // namespace octavo::bench
