#include "cache/uploader.h"

#include <cstddef>

namespace octavo::cache {
namespace {

constexpr std::int64_t kElementBytes = sizeof(std::int32_t);

// A device without memory has no addresses to offset.
void* element(const Tensor& tensor, std::int64_t index) {
  auto* base = static_cast<std::byte*>(tensor.address());
  return base == nullptr ? nullptr : base + index * kElementBytes;
}

}  // namespace

KVCacheCounters Counters::read() const noexcept {
  return {.uploads = uploads.get(),
          .uploaded_bytes = uploaded_bytes.get(),
          .cleared_bytes = cleared_bytes.get(),
          .table_gathers = table_gathers.get(),
          .copied_blocks = copied_blocks.get(),
          .zeroed_slots = zeroed_slots.get(),
          .downloaded_ids = downloaded_ids.get()};
}

void Uploader::upload(const Tensor& tensor,
                      std::int64_t first,
                      const std::int32_t* values,
                      std::int64_t count) {
  device_->copy_from_host(element(tensor, first), values, count * kElementBytes);
  counters_.uploads.add(1);
  counters_.uploaded_bytes.add(count * kElementBytes);
}

void Uploader::clear(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  device_->fill(element(tensor, first), 0xFF, count * kElementBytes);
  counters_.cleared_bytes.add(count * kElementBytes);
}

}  // namespace octavo::cache
