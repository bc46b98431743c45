// ProbeDevice: host memory that counts what a cache asks for and can be told to fail.
//
// Storage operations (copies of blocks, gathered rows, zeroed slots) are done here, in the plainest
// way; attention and its kin are passed to another device, which works on the same memory. Every
// call of the device has a number, and one of them can be made to raise DeviceError instead.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "octavo/device.h"
#include "octavo/device_ops.h"

namespace octavo::testing {

class ProbeDevice final : public Device {
 public:
  /// `compute` performs append, attend, store_cross and the state updates; null: they raise
  /// Unimplemented. Not `readable`: the host may not look into the memory, as on a GPU.
  explicit ProbeDevice(std::shared_ptr<Device> compute = nullptr, bool readable = true)
      : compute_(std::move(compute)), readable_(readable) {}

  /// The call after the next `successes` ones raises DeviceError, and all that follow it, until
  /// `heal`.
  void fail_after(std::int64_t successes) { fails_at_ = calls_ + successes; }
  /// Only that call fails.
  void fail_once_after(std::int64_t successes) {
    fail_after(successes);
    fails_once_ = true;
  }
  void heal() {
    fails_at_ = kNever;
    fails_once_ = false;
  }

  /// Calls so far, of anything but allocate and deallocate.
  std::int64_t calls() const { return calls_; }
  std::int64_t live_bytes() const { return live_bytes_; }
  std::int64_t allocations() const { return allocations_; }

  DeviceKind kind() const noexcept override { return DeviceKind::Host; }
  std::string_view name() const noexcept override { return "probe"; }
  bool host_accessible() const noexcept override { return readable_; }
  void* allocate(std::int64_t size_bytes) override;
  void deallocate(void* data, std::int64_t size_bytes) noexcept override;
  void copy_from_host(void* dst, const void* src, std::int64_t size_bytes) override;
  void copy_to_host(void* dst, const void* src, std::int64_t size_bytes) const override;
  void copy(void* dst, const void* src, std::int64_t size_bytes) override;
  void fill(void* dst, std::uint8_t value, std::int64_t size_bytes) override;
  void copy_blocks(const CopyBlocksArg& arg) override;
  void gather_block_table(const GatherBlockTableArg& arg) override;
  void zero_slots(const ZeroSlotsArg& arg) override;
  void append(const AppendArg& arg) override;
  void attend(const AttendArg& arg) override;
  void store_cross(const StoreCrossArg& arg) override;
  void conv_update(const ConvUpdateArg& arg) override;
  void gated_delta_update(const GatedDeltaUpdateArg& arg) override;
  void selective_state_update(const SelectiveStateUpdateArg& arg) override;

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  void count(const char* call) const;
  Device& compute(const char* call);

  HostDevice memory_;
  std::shared_ptr<Device> compute_;
  bool readable_;
  bool fails_once_ = false;
  std::int64_t fails_at_ = kNever;
  std::int64_t allocations_ = 0;
  std::int64_t live_bytes_ = 0;
  mutable std::int64_t calls_ = 0;
};

}  // namespace octavo::testing
