// GpuTimer: how long work on a GPU takes, by CUDA events around replays of a captured graph, so
// that neither the host's calls nor its clock are in the figure.
//
// Threads: one at a time.
#pragma once

#include <cuda_runtime.h>

#include <functional>

namespace octavo::bench {

/// Raises std::runtime_error naming `call` unless `status` is success.
void require(cudaError_t status, const char* call);

class GpuTimer {
 public:
  GpuTimer();
  ~GpuTimer();
  GpuTimer(const GpuTimer&) = delete;
  GpuTimer& operator=(const GpuTimer&) = delete;

  cudaStream_t stream() const noexcept { return stream_; }

  /// Microseconds of one `work`, which queues on the current CudaStreamGuard's stream: run once,
  /// captured, replayed `warm_ups` times and then `repeats` times one by one; the median.
  double median_us(const std::function<void()>& work, int warm_ups = 3, int repeats = 11);

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

}  // namespace octavo::bench
