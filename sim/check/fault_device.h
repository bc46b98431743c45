// FaultDevice: another device, on whose way something can be made to go wrong.
//
// Every transfer and every launch has a number, and so has every allocation; one of them can be
// made to raise instead of reaching the device beneath. Nothing else is changed.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "octavo/device.h"

namespace octavo::sim::check {

class FaultDevice final : public Device {
 public:
  explicit FaultDevice(std::shared_ptr<Device> beneath) : beneath_(std::move(beneath)) {}

  /// The call after the next `successes` ones raises DeviceError; < 0: none.
  void fail_call_after(std::int64_t successes);
  /// The allocation after the next `successes` ones raises ResourceExhausted; < 0: none.
  void fail_allocation_after(std::int64_t successes);
  /// Nothing fails any more. Returns whether something did since it was asked for.
  bool heal() noexcept;

  std::int64_t calls() const noexcept { return calls_; }  ///< Transfers and launches so far.
  std::int64_t live_bytes() const noexcept { return live_bytes_; }
  const std::shared_ptr<Device>& beneath() const noexcept { return beneath_; }

  DeviceKind kind() const noexcept override { return beneath_->kind(); }
  std::string_view name() const noexcept override { return beneath_->name(); }
  bool host_accessible() const noexcept override { return beneath_->host_accessible(); }
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
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  Device& call(const char* name) const;

  std::shared_ptr<Device> beneath_;
  mutable std::int64_t calls_ = 0;
  mutable std::int64_t calls_left_ = kNever;
  std::int64_t allocations_left_ = kNever;
  std::int64_t live_bytes_ = 0;
  mutable bool failed_ = false;
};

}  // namespace octavo::sim::check
