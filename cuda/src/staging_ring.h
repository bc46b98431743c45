// StagingRing: pinned host memory through which uploads pass, so that a caller may reuse its source
// as soon as the call returns and nobody waits for the GPU.
//
// The ring is cut into segments. An upload fills the rest of the current segment, or goes on in the
// next; when a segment is left behind, an event marks the copies that read it, and whoever comes
// round to it again waits for that event: only when the GPU is a whole ring behind.
//
// A segment holds copies of one stream only, so that its one event covers them all.
//
// Threads: one call at a time; the device holds its lock.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/platform.cuh"

namespace octavo::cuda {
inline namespace gpu {

class StagingRing {
 public:
  /// Raises ResourceExhausted or DeviceError. The current GPU must be the device's, here and in
  /// every other call.
  explicit StagingRing(std::int64_t size_bytes);
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  /// Queues a copy of `size_bytes` host bytes to the device. `src` has been read on return.
  void upload(void* dst, const void* src, std::int64_t size_bytes, Stream stream);

 private:
  static constexpr int kSegments = 4;

  void release() noexcept;
  /// Marks the current segment's copies and takes the next segment, free of readers.
  void leave(Stream stream);

  unsigned char* memory_ = nullptr;
  std::int64_t segment_bytes_ = 0;
  int segment_ = 0;
  std::int64_t used_bytes_ = 0;      // Of the current segment.
  cudaStream_t stream_ = nullptr;    // Of the current segment's copies; meaningless when empty.
  std::array<cudaEvent_t, kSegments> events_ = {};
};

}  // namespace gpu
}  // namespace octavo::cuda
