#include "staging_ring.h"

#include <algorithm>
#include <cstring>

#include "ignored_status.h"

namespace octavo::cuda {
inline namespace gpu {
namespace {

constexpr std::int64_t kAlignment = 64;

}  // namespace

StagingRing::StagingRing(std::int64_t size_bytes)
    : segment_bytes_(size_bytes / kSegments / kAlignment * kAlignment) {
  check(cudaHostAlloc(reinterpret_cast<void**>(&memory_),
                      static_cast<std::size_t>(segment_bytes_ * kSegments), cudaHostAllocDefault),
        "cudaHostAlloc");
  for (cudaEvent_t& event : events_) {
    const cudaError_t status = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (status != cudaSuccess) {
      release();
      check(status, "cudaEventCreate");
    }
  }
}

StagingRing::~StagingRing() {
  release();
}

void StagingRing::release() noexcept {
  for (cudaEvent_t& event : events_) {
    if (event != nullptr) {
      ignore(cudaEventSynchronize(event));  // Copies may still read the memory.
      ignore(cudaEventDestroy(event));
      event = nullptr;
    }
  }
  ignore(cudaFreeHost(memory_));
  memory_ = nullptr;
}

void StagingRing::mark() {
  check(cudaEventRecord(events_[static_cast<std::size_t>(segment_)], stream_), "cudaEventRecord");
  is_marked_ = true;
}

void StagingRing::leave() {
  if (!is_marked_) {
    mark();
  }
  const int next = (segment_ + 1) % kSegments;
  check(cudaEventSynchronize(events_[static_cast<std::size_t>(next)]), "cudaEventSynchronize");
  segment_ = next;
  used_bytes_ = 0;
}

void StagingRing::upload(void* dst, const void* src, std::int64_t size_bytes, Stream stream) {
  const auto* from = static_cast<const unsigned char*>(src);
  auto* to = static_cast<unsigned char*>(dst);
  if (used_bytes_ > 0 && stream.handle != stream_) {
    leave();
  }
  stream_ = stream.handle;
  while (size_bytes > 0) {
    if (used_bytes_ >= segment_bytes_) {
      leave();
    }
    const std::int64_t part = std::min(size_bytes, segment_bytes_ - used_bytes_);
    unsigned char* const staged = memory_ + segment_ * segment_bytes_ + used_bytes_;
    std::memcpy(staged, from, static_cast<std::size_t>(part));
    is_marked_ = false;
    check(cudaMemcpyAsync(to, staged, static_cast<std::size_t>(part), cudaMemcpyHostToDevice,
                          stream.handle),
          "cudaMemcpyAsync to the device");
    used_bytes_ += (part + kAlignment - 1) / kAlignment * kAlignment;
    from += part;
    to += part;
    size_bytes -= part;
  }
  if (!is_marked_) {
    mark();
  }
}

}  // namespace gpu
}  // namespace octavo::cuda
