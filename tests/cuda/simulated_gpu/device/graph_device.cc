#include "tests/cuda/simulated_gpu/device/graph_device.h"

#include "octavo/cuda/cuda_device.h"
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

namespace octavo::simulated_gpu {

// An operation that raises leaves the capture whole.
void GraphDevice::in_graph(const std::function<void()>& operation) {
  const CudaStreamGuard guard(stream_);
  EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
  cudaGraph_t graph = nullptr;
  try {
    operation();
  } catch (...) {
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    throw;
  }
  forget();
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&latest_, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  replay();
}

void GraphDevice::replay() {
  EXPECT_EQ(cudaGraphLaunch(latest_, stream_), cudaSuccess);
}

void GraphDevice::forget() {
  if (latest_ != nullptr) {
    EXPECT_EQ(cudaGraphExecDestroy(latest_), cudaSuccess);
    latest_ = nullptr;
  }
}

void* GraphDevice::allocate(std::int64_t size_bytes) {
  const CudaStreamGuard guard(stream_);
  return device_->allocate(size_bytes);
}

void GraphDevice::deallocate(void* data, std::int64_t size_bytes) noexcept {
  const CudaStreamGuard guard(stream_);
  device_->deallocate(data, size_bytes);
}

void GraphDevice::copy_from_host(void* dst, const void* src, std::int64_t size_bytes) {
  const CudaStreamGuard guard(stream_);
  device_->copy_from_host(dst, src, size_bytes);
}

void GraphDevice::copy_to_host(void* dst, const void* src, std::int64_t size_bytes) const {
  const CudaStreamGuard guard(stream_);
  device_->copy_to_host(dst, src, size_bytes);
}

void GraphDevice::copy(void* dst, const void* src, std::int64_t size_bytes) {
  in_graph([&] { device_->copy(dst, src, size_bytes); });
}

void GraphDevice::fill(void* dst, std::uint8_t value, std::int64_t size_bytes) {
  in_graph([&] { device_->fill(dst, value, size_bytes); });
}

void GraphDevice::append(const AppendArg& arg) {
  in_graph([&] { device_->append(arg); });
}

void GraphDevice::attend(const AttendArg& arg) {
  in_graph([&] { device_->attend(arg); });
}

void GraphDevice::copy_blocks(const CopyBlocksArg& arg) {
  in_graph([&] { device_->copy_blocks(arg); });
}

void GraphDevice::gather_block_table(const GatherBlockTableArg& arg) {
  in_graph([&] { device_->gather_block_table(arg); });
}

void GraphDevice::store_cross(const StoreCrossArg& arg) {
  in_graph([&] { device_->store_cross(arg); });
}

void GraphDevice::zero_slots(const ZeroSlotsArg& arg) {
  in_graph([&] { device_->zero_slots(arg); });
}

void GraphDevice::conv_update(const ConvUpdateArg& arg) {
  in_graph([&] { device_->conv_update(arg); });
}

void GraphDevice::gated_delta_update(const GatedDeltaUpdateArg& arg) {
  in_graph([&] { device_->gated_delta_update(arg); });
}

void GraphDevice::selective_state_update(const SelectiveStateUpdateArg& arg) {
  in_graph([&] { device_->selective_state_update(arg); });
}

}  // namespace octavo::simulated_gpu
