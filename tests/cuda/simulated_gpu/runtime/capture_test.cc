// Captures: what may be in one, what spoils it, and what a replay does.
#include <thread>

#include "tests/cuda/simulated_gpu/runtime/runtime_testing.h"

namespace octavo::simulated_gpu {
namespace {

// Ends the capture, which must give a graph.
cudaGraphExec_t finish_capture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  return executable;
}

cudaStreamCaptureStatus status_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
  return status;
}

cudaStream_t capturing_stream(unsigned flags = cudaStreamNonBlocking,
                              cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
  const cudaStream_t stream = make_stream(flags);
  EXPECT_EQ(cudaStreamBeginCapture(stream, mode), cudaSuccess);
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusActive);
  return stream;
}

// Ends the capture, which something must have spoilt.
void expect_spoilt(cudaStream_t stream) {
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusInvalidated);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusNone);
}

TEST(Capture, DoesNothingUntilItIsReplayed) {
  for (const RuntimeOptions& options : all_times({.kernels = make_add_one()})) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    auto* const data = static_cast<std::uint8_t*>(device_bytes(8, 3));
    const cudaStream_t stream = capturing_stream();
    EXPECT_EQ(launch_add_one(data, 4, stream), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(data + 4, data, 4, cudaMemcpyDeviceToDevice, stream), cudaSuccess);
    EXPECT_EQ(launch_add_one(data + 4, 4, stream), cudaSuccess);
    const cudaGraphExec_t executable = finish_capture(stream);
    EXPECT_EQ(read_bytes(data, 8), Bytes(8, 3));
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    }
    EXPECT_EQ(read_bytes(data, 8), (Bytes{6, 6, 6, 6, 7, 7, 7, 7}));
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    EXPECT_EQ(live().graphs, 0);
  }
}

TEST(Capture, EventsForkAndJoinIt) {
  for (const RuntimeOptions& options : all_times({.kernels = make_add_one()})) {
    SCOPED_TRACE(to_text(options));
    reset(options);
    void* const data = device_bytes(4, 0);
    const cudaStream_t first = capturing_stream();
    const cudaStream_t second = make_stream();
    const cudaEvent_t forked = make_event();
    const cudaEvent_t joined = make_event();
    EXPECT_EQ(cudaMemsetAsync(data, 10, 4, first), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(forked, first), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(second, forked, 0), cudaSuccess);
    EXPECT_EQ(status_of(second), cudaStreamCaptureStatusActive);
    EXPECT_EQ(launch_add_one(data, 4, second), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(joined, second), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(first, joined, 0), cudaSuccess);
    EXPECT_EQ(launch_add_one(data, 4, first), cudaSuccess);
    const cudaGraphExec_t executable = finish_capture(first);
    EXPECT_EQ(status_of(second), cudaStreamCaptureStatusNone);
    EXPECT_EQ(cudaGraphLaunch(executable, second), cudaSuccess);
    EXPECT_EQ(read_bytes(data, 4), Bytes(4, 12));
  }
}

TEST(Capture, AForkThatIsNotJoinedIsNoGraph) {
  reset();
  void* const data = device_bytes(4, 0);
  const cudaStream_t first = capturing_stream();
  const cudaStream_t second = make_stream();
  const cudaEvent_t event = make_event();
  EXPECT_EQ(cudaEventRecord(event, first), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(data, 1, 4, second), cudaSuccess);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(first, &graph), cudaErrorStreamCaptureUnjoined);
}

TEST(Capture, WhatItCannotHoldSpoilsIt) {
  reset();
  void* const data = device_bytes(4, 0);
  Bytes host(4);
  const cudaEvent_t event = make_event();
  void* allocated = nullptr;
  const auto expect = [](cudaError_t error, const auto& call) {
    const cudaStream_t stream = capturing_stream();
    EXPECT_EQ(call(stream), error);
    expect_spoilt(stream);
  };
  expect(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize);
  expect(cudaErrorStreamCaptureUnsupported, cudaStreamDestroy);
  expect(cudaErrorStreamCaptureUnsupported, [](cudaStream_t) { return cudaDeviceSynchronize(); });
  expect(cudaErrorStreamCaptureUnsupported,
         [&](cudaStream_t) { return cudaMalloc(&allocated, 4); });
  expect(cudaErrorStreamCaptureUnsupported, [&](cudaStream_t) { return cudaFree(data); });
  expect(cudaErrorStreamCaptureUnsupported,
         [&](cudaStream_t) { return cudaMemcpy(host.data(), data, 4, cudaMemcpyDeviceToHost); });
  expect(cudaErrorStreamCaptureUnsupported, [&](cudaStream_t stream) {
    return cudaMemcpyAsync(data, host.data(), 4, cudaMemcpyHostToDevice, stream);
  });
  expect(cudaErrorInvalidValue, [&](cudaStream_t stream) { return cudaFreeAsync(data, stream); });
  expect(cudaErrorStreamCaptureUnsupported,
         [&](cudaStream_t stream) { return cudaMallocAsync(&allocated, 4, stream); });
  expect(cudaErrorStreamCaptureIsolation, [&](cudaStream_t stream) {
    EXPECT_EQ(cudaEventRecord(event, make_stream()), cudaSuccess);
    return cudaStreamWaitEvent(stream, event, 0);
  });
  expect(cudaErrorCapturedEvent, [&](cudaStream_t stream) {
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    return cudaEventSynchronize(event);
  });
}

TEST(Capture, OfABlockingStreamKeepsTheLegacyStreamFromUse) {
  reset();
  void* const data = device_bytes(4, 0);
  const cudaStream_t stream = capturing_stream(cudaStreamDefault);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(cudaStreamIsCapturing(nullptr, &status), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusActive) << "the question spoils nothing";
  EXPECT_EQ(cudaMemsetAsync(data, 0, 4, nullptr), cudaErrorStreamCaptureImplicit);
  expect_spoilt(stream);
  const cudaStream_t free_stream = capturing_stream(cudaStreamNonBlocking);
  EXPECT_EQ(cudaStreamIsCapturing(nullptr, &status), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(data, 0, 4, nullptr), cudaSuccess);
  finish_capture(free_stream);
}

TEST(Capture, ItsModeSaysWhoMustNotCallWhat) {
  reset();
  const auto allocate_beside = [](cudaStreamCaptureMode mode) {
    const cudaStream_t stream = capturing_stream(cudaStreamNonBlocking, mode);
    cudaError_t status = cudaSuccess;
    std::thread([&] {
      void* data = nullptr;
      status = cudaMalloc(&data, 4);
    }).join();
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    EXPECT_EQ(ended == cudaSuccess, status == cudaSuccess);
    return status;
  };
  EXPECT_EQ(allocate_beside(cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(allocate_beside(cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(allocate_beside(cudaStreamCaptureModeRelaxed), cudaSuccess);
  const cudaStream_t stream = capturing_stream(cudaStreamNonBlocking, cudaStreamCaptureModeRelaxed);
  void* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, 4), cudaSuccess);
  finish_capture(stream);
}

TEST(Capture, BeginsAndEndsInItsPlace) {
  reset();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
            cudaErrorStreamCaptureUnsupported);
  const cudaStream_t stream = capturing_stream();
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  std::thread([&] {
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureWrongThread);
  }).join();
  finish_capture(stream);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
}

}  // namespace
}  // namespace octavo::simulated_gpu
