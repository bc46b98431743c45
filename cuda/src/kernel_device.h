// KernelDevice: the operations of a Device as kernels on one stream. CudaDevice adds a GPU's
// memory, EmulatedDevice the host's.
//
// Threads: operations take turns, as Device promises.
#pragma once

#include <mutex>

#include "octavo/device.h"
#include "operations.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

class KernelDevice : public Device {
 public:
  void append(const AppendArg& arg) override;
  void attend(const AttendArg& arg) override;
  void copy_blocks(const CopyBlocksArg& arg) override;
  void gather_block_table(const GatherBlockTableArg& arg) override;
  void store_cross(const StoreCrossArg& arg) override;
  void zero_slots(const ZeroSlotsArg& arg) override;
  void conv_update(const ConvUpdateArg& arg) override;
  void gated_delta_update(const GatedDeltaUpdateArg& arg) override;
  void selective_state_update(const SelectiveStateUpdateArg& arg) override;

 protected:
  explicit KernelDevice(const AttendOptions& options) : options_(options) {}

  /// Of the GPU, as CUDA numbers them.
  virtual int ordinal() const noexcept = 0;
  /// The caller's stream.
  virtual Stream stream() const noexcept = 0;
  virtual Workspace& workspace() noexcept = 0;

 private:
  AttendOptions options_;
  std::mutex mutex_;  // One operation at a time: they share the workspace.
};

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
