// What a device answers that has no kernels, and what one without memory counts.
#include <string>
#include <string_view>

#include "octavo/device.h"
#include "octavo/error.h"

namespace octavo {
namespace {

[[noreturn]] void refuse(const Device& device, std::string_view operation) {
  throw Error(ErrorCode::Unimplemented, std::string(operation) + ": the device \"" +
                                            std::string(device.name()) +
                                            "\" has no kernel for it; a device that computes, such "
                                            "as ref_cpu's, must own the cache");
}

}  // namespace

void Device::append(const AppendArg& /*arg*/) {
  refuse(*this, "append");
}

void Device::attend(const AttendArg& /*arg*/) {
  refuse(*this, "attend");
}

void Device::copy_blocks(const CopyBlocksArg& /*arg*/) {
  refuse(*this, "copy_blocks");
}

void Device::gather_block_table(const GatherBlockTableArg& /*arg*/) {
  refuse(*this, "gather_block_table");
}

void Device::store_cross(const StoreCrossArg& /*arg*/) {
  refuse(*this, "store_cross");
}

void Device::zero_slots(const ZeroSlotsArg& /*arg*/) {
  refuse(*this, "zero_slots");
}

void Device::conv_update(const ConvUpdateArg& /*arg*/) {
  refuse(*this, "conv_update");
}

void Device::gated_delta_update(const GatedDeltaUpdateArg& /*arg*/) {
  refuse(*this, "gated_delta_update");
}

void Device::selective_state_update(const SelectiveStateUpdateArg& /*arg*/) {
  refuse(*this, "selective_state_update");
}

void NullDevice::count(std::int64_t DeviceCounters::*counter) {
  const std::lock_guard lock(mutex_);
  ++(counters_.*counter);
}

void NullDevice::append(const AppendArg& /*arg*/) {
  count(&DeviceCounters::appends);
}

void NullDevice::attend(const AttendArg& /*arg*/) {
  count(&DeviceCounters::attends);
}

void NullDevice::copy_blocks(const CopyBlocksArg& /*arg*/) {
  count(&DeviceCounters::block_copies);
}

void NullDevice::gather_block_table(const GatherBlockTableArg& /*arg*/) {
  count(&DeviceCounters::table_gathers);
}

void NullDevice::store_cross(const StoreCrossArg& /*arg*/) {
  count(&DeviceCounters::cross_stores);
}

void NullDevice::zero_slots(const ZeroSlotsArg& /*arg*/) {
  count(&DeviceCounters::slot_zeroings);
}

void NullDevice::conv_update(const ConvUpdateArg& /*arg*/) {
  count(&DeviceCounters::conv_updates);
}

void NullDevice::gated_delta_update(const GatedDeltaUpdateArg& /*arg*/) {
  count(&DeviceCounters::gated_delta_updates);
}

void NullDevice::selective_state_update(const SelectiveStateUpdateArg& /*arg*/) {
  count(&DeviceCounters::selective_state_updates);
}

}  // namespace octavo
