// Streams, events and the legacy stream: what comes after what, and what is left open.
#include <cstring>
#include <set>

#include "tests/cuda/simulated_gpu/runtime/runtime_testing.h"

namespace octavo::simulated_gpu {
namespace {

TEST(Order, AStreamsWorkIsDoneInItsOrder) {
  for (const RuntimeOptions& options : all_times({.kernels = make_add_one()})) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    void* const data = device_bytes(64, 0);
    const cudaStream_t stream = make_stream();
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(cudaMemsetAsync(data, i * 10, 64, stream), cudaSuccess);
      EXPECT_EQ(launch_add_one(data, 64, stream), cudaSuccess);
    }
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(read_bytes(data, 64), Bytes(64, 41));
  }
}

TEST(Order, TwoStreamsAreOpen) {
  std::set<std::uint8_t> seen;
  for (const RuntimeOptions& options : all_times()) {
    reset(options);
    void* const data = device_bytes(1, 0);
    EXPECT_EQ(cudaMemsetAsync(data, 1, 1, make_stream()), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(data, 2, 1, make_stream()), cudaSuccess);
    seen.insert(read_bytes(data, 1).front());
  }
  EXPECT_EQ(seen, (std::set<std::uint8_t>{1, 2}));
}

TEST(Order, AnEventIsAnOrder) {
  for (const RuntimeOptions& options : all_times()) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    void* const data = device_bytes(1, 0);
    const cudaStream_t first = make_stream();
    const cudaStream_t second = make_stream();
    const cudaEvent_t event = make_event();
    EXPECT_EQ(cudaMemsetAsync(data, 1, 1, first), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, first), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(data, 2, 1, second), cudaSuccess);
    EXPECT_EQ(read_bytes(data, 1), Bytes{2});
  }
}

TEST(Order, AnEventIsOfItsLatestRecord) {
  for (const RuntimeOptions& options : all_times()) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    void* const data = device_bytes(1, 0);
    std::uint8_t* const seen = pinned_bytes(1);
    const cudaStream_t stream = make_stream();
    const cudaEvent_t event = make_event();
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess) << "never recorded";
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(data, 1, 1, stream), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(seen, data, 1, cudaMemcpyDeviceToHost, stream), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
    EXPECT_EQ(*seen, 1);
  }
}

// With what a second stream sees of the first: all, or not always.
std::set<std::uint8_t> seen_through_legacy(unsigned flags) {
  std::set<std::uint8_t> seen;
  for (const RuntimeOptions& options : all_times()) {
    reset(options);
    void* const data = device_bytes(2, 0);
    auto* const bytes = static_cast<std::uint8_t*>(data);
    EXPECT_EQ(cudaMemsetAsync(data, 1, 1, make_stream(flags)), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(bytes + 1, bytes, 1, cudaMemcpyDeviceToDevice, nullptr), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(data, 5, 1, make_stream(flags)), cudaSuccess);
    seen.insert(read_bytes(bytes + 1, 1).front());
  }
  return seen;
}

TEST(Order, TheLegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  EXPECT_EQ(seen_through_legacy(cudaStreamDefault), std::set<std::uint8_t>{1});
  EXPECT_GT(seen_through_legacy(cudaStreamNonBlocking).size(), 1U);
}

TEST(Order, PinnedMemoryIsReadLateAndOtherMemoryAtOnce) {
  for (const bool is_pinned : {false, true}) {
    std::set<std::uint8_t> seen;
    for (const RuntimeOptions& options : all_times()) {
      reset(options);
      void* const data = device_bytes(1, 0);
      std::uint8_t pageable = 0;
      std::uint8_t* const source = is_pinned ? pinned_bytes(1) : &pageable;
      *source = 1;
      EXPECT_EQ(cudaMemcpyAsync(data, source, 1, cudaMemcpyHostToDevice, make_stream()),
                cudaSuccess);
      *source = 2;
      seen.insert(read_bytes(data, 1).front());
    }
    EXPECT_EQ(seen.contains(1), true);
    EXPECT_EQ(seen.contains(2), is_pinned);
  }
}

TEST(Order, ADownloadToPageableMemoryIsDoneAndToPinnedMemoryWaitedFor) {
  reset({.time = WorkTime::Lazy});
  void* const data = device_bytes(1, 7);
  const cudaStream_t stream = make_stream();
  std::uint8_t pageable = 0;
  EXPECT_EQ(cudaMemcpyAsync(&pageable, data, 1, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  EXPECT_EQ(pageable, 7);
  std::uint8_t* const pinned = pinned_bytes(1);
  *pinned = 0;
  EXPECT_EQ(cudaMemcpyAsync(pinned, data, 1, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  EXPECT_EQ(*pinned, 0);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  EXPECT_EQ(*pinned, 7);
}

TEST(Order, ADestroyedStreamFinishesItsWork) {
  for (const RuntimeOptions& options : all_times()) {
    reset(options);
    void* const data = device_bytes(1, 0);
    const cudaStream_t stream = make_stream();
    EXPECT_EQ(cudaMemsetAsync(data, 3, 1, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(data, 4, 1, stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(live().streams, 0);
    EXPECT_NE(make_stream(), stream) << "no handle is given twice";
    EXPECT_EQ(read_bytes(data, 1), Bytes{3});
  }
}

TEST(Order, TheSameSeedIsTheSameOrder) {
  const auto run = [](std::uint64_t seed) {
    reset({.seed = seed});
    void* const data = device_bytes(4, 0);
    std::vector<cudaStream_t> streams = {make_stream(), make_stream(), make_stream()};
    for (int i = 1; i < 30; ++i) {
      const auto at = static_cast<std::size_t>(i);
      EXPECT_EQ(cudaMemsetAsync(static_cast<char*>(data) + at % 4, i, 1, streams[at % 3]),
                cudaSuccess);
    }
    return read_bytes(data, 4);
  };
  EXPECT_EQ(run(1), run(1));
  std::set<Bytes> orders;
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    orders.insert(run(seed));
  }
  EXPECT_GT(orders.size(), 1U);
}

}  // namespace
}  // namespace octavo::simulated_gpu
