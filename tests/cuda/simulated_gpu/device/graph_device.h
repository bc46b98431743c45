// GraphDevice: a CudaDevice whose operations are each captured in a graph and done by its replay.
// Memory and transfers are the CudaDevice's own, on the same stream.
//
// Threads: one.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "octavo/device.h"
#include "octavo/device_ops.h"
#include <driver_types.h>

namespace octavo::simulated_gpu {

class GraphDevice final : public Device {
 public:
  GraphDevice(std::shared_ptr<Device> device, cudaStream_t stream)
      : device_(std::move(device)), stream_(stream) {}
  ~GraphDevice() override { forget(); }

  /// The latest operation once more, with what its inputs hold by now.
  void replay();

  DeviceKind kind() const noexcept override { return device_->kind(); }
  std::string_view name() const noexcept override { return device_->name(); }
  bool host_accessible() const noexcept override { return false; }
  void* allocate(std::int64_t size_bytes) override;
  void deallocate(void* data, std::int64_t size_bytes) noexcept override;
  void copy_from_host(void* dst, const void* src, std::int64_t size_bytes) override;
  void copy_to_host(void* dst, const void* src, std::int64_t size_bytes) const override;
  void copy(void* dst, const void* src, std::int64_t size_bytes) override;
  void fill(void* dst, std::uint8_t value, std::int64_t size_bytes) override;
  void append(const AppendArg& arg) override;
  void attend(const AttendArg& arg) override;
  void copy_blocks(const CopyBlocksArg& arg) override;
  void gather_block_table(const GatherBlockTableArg& arg) override;
  void store_cross(const StoreCrossArg& arg) override;
  void zero_slots(const ZeroSlotsArg& arg) override;
  void conv_update(const ConvUpdateArg& arg) override;
  void gated_delta_update(const GatedDeltaUpdateArg& arg) override;
  void selective_state_update(const SelectiveStateUpdateArg& arg) override;

 private:
  void in_graph(const std::function<void()>& operation);
  void forget();

  std::shared_ptr<Device> device_;
  cudaStream_t stream_;
  cudaGraphExec_t latest_ = nullptr;
};

}  // namespace octavo::simulated_gpu
