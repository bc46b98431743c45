// Rig: one of the devices under test with the cache on it, and a look into its storage.
//
// Looks go to the device beneath the one that can be made to fail: what the checker itself reads or
// spoils never counts as a call of the cache.
//
// Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "exact_rows.h"
#include "fault_device.h"
#include "layer_step.h"
#include "octavo/kv_cache.h"
#include "octavo/sim/check/check.h"

namespace octavo::sim::check {

/// Something that the cache promises is not so.
class Violation : public std::runtime_error {
 public:
  Violation(std::string kind, const std::string& what)
      : std::runtime_error(what), kind_(std::move(kind)) {}
  const std::string& kind() const noexcept { return kind_; }

 private:
  std::string kind_;
};

/// The bytes of a tensor, where they lie or fetched.
class HostBytes {
 public:
  explicit HostBytes(const Tensor& tensor);
  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  std::vector<std::byte> fetched_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Keys or values of a layer: [blocks or slots, heads, rows, row], with scales if there are any.
class RowsView {
 public:
  explicit RowsView(const Tensor& rows);

  const std::byte* row(std::int64_t block, std::int64_t head, std::int64_t row) const;
  std::size_t row_bytes() const noexcept { return row_bytes_; }
  /// 1 without a codec.
  float scale(std::int64_t block, std::int64_t head, std::int64_t row) const;
  bool has_row_scales() const noexcept { return has_row_scales_; }
  RowFormat format() const noexcept { return format_; }
  std::int64_t blocks() const noexcept { return blocks_; }

 private:
  HostBytes bytes_;
  std::vector<HostBytes> scales_;  ///< None or one.
  RowFormat format_;
  std::int64_t blocks_ = 0;
  std::int64_t heads_ = 0;
  std::int64_t rows_ = 0;
  std::size_t row_bytes_ = 0;
  bool has_row_scales_ = false;
};

struct Rig {
  Rig(const CheckDevice& device, const CheckSetup& setup);

  /// Int32 elements without a call that counts.
  std::vector<std::int32_t> peek(const Tensor& tensor) const;
  /// Whether the device failed while the slot's K/V was being arranged; changes nothing.
  bool is_failed(int slot);
  /// Overwrites one row of a block, in every paged layer, with bytes that are NaN or huge.
  void spoil_row(std::int64_t block, std::int64_t row, std::uint8_t byte) const;

  std::string name;
  std::shared_ptr<FaultDevice> device;
  KVCache cache;
  std::vector<LayerStorage> layers;
};

}  // namespace octavo::sim::check
