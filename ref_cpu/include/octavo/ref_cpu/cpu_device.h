// CpuDevice: the reference device, host memory and every operation in the specified arithmetic.
//
// What NUMERICS.md says, it computes to the bit: on any machine, with any number of threads, with
// or without vector instructions. Other devices are held against it.
//
// Memory is that of HostDevice. Operations run on the device's own threads and have finished when
// they return.
//
// Threads: everything may be called from several threads; operations take turns.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "octavo/device.h"

namespace octavo::ref_cpu {

class AttendEngine;
class ThreadPool;

class CpuDevice final : public Device {
 public:
  /// `threads` workers, the caller's thread among them; 0 or less: one for each core that this
  /// process may run on.
  explicit CpuDevice(int threads = 0);
  ~CpuDevice() override;

  DeviceKind kind() const noexcept override { return DeviceKind::Host; }
  std::string_view name() const noexcept override { return "ref"; }
  bool host_accessible() const noexcept override { return true; }
  int threads() const noexcept;

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
  HostDevice memory_;
  std::mutex mutex_;  // One operation at a time: they share the workers and their scratch memory.
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<AttendEngine> attention_;
};

}  // namespace octavo::ref_cpu

namespace octavo {

/// A CpuDevice with that many threads (0 or less: all).
std::shared_ptr<Device> make_cpu_device(int threads = 0);

}  // namespace octavo
