#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "octavo/device.h"
#include "octavo/error.h"

namespace octavo {

void* NullDevice::allocate(std::int64_t size_bytes) {
  if (size_bytes < 0) {
    throw Error(ErrorCode::InvalidArgument, "NullDevice::allocate: size_bytes is " +
                                                std::to_string(size_bytes) + "; it must be >= 0");
  }
  const std::lock_guard lock(mutex_);
  std::int64_t live_bytes = 0;
  if (__builtin_add_overflow(counters_.live_bytes, size_bytes, &live_bytes)) {
    throw Error(ErrorCode::ResourceExhausted,
                "NullDevice::allocate: " + std::to_string(size_bytes) +
                    " more bytes do not fit into a 64-bit count");
  }
  ++counters_.allocations;
  if (__builtin_add_overflow(counters_.allocated_bytes, size_bytes, &counters_.allocated_bytes)) {
    counters_.allocated_bytes = std::numeric_limits<std::int64_t>::max();
  }
  counters_.live_bytes = live_bytes;
  counters_.live_bytes_max = std::max(counters_.live_bytes_max, live_bytes);
  return nullptr;
}

void NullDevice::deallocate(void* /*data*/, std::int64_t size_bytes) noexcept {
  const std::lock_guard lock(mutex_);
  ++counters_.deallocations;
  counters_.live_bytes -= size_bytes;
}

void NullDevice::copy_from_host(void* /*dst*/, const void* /*src*/, std::int64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  ++counters_.uploads;
  counters_.uploaded_bytes += size_bytes;
}

void NullDevice::copy_to_host(void* dst, const void* /*src*/, std::int64_t size_bytes) const {
  // The host's buffer must not keep what stood in it before: that would pass for data.
  if (size_bytes > 0) {
    std::memset(dst, 0, static_cast<std::size_t>(size_bytes));
  }
  const std::lock_guard lock(mutex_);
  ++counters_.downloads;
  counters_.downloaded_bytes += size_bytes;
}

void NullDevice::copy(void* /*dst*/, const void* /*src*/, std::int64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  ++counters_.copies;
  counters_.copied_bytes += size_bytes;
}

void NullDevice::fill(void* /*dst*/, std::uint8_t /*value*/, std::int64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  ++counters_.fills;
  counters_.filled_bytes += size_bytes;
}

DeviceCounters NullDevice::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace octavo
