#include "tests/cache/support/probe_device.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "octavo/block_manager.h"
#include "octavo/error.h"

namespace octavo::testing {

void ProbeDevice::count(const char* call) const {
  const std::int64_t number = calls_++;
  if (fails_once_ ? number == fails_at_ : number >= fails_at_) {
    throw Error(ErrorCode::DeviceError, std::string(call) + ": the probe was told to fail here");
  }
}

Device& ProbeDevice::compute(const char* call) {
  count(call);
  if (compute_ == nullptr) {
    throw Error(ErrorCode::Unimplemented, std::string(call) + ": this probe computes nothing");
  }
  return *compute_;
}

void* ProbeDevice::allocate(std::int64_t size_bytes) {
  void* data = memory_.allocate(size_bytes);
  ++allocations_;
  live_bytes_ += size_bytes;
  return data;
}

void ProbeDevice::deallocate(void* data, std::int64_t size_bytes) noexcept {
  memory_.deallocate(data, size_bytes);
  live_bytes_ -= size_bytes;
}

void ProbeDevice::copy_from_host(void* dst, const void* src, std::int64_t size_bytes) {
  count("copy_from_host");
  memory_.copy_from_host(dst, src, size_bytes);
}

void ProbeDevice::copy_to_host(void* dst, const void* src, std::int64_t size_bytes) const {
  count("copy_to_host");
  memory_.copy_to_host(dst, src, size_bytes);
}

void ProbeDevice::copy(void* dst, const void* src, std::int64_t size_bytes) {
  count("copy");
  memory_.copy(dst, src, size_bytes);
}

void ProbeDevice::fill(void* dst, std::uint8_t value, std::int64_t size_bytes) {
  count("fill");
  memory_.fill(dst, value, size_bytes);
}

void ProbeDevice::copy_blocks(const CopyBlocksArg& arg) {
  count("copy_blocks");
  for (std::int64_t c = 0; c < arg.num_copies; ++c) {
    const BlockCopy& copy = arg.copies[c];
    for (std::int64_t a = 0; a < arg.num_arrays; ++a) {
      const BlockArrayArg& array = arg.arrays[a];
      for (std::int64_t m = 0; m < array.members; ++m) {
        for (std::int64_t h = 0; h < array.heads; ++h) {
          std::byte* base = static_cast<std::byte*>(array.data) + m * array.member_stride_bytes +
                            h * array.head_stride_bytes;
          std::memcpy(base + copy.dst * array.block_stride_bytes,
                      base + copy.src * array.block_stride_bytes,
                      static_cast<std::size_t>(copy.rows * array.row_bytes));
        }
      }
    }
  }
}

void ProbeDevice::gather_block_table(const GatherBlockTableArg& arg) {
  count("gather_block_table");
  for (std::int64_t i = 0; i < arg.batch; ++i) {
    std::copy_n(arg.table + arg.slot_ids[i] * arg.table_stride, arg.columns,
                arg.gathered + i * arg.gathered_stride);
  }
}

void ProbeDevice::zero_slots(const ZeroSlotsArg& arg) {
  count("zero_slots");
  for (std::int64_t a = 0; a < arg.num_arrays; ++a) {
    const SlotArrayArg& array = arg.arrays[a];
    for (std::int64_t i = 0; i < arg.num_slots; ++i) {
      std::memset(static_cast<std::byte*>(array.data) + arg.slots[i] * array.slot_stride_bytes, 0,
                  static_cast<std::size_t>(array.slot_bytes));
    }
  }
}

void ProbeDevice::append(const AppendArg& arg) {
  compute("append").append(arg);
}
void ProbeDevice::attend(const AttendArg& arg) {
  compute("attend").attend(arg);
}
void ProbeDevice::store_cross(const StoreCrossArg& arg) {
  compute("store_cross").store_cross(arg);
}
void ProbeDevice::conv_update(const ConvUpdateArg& arg) {
  compute("conv_update").conv_update(arg);
}
void ProbeDevice::gated_delta_update(const GatedDeltaUpdateArg& arg) {
  compute("gated_delta_update").gated_delta_update(arg);
}
void ProbeDevice::selective_state_update(const SelectiveStateUpdateArg& arg) {
  compute("selective_state_update").selective_state_update(arg);
}

}  // namespace octavo::testing
