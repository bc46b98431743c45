// Memory: fresh, freed, pinned, of another GPU; every address is held against it.
#include <algorithm>
#include <thread>

#include "tests/cuda/simulated_gpu/runtime/runtime_testing.h"

namespace octavo::simulated_gpu {
namespace {

TEST(Memory, FreshMemoryIsNoiseAndNoAddressIsGivenTwice) {
  reset();
  void* first = nullptr;
  EXPECT_EQ(cudaMalloc(&first, 4096), cudaSuccess);
  const Bytes noise = read_bytes(first, 4096);
  EXPECT_LT(std::ranges::count(noise, 0), 100);
  EXPECT_EQ(cudaFree(first), cudaSuccess);
  void* second = nullptr;
  EXPECT_EQ(cudaMalloc(&second, 4096), cudaSuccess);
  EXPECT_NE(first, second);
  EXPECT_NE(read_bytes(second, 4096), noise);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second) % 512, 256U) << "aligned to 256, no better";
}

TEST(Memory, ZerosAreZerosWhereverTheyBegin) {
  reset();
  auto* const data = static_cast<std::uint8_t*>(device_bytes(20000, 0xAB));
  EXPECT_EQ(cudaMemset(data + 100, 0, 15000), cudaSuccess);
  EXPECT_EQ(cudaMemset(data + 16000, 0, 10), cudaSuccess);
  Bytes expected(20000, 0xAB);
  std::fill_n(expected.begin() + 100, 15000, std::uint8_t{0});
  std::fill_n(expected.begin() + 16000, 10, std::uint8_t{0});
  EXPECT_EQ(read_bytes(data, 20000), expected);
}

TEST(Memory, IsCountedAndLimited) {
  reset({.memory_bytes = 1000});
  void* data = nullptr;
  void* more = nullptr;
  EXPECT_EQ(cudaMalloc(&data, 600), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&more, 401), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMallocAsync(&more, 401, nullptr), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaMallocAsync(&more, 400, nullptr), cudaSuccess);
  EXPECT_EQ(live().device_allocations, 2);
  EXPECT_EQ(cudaFreeAsync(more, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  EXPECT_EQ(live(), Live{});
}

TEST(Memory, WrongAddressesAreRefusedAtTheCall) {
  reset();
  auto* const data = static_cast<std::uint8_t*>(device_bytes(64, 0));
  Bytes host(128);
  EXPECT_EQ(cudaMemsetAsync(data + 1, 0, 64, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemsetAsync(data - 1, 0, 2, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(data, host.data(), 65, cudaMemcpyHostToDevice, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(host.data(), data, 65, cudaMemcpyDeviceToHost, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(host.data(), data, 8, cudaMemcpyHostToDevice, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(data, data + 8, 9, cudaMemcpyDeviceToDevice, nullptr),
            cudaErrorInvalidValue)
      << "they overlap";
  EXPECT_EQ(cudaMemcpyAsync(data, data + 8, 8, cudaMemcpyDeviceToDevice, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFree(data + 8), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeAsync(data, nullptr), cudaErrorInvalidValue) << "of cudaMalloc";
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemsetAsync(data, 0, 1, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
}

TEST(Memory, PartlyPinnedAndFormerlyPinnedRangesAreRefused) {
  reset();
  void* const data = device_bytes(64, 0);
  std::uint8_t* const pinned = pinned_bytes(64);
  EXPECT_EQ(cudaMemcpyAsync(data, pinned + 32, 32, cudaMemcpyHostToDevice, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(data, pinned + 33, 32, cudaMemcpyHostToDevice, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(data, pinned, 8, cudaMemcpyHostToDevice, nullptr),
            cudaErrorInvalidValue);
}

// How often one of all the times ends with a lost GPU.
template <class Scenario>
int lost(const Scenario& scenario) {
  int count = 0;
  for (const RuntimeOptions& options : all_times()) {
    reset(options);
    scenario();
    count += cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 1 : 0;
    EXPECT_EQ(cudaPeekAtLastError() == cudaErrorIllegalAddress, !last_fault().empty());
  }
  return count;
}

void* allocate_on(cudaStream_t stream) {
  void* data = nullptr;
  EXPECT_EQ(cudaMallocAsync(&data, 64, stream), cudaSuccess);
  return data;
}

TEST(Memory, IsThereInTheOrderOfItsStream) {
  EXPECT_EQ(lost([] {
              const cudaStream_t stream = make_stream();
              void* const data = allocate_on(stream);
              static_cast<void>(cudaMemsetAsync(data, 0, 64, stream));
              static_cast<void>(cudaFreeAsync(data, stream));
            }),
            0);
  EXPECT_GT(lost([] {
              static_cast<void>(cudaMemsetAsync(allocate_on(make_stream()), 0, 64, make_stream()));
            }),
            0)
      << "used on a stream that does not wait for the allocation";
  EXPECT_GT(lost([] {
              const cudaStream_t stream = make_stream();
              void* const data = allocate_on(stream);
              static_cast<void>(cudaStreamSynchronize(stream));
              static_cast<void>(cudaMemsetAsync(data, 0, 64, stream));
              static_cast<void>(cudaFreeAsync(data, make_stream()));
            }),
            0)
      << "freed on a stream that does not wait for the use";
}

TEST(Memory, FreeWaitsForTheGpuUnlessTheMemoryIsStreamOrdered) {
  EXPECT_EQ(lost([] {
              void* const data = device_bytes(64, 0);
              static_cast<void>(cudaMemsetAsync(data, 0, 64, make_stream()));
              static_cast<void>(cudaFree(data));
            }),
            0);
  EXPECT_GT(lost([] {
              const cudaStream_t stream = make_stream();
              void* const data = allocate_on(stream);
              static_cast<void>(cudaMemsetAsync(data, 0, 64, stream));
              static_cast<void>(cudaFree(data));
            }),
            0);
}

TEST(Memory, PinnedMemoryIsNotFreedUnderACopy) {
  EXPECT_GT(
      lost([] {
        void* const data = device_bytes(64, 0);
        std::uint8_t* const pinned = pinned_bytes(64);
        static_cast<void>(cudaMemcpyAsync(data, pinned, 64, cudaMemcpyHostToDevice, make_stream()));
        static_cast<void>(cudaFreeHost(pinned));
      }),
      0);
}

TEST(Memory, AnotherGpusIsOutOfReach) {
  reset({.num_gpus = 2});
  void* const data = device_bytes(64, 0);
  const cudaStream_t stream = make_stream();
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(data, 0, 64, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemsetAsync(data, 0, 64, stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(make_event(), stream), cudaErrorInvalidResourceHandle);
  int seen = -1;
  std::thread([&] { EXPECT_EQ(cudaGetDevice(&seen), cudaSuccess); }).join();
  EXPECT_EQ(seen, 0) << "the current GPU is a thread's own";
  EXPECT_EQ(cudaFree(data), cudaSuccess) << "whichever GPU is current";
}

TEST(MemoryDeathTest, TheHostCannotTouchIt) {
  reset();
  auto* const data = static_cast<volatile std::uint8_t*>(device_bytes(64, 0));
  EXPECT_DEATH(static_cast<void>(*data), "");
  EXPECT_DEATH(*data = 1, "");
}

}  // namespace
}  // namespace octavo::simulated_gpu
