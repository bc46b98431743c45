// StagingRing: pinned host memory through which uploads pass, so that a caller may reuse its source
// as soon as the call returns and nobody waits for the GPU.
//
// The ring is cut into segments. An upload fills the rest of the current segment, or goes on in the
// next; an event marks the copies that read a segment, and whoever comes round to it again waits
// for that event: only when the GPU is a whole ring behind.
//
// A segment holds copies of one stream only, so that its one event covers them all. It is recorded
// by the upload itself: nothing is asked of a stream later, when it may have been destroyed.
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
  /// Has the event cover the current segment's copies.
  void mark();
  /// Takes the next segment, free of readers. When it raises, the current one is as it was.
  void leave();

  unsigned char* memory_ = nullptr;
  std::int64_t segment_bytes_ = 0;
  // The current segment, how much of it is used, and by which stream; meaningless when it is empty.
  int segment_ = 0;
  std::int64_t used_bytes_ = 0;
  cudaStream_t stream_ = nullptr;
  bool is_marked_ = true;  // Or a call failed, and the next will do it.
  std::array<cudaEvent_t, kSegments> events_ = {};
};

}  // namespace gpu
}  // namespace octavo::cuda
