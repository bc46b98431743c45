// Uploader: the cache's way of sending Int32s to its device, and its counters of that.
//
// Threads: one thread sends; `counters` may be read from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/relaxed_counter.h"
#include "octavo/kv_cache.h"

namespace octavo::cache {

struct Counters {
  RelaxedCounter uploads, uploaded_bytes, cleared_bytes, table_gathers, copied_blocks, zeroed_slots,
      downloaded_ids;

  KVCacheCounters read() const noexcept;
};

class Uploader {
 public:
  explicit Uploader(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  /// Writes values[0, count) to elements [first, first + count) of a contiguous Int32 tensor.
  /// Raises what the device raises.
  void upload(const Tensor& tensor,
              std::int64_t first,
              const std::int32_t* values,
              std::int64_t count);

  /// Sets elements [first, first + count) to -1 on the device itself.
  void clear(const Tensor& tensor, std::int64_t first, std::int64_t count);

  Device& device() const noexcept { return *device_; }
  const std::shared_ptr<Device>& shared_device() const noexcept { return device_; }
  Counters& counters() noexcept { return counters_; }

 private:
  std::shared_ptr<Device> device_;
  Counters counters_;
};

}  // namespace octavo::cache
