#include "staging_ring.h"

#include <algorithm>
#include <cstring>

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
      static_cast<void>(cudaEventSynchronize(event));
      static_cast<void>(cudaEventDestroy(event));
      event = nullptr;
    }
  }
  static_cast<void>(cudaFreeHost(memory_));  // Waits for copies that still read it.
  memory_ = nullptr;
}

void StagingRing::leave(Stream stream) {
  const auto event = [this](int segment) { return events_[static_cast<std::size_t>(segment)]; };
  check(cudaEventRecord(event(segment_), stream.handle), "cudaEventRecord");
  segment_ = (segment_ + 1) % kSegments;
  check(cudaEventSynchronize(event(segment_)), "cudaEventSynchronize");
  used_bytes_ = 0;
}

void StagingRing::upload(void* dst, const void* src, std::int64_t size_bytes, Stream stream) {
  const auto* from = static_cast<const unsigned char*>(src);
  auto* to = static_cast<unsigned char*>(dst);
  if (used_bytes_ > 0 && stream.handle != stream_) {
    leave({stream_});
  }
  stream_ = stream.handle;
  while (size_bytes > 0) {
    if (used_bytes_ >= segment_bytes_) {
      leave(stream);
    }
    const std::int64_t part = std::min(size_bytes, segment_bytes_ - used_bytes_);
    unsigned char* const staged = memory_ + segment_ * segment_bytes_ + used_bytes_;
    std::memcpy(staged, from, static_cast<std::size_t>(part));
    check(cudaMemcpyAsync(to, staged, static_cast<std::size_t>(part), cudaMemcpyHostToDevice,
                          stream.handle),
          "cudaMemcpyAsync to the device");
    used_bytes_ += (part + kAlignment - 1) / kAlignment * kAlignment;
    from += part;
    to += part;
    size_bytes -= part;
  }
}

}  // namespace gpu
}  // namespace octavo::cuda
