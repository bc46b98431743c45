// What the tests of the simulated runtime share: GPUs in all ways of asynchrony, and memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "tests/cuda/simulated_gpu/runtime/runtime.h"
#include "tests/cuda/simulated_gpu/runtime/test_kernels.h"

namespace octavo::simulated_gpu {

using Bytes = std::vector<std::uint8_t>;

inline Bytes some_bytes(std::size_t count, unsigned first = 1) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::uint8_t>(first + i * 7);
  }
  return bytes;
}

/// Work done at once, as late as it can be, and in several orders between the two.
inline std::vector<RuntimeOptions> all_times(const RuntimeOptions& base = {}) {
  std::vector<RuntimeOptions> all;
  const auto add = [&](WorkTime time, std::uint64_t seed) {
    RuntimeOptions options = base;
    options.time = time;
    options.seed = seed;
    all.push_back(options);
  };
  add(WorkTime::Eager, 1);
  add(WorkTime::Lazy, 1);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    add(WorkTime::Random, seed);
  }
  return all;
}

inline std::string to_text(const RuntimeOptions& options) {
  return "time " + std::to_string(static_cast<int>(options.time)) + ", seed " +
         std::to_string(options.seed);
}

/// `size_bytes` of the current GPU's, all of them `value`.
inline void* device_bytes(std::size_t size_bytes, int value) {
  void* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, size_bytes), cudaSuccess);
  EXPECT_EQ(cudaMemset(data, value, size_bytes), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return data;
}

inline std::uint8_t* pinned_bytes(std::size_t size_bytes) {
  void* data = nullptr;
  EXPECT_EQ(cudaHostAlloc(&data, size_bytes, cudaHostAllocDefault), cudaSuccess);
  return static_cast<std::uint8_t*>(data);
}

/// What is there once all streams are idle.
inline Bytes read_bytes(const void* data, std::size_t size_bytes) {
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  Bytes bytes(size_bytes);
  EXPECT_EQ(cudaMemcpy(bytes.data(), data, size_bytes, cudaMemcpyDeviceToHost), cudaSuccess);
  return bytes;
}

inline cudaStream_t make_stream(unsigned flags = cudaStreamNonBlocking) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, flags), cudaSuccess);
  return stream;
}

inline cudaEvent_t make_event() {
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  return event;
}

}  // namespace octavo::simulated_gpu
