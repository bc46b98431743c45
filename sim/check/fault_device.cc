#include "fault_device.h"

#include <string>

#include "octavo/error.h"

namespace octavo::sim::check {

void FaultDevice::fail_call_after(std::int64_t successes) {
  calls_left_ = successes < 0 ? kNever : successes;
}

void FaultDevice::fail_allocation_after(std::int64_t successes) {
  allocations_left_ = successes < 0 ? kNever : successes;
}

bool FaultDevice::heal() noexcept {
  const bool failed = failed_;
  failed_ = false;
  calls_left_ = allocations_left_ = kNever;
  return failed;
}

Device& FaultDevice::call(const char* name) const {
  ++calls_;
  if (calls_left_ == 0) {
    calls_left_ = kNever;
    failed_ = true;
    throw Error(ErrorCode::DeviceError, std::string(name) + ": the device was told to err here");
  }
  calls_left_ -= calls_left_ == kNever ? 0 : 1;
  return *beneath_;
}

void* FaultDevice::allocate(std::int64_t size_bytes) {
  if (allocations_left_ == 0) {
    allocations_left_ = kNever;
    failed_ = true;
    throw Error(ErrorCode::ResourceExhausted, "allocate: the device was told to refuse " +
                                                  std::to_string(size_bytes) + " bytes here");
  }
  allocations_left_ -= allocations_left_ == kNever ? 0 : 1;
  void* data = beneath_->allocate(size_bytes);
  live_bytes_ += size_bytes;
  return data;
}

void FaultDevice::deallocate(void* data, std::int64_t size_bytes) noexcept {
  beneath_->deallocate(data, size_bytes);
  live_bytes_ -= size_bytes;
}

void FaultDevice::copy_from_host(void* dst, const void* src, std::int64_t size_bytes) {
  call("copy_from_host").copy_from_host(dst, src, size_bytes);
}
void FaultDevice::copy_to_host(void* dst, const void* src, std::int64_t size_bytes) const {
  call("copy_to_host").copy_to_host(dst, src, size_bytes);
}
void FaultDevice::copy(void* dst, const void* src, std::int64_t size_bytes) {
  call("copy").copy(dst, src, size_bytes);
}
void FaultDevice::fill(void* dst, std::uint8_t value, std::int64_t size_bytes) {
  call("fill").fill(dst, value, size_bytes);
}
void FaultDevice::append(const AppendArg& arg) {
  call("append").append(arg);
}
void FaultDevice::attend(const AttendArg& arg) {
  call("attend").attend(arg);
}
void FaultDevice::copy_blocks(const CopyBlocksArg& arg) {
  call("copy_blocks").copy_blocks(arg);
}
void FaultDevice::gather_block_table(const GatherBlockTableArg& arg) {
  call("gather_block_table").gather_block_table(arg);
}
void FaultDevice::store_cross(const StoreCrossArg& arg) {
  call("store_cross").store_cross(arg);
}
void FaultDevice::zero_slots(const ZeroSlotsArg& arg) {
  call("zero_slots").zero_slots(arg);
}
void FaultDevice::conv_update(const ConvUpdateArg& arg) {
  call("conv_update").conv_update(arg);
}
void FaultDevice::gated_delta_update(const GatedDeltaUpdateArg& arg) {
  call("gated_delta_update").gated_delta_update(arg);
}
void FaultDevice::selective_state_update(const SelectiveStateUpdateArg& arg) {
  call("selective_state_update").selective_state_update(arg);
}

}  // namespace octavo::sim::check
