// CudaDevice's memory and transfers, whenever the GPU comes to its work.
#include <algorithm>
#include <array>
#include <string>
#include <thread>

#include "cuda/emulation/random.h"
#include "tests/cuda/simulated_gpu/device/device_testing.h"

namespace octavo::simulated_gpu {
namespace {

constexpr std::int64_t kSizes[] = {0,    1,    63,   64,   65,   1000, 1023, 1024, 1025,
                                   2048, 3000, 4095, 4096, 4097, 5000, 9000, 20000};

TEST(DeviceMemory, ReadsAsZero) {
  for (const RuntimeOptions& options : all_times()) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    const auto device = make_small_device();
    for (const std::int64_t size : kSizes) {
      const ScopedBytes bytes(device, size);
      EXPECT_EQ(download(*device, bytes.data(), size), Bytes(static_cast<std::size_t>(size)));
      EXPECT_EQ(bytes.data() == nullptr, size == 0);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 64, 0U);
    }
  }
}

TEST(DeviceMemory, AnUploadHasReadItsSourceOnReturn) {
  for (const RuntimeOptions& options : all_times()) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    const auto device = make_small_device();
    for (const std::int64_t size : kSizes) {
      const ScopedBytes to(device, size);
      Bytes source = some_bytes(static_cast<std::size_t>(size));
      upload(*device, to.data(), source);
      const Bytes expected = source;
      source.assign(source.size(), 0xEE);
      EXPECT_EQ(download(*device, to.data(), size), expected) << size;
    }
  }
}

// Uploads of all sizes, one behind another, on one stream or on several; who reads waits at the
// end alone.
void upload_at_random(std::uint64_t seed, std::size_t num_streams) {
  emulation::Random random(seed);
  const auto device = make_small_device();
  std::vector<cudaStream_t> streams(num_streams);
  for (cudaStream_t& stream : streams) {
    stream = make_stream();
  }
  constexpr std::int64_t kBytes = 30000;
  std::vector<std::unique_ptr<ScopedBytes>> areas;  // One a stream.
  std::vector<Bytes> expected(num_streams, Bytes(kBytes));
  for (std::size_t i = 0; i < num_streams; ++i) {
    areas.push_back(std::make_unique<ScopedBytes>(device, kBytes));
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int i = 0; i < 60; ++i) {
    const std::size_t which = random.below(static_cast<std::uint32_t>(num_streams));
    const CudaStreamGuard guard(streams[which]);
    const std::uint32_t size = random.below(4) == 0 ? random.below(9000) : random.below(300);
    const std::uint32_t at = random.below(static_cast<std::uint32_t>(kBytes) - size + 1);
    const Bytes bytes = some_bytes(size, random.below(256));
    upload(*device, areas[which]->data() + at, bytes);
    std::copy(bytes.begin(), bytes.end(), expected[which].begin() + at);
  }
  for (std::size_t i = 0; i < num_streams; ++i) {
    const CudaStreamGuard guard(streams[i]);
    EXPECT_EQ(download(*device, areas[i]->data(), kBytes), expected[i]) << "stream " << i;
  }
}

TEST(DeviceMemory, UploadsThroughASmallRingArriveWhole) {
  for (const RuntimeOptions& options : all_times()) {
    for (const std::size_t num_streams : {1U, 2U, 3U}) {
      SCOPED_TRACE(to_text(options) + ", streams " + std::to_string(num_streams));
      reset(options);
      upload_at_random(options.seed, num_streams);
      EXPECT_EQ(last_fault(), "");
    }
  }
}

TEST(DeviceMemory, CopiesAndFillsAreInOrderWithTransfers) {
  for (const RuntimeOptions& options : all_times()) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    const auto device = make_small_device();
    const cudaStream_t stream = make_stream();
    const CudaStreamGuard guard(stream);
    const ScopedBytes first(device, 300);
    const ScopedBytes second(device, 300);
    const Bytes bytes = some_bytes(300);
    upload(*device, first.data(), bytes);
    device->copy(second.data(), first.data(), 300);
    device->fill(first.data(), 9, 200);
    device->copy(second.data(), first.data(), 0);
    device->fill(second.data(), 1, 0);
    EXPECT_EQ(download(*device, second.data(), 300), bytes);
    EXPECT_EQ(download(*device, first.data(), 200), Bytes(200, 9));
  }
}

TEST(DeviceMemory, NothingIsLeftBehind) {
  for (const RuntimeOptions& options : all_times()) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    {
      const auto device =
          make_cuda_device({.workspace_bytes = 10000, .staging_bytes = kSmallStagingBytes});
      const ScopedBytes bytes(device, 3000);
      upload(*device, bytes.data(), some_bytes(3000));
      EXPECT_EQ(live().pinned_allocations, 1);
    }
    EXPECT_EQ(live(), Live{});
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(last_fault(), "") << "uploads were still to be done when the device went";
  }
}

// Its uploads are still in the ring.
TEST(DeviceMemory, AStreamMayBeDestroyedBehindItsWork) {
  for (const RuntimeOptions& options : all_times()) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    const auto device = make_small_device();
    const ScopedBytes bytes(device, 5000);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (unsigned round = 0; round < 20; ++round) {
      const cudaStream_t stream = make_stream();
      {
        const CudaStreamGuard guard(stream);
        upload(*device, bytes.data(), some_bytes(100 + 60 * round, round));
      }
      ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
      EXPECT_EQ(download(*device, bytes.data(), 100), some_bytes(100, round));
    }
  }
}

TEST(DeviceMemory, TheRingMayBeTwoStreamsAtATime) {
  for (const RuntimeOptions& options : all_times()) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    const auto device = make_small_device();
    const ScopedBytes bytes(device, 64 * 200);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const cudaStream_t streams[] = {make_stream(), make_stream()};
    for (unsigned i = 0; i < 200; ++i) {
      const CudaStreamGuard guard(streams[i % 2]);
      upload(*device, bytes.data() + 64 * i, some_bytes(64, i));
    }
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (unsigned i = 0; i < 200; ++i) {
      EXPECT_EQ(download(*device, bytes.data() + 64 * i, 64), some_bytes(64, i)) << i;
    }
  }
}

// Everything but operations, from several threads on one device.
TEST(DeviceMemory, ThreadsShareADevice) {
  for (const RuntimeOptions& options : all_times()) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    const auto device = make_small_device();
    constexpr unsigned kThreads = 3;
    std::array<bool, kThreads> is_right{};
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&device, &is_right, thread] {
        const CudaStreamGuard guard(thread == 0 ? nullptr : make_stream());
        bool right = true;
        for (unsigned round = 0; round < 20; ++round) {
          const ScopedBytes bytes(device, 2000);
          const Bytes some = some_bytes(2000, thread + 7 * round);
          upload(*device, bytes.data(), some);
          right = right && download(*device, bytes.data(), 2000) == some;
        }
        is_right[thread] = right;
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(is_right, (std::array{true, true, true}));
  }
}

TEST(DeviceMemory, ADownloadIsThereOnReturn) {
  for (const RuntimeOptions& options : all_times()) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    const auto device = make_small_device();
    const ScopedBytes bytes(device, 64);
    device->fill(bytes.data(), 7, 64);
    std::uint8_t* const pinned = pinned_bytes(64);  // Which CUDA copies to behind the host's back.
    device->copy_to_host(pinned, bytes.data(), 64);
    EXPECT_EQ(Bytes(pinned, pinned + 64), Bytes(64, 7));
  }
}

// The first to use it may be a stream that the default stream is no order for.
TEST(DeviceMemory, ADeviceIsMadeWithNothingLeftToDo) {
  reset({.time = WorkTime::Lazy});
  const auto device =
      make_cuda_device({.workspace_bytes = 10000, .staging_bytes = kSmallStagingBytes});
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaSuccess);
}

TEST(DeviceMemory, AnUploadWaitsWhenTheGpuIsAWholeRingBehind) {
  reset({.time = WorkTime::Lazy});
  const auto device = make_small_device();
  const ScopedBytes bytes(device, 64);
  const Bytes some = some_bytes(64);
  const std::int64_t before = blocking_waits();
  constexpr int kFit = static_cast<int>(kSmallStagingBytes) / 64;
  for (int i = 0; i < kFit; ++i) {
    upload(*device, bytes.data(), some);
  }
  EXPECT_EQ(blocking_waits(), before);
  upload(*device, bytes.data(), some);
  EXPECT_EQ(blocking_waits(), before + 1);
}

TEST(DeviceMemory, AWarmPathWaitsForNothing) {
  reset({.time = WorkTime::Lazy, .kernels = make_idle_kernels()});
  const auto device = make_cuda_device();
  const ScopedBytes bytes(device, 4096);
  const Bytes some = some_bytes(1000);
  const std::int64_t before = waits();
  for (int step = 0; step < 50; ++step) {
    upload(*device, bytes.data(), some);
    device->copy(bytes.data() + 2000, bytes.data(), 1000);
    device->fill(bytes.data(), 3, 10);
    const ScopedBytes temporary(device, 100);
  }
  EXPECT_EQ(waits(), before);
  EXPECT_GT(queued(), 150);
}

}  // namespace
}  // namespace octavo::simulated_gpu
