#include "kernel_device.h"

#include "current_device.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

void KernelDevice::append(const AppendArg& arg) {
  const std::lock_guard lock(mutex_);
  const CurrentDevice device(ordinal());
  OCTAVO_CUDA_TARGET::append(arg, stream());
}

void KernelDevice::attend(const AttendArg& arg) {
  const std::lock_guard lock(mutex_);
  const CurrentDevice device(ordinal());
  OCTAVO_CUDA_TARGET::attend(arg, options_, workspace(), stream());
}

void KernelDevice::copy_blocks(const CopyBlocksArg& arg) {
  const std::lock_guard lock(mutex_);
  const CurrentDevice device(ordinal());
  OCTAVO_CUDA_TARGET::copy_blocks(arg, stream());
}

void KernelDevice::gather_block_table(const GatherBlockTableArg& arg) {
  const std::lock_guard lock(mutex_);
  const CurrentDevice device(ordinal());
  OCTAVO_CUDA_TARGET::gather_block_table(arg, stream());
}

void KernelDevice::store_cross(const StoreCrossArg& arg) {
  const std::lock_guard lock(mutex_);
  const CurrentDevice device(ordinal());
  OCTAVO_CUDA_TARGET::store_cross(arg, stream());
}

void KernelDevice::zero_slots(const ZeroSlotsArg& arg) {
  const std::lock_guard lock(mutex_);
  const CurrentDevice device(ordinal());
  OCTAVO_CUDA_TARGET::zero_slots(arg, stream());
}

void KernelDevice::conv_update(const ConvUpdateArg& arg) {
  const std::lock_guard lock(mutex_);
  const CurrentDevice device(ordinal());
  OCTAVO_CUDA_TARGET::conv_update(arg, stream());
}

void KernelDevice::gated_delta_update(const GatedDeltaUpdateArg& arg) {
  const std::lock_guard lock(mutex_);
  const CurrentDevice device(ordinal());
  OCTAVO_CUDA_TARGET::gated_delta_update(arg, stream());
}

void KernelDevice::selective_state_update(const SelectiveStateUpdateArg& arg) {
  const std::lock_guard lock(mutex_);
  const CurrentDevice device(ordinal());
  OCTAVO_CUDA_TARGET::selective_state_update(arg, stream());
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
