// Device: the one seam between Octavo's host code and memory that may lie elsewhere.
//
// A device gives out byte ranges and moves bytes between them and the host. HostDevice is ordinary
// memory; NullDevice has none and only counts, so that planning and simulation run the very calls
// that a real device would get. Other backends derive from Device in their own libraries.
//
// Ownership: devices are shared (std::shared_ptr); whatever holds storage of a device keeps it
// alive. Pointers that a device gives out belong to whoever called `allocate`, until `deallocate`.
//
// Operations (attention, convolution, recurrence and what the cache does to its own storage) take
// plain launch arguments (device_ops.h) that the caller has checked. A device without kernels
// leaves them as they are here: they raise Unimplemented.
//
// Threads: `allocate`, `deallocate` and the transfers may be called from several threads at once,
// on ranges that do not overlap. A transfer has finished when it returns; operations of one device
// take effect in the order of the calls.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

namespace octavo {

struct AppendArg;
struct AttendArg;
struct ConvUpdateArg;
struct CopyBlocksArg;
struct GatedDeltaUpdateArg;
struct GatherBlockTableArg;
struct SelectiveStateUpdateArg;
struct StoreCrossArg;
struct ZeroSlotsArg;

enum class DeviceKind { Host, Null, Cuda };

std::string_view to_string(DeviceKind kind);

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual DeviceKind kind() const noexcept = 0;

  /// A name for messages: "host", "null", ...
  virtual std::string_view name() const noexcept = 0;

  /// Whether the host may dereference what `allocate` returns.
  virtual bool host_accessible() const noexcept = 0;

  /// `size_bytes` (>= 0) bytes that read as zero, aligned to 64. May be null for 0 bytes and on a
  /// device without memory.
  /// Raises InvalidArgument for a negative size, ResourceExhausted when there is not as much.
  virtual void* allocate(std::int64_t size_bytes) = 0;

  /// Returns what `allocate` gave for the same size.
  virtual void deallocate(void* data, std::int64_t size_bytes) noexcept = 0;

  /// Moves `size_bytes` bytes host to device, device to host, and within the device, where source
  /// and destination must not overlap. Raise DeviceError when the device fails.
  virtual void copy_from_host(void* dst, const void* src, std::int64_t size_bytes) = 0;
  virtual void copy_to_host(void* dst, const void* src, std::int64_t size_bytes) const = 0;
  virtual void copy(void* dst, const void* src, std::int64_t size_bytes) = 0;

  /// Sets every byte of the range to `value`.
  virtual void fill(void* dst, std::uint8_t value, std::int64_t size_bytes) = 0;

  /// The operations; each argument's comment in device_ops.h says what it computes.
  /// Raise Unimplemented, naming the device, where a device has no kernels for them.
  virtual void append(const AppendArg& arg);
  virtual void attend(const AttendArg& arg);
  virtual void copy_blocks(const CopyBlocksArg& arg);
  virtual void gather_block_table(const GatherBlockTableArg& arg);
  virtual void store_cross(const StoreCrossArg& arg);
  virtual void zero_slots(const ZeroSlotsArg& arg);
  virtual void conv_update(const ConvUpdateArg& arg);
  virtual void gated_delta_update(const GatedDeltaUpdateArg& arg);
  virtual void selective_state_update(const SelectiveStateUpdateArg& arg);
};

/// The host's own memory. Allocations from 1 MiB on are address space that the kernel backs with
/// zeroed pages as they are touched: a pool larger than the machine can be laid out, and costs what
/// is used of it.
class HostDevice final : public Device {
 public:
  DeviceKind kind() const noexcept override { return DeviceKind::Host; }
  std::string_view name() const noexcept override { return "host"; }
  bool host_accessible() const noexcept override { return true; }
  void* allocate(std::int64_t size_bytes) override;
  void deallocate(void* data, std::int64_t size_bytes) noexcept override;
  void copy_from_host(void* dst, const void* src, std::int64_t size_bytes) override;
  void copy_to_host(void* dst, const void* src, std::int64_t size_bytes) const override;
  void copy(void* dst, const void* src, std::int64_t size_bytes) override;
  void fill(void* dst, std::uint8_t value, std::int64_t size_bytes) override;
};

/// What a NullDevice was asked for since it was made.
struct DeviceCounters {
  std::int64_t allocations = 0;      ///< Calls of `allocate`.
  std::int64_t deallocations = 0;    ///< Calls of `deallocate`.
  std::int64_t allocated_bytes = 0;  ///< Freed ones included; saturates.
  std::int64_t live_bytes = 0;       ///< Allocated and not yet returned.
  std::int64_t live_bytes_max = 0;   ///< High-water mark of live_bytes.
  std::int64_t uploads = 0;          ///< Calls of `copy_from_host`.
  std::int64_t uploaded_bytes = 0;
  std::int64_t downloads = 0;  ///< Calls of `copy_to_host`.
  std::int64_t downloaded_bytes = 0;
  std::int64_t copies = 0;  ///< Calls of `copy`.
  std::int64_t copied_bytes = 0;
  std::int64_t fills = 0;  ///< Calls of `fill`.
  std::int64_t filled_bytes = 0;
  // Calls of the operation of that name.
  std::int64_t appends = 0;
  std::int64_t attends = 0;
  std::int64_t block_copies = 0;  ///< Calls of `copy_blocks`, not single copies.
  std::int64_t table_gathers = 0;
  std::int64_t cross_stores = 0;
  std::int64_t slot_zeroings = 0;
  std::int64_t conv_updates = 0;
  std::int64_t gated_delta_updates = 0;
  std::int64_t selective_state_updates = 0;
};

/// A device without memory: `allocate` returns null, transfers move nothing, operations compute
/// nothing, everything is counted.
/// What is downloaded from it reads as zero.
class NullDevice final : public Device {
 public:
  DeviceKind kind() const noexcept override { return DeviceKind::Null; }
  std::string_view name() const noexcept override { return "null"; }
  bool host_accessible() const noexcept override { return false; }
  /// Raises ResourceExhausted when the live bytes would overflow 64 bits.
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

  /// A consistent snapshot.
  DeviceCounters counters() const;

 private:
  void count(std::int64_t DeviceCounters::*counter);

  mutable std::mutex mutex_;
  mutable DeviceCounters counters_;  // Guarded by mutex_; reading the device counts as well.
};

/// The process's host device, made at its first use.
const std::shared_ptr<Device>& host_device();

}  // namespace octavo
