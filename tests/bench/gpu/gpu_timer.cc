#include "gpu_timer.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "octavo/cuda/cuda_device.h"

namespace octavo::bench {

void require(cudaError_t status, const char* call) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
  }
}

GpuTimer::GpuTimer() {
  require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  require(cudaEventCreate(&begin_), "cudaEventCreate");
  require(cudaEventCreate(&end_), "cudaEventCreate");
}

GpuTimer::~GpuTimer() {
  static_cast<void>(cudaEventDestroy(begin_));
  static_cast<void>(cudaEventDestroy(end_));
  static_cast<void>(cudaStreamDestroy(stream_));
}

double GpuTimer::median_us(const std::function<void()>& work, int warm_ups, int repeats) {
  const CudaStreamGuard guard(stream_);
  require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // What other streams made ready.
  work();                                                      // The workspace grows here.
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin of capture");
  work();
  require(cudaStreamEndCapture(stream_, &graph), "end of capture");
  require(cudaGraphInstantiate(&replay, graph, 0), "cudaGraphInstantiate");
  std::vector<double> times_us;
  for (int i = 0; i < warm_ups + repeats; ++i) {
    require(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    require(cudaGraphLaunch(replay, stream_), "cudaGraphLaunch");
    require(cudaEventRecord(end_, stream_), "cudaEventRecord");
    require(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float time_ms = 0.0F;
    require(cudaEventElapsedTime(&time_ms, begin_, end_), "cudaEventElapsedTime");
    if (i >= warm_ups) {
      times_us.push_back(static_cast<double>(time_ms) * 1e3);
    }
  }
  require(cudaGraphExecDestroy(replay), "cudaGraphExecDestroy");
  require(cudaGraphDestroy(graph), "cudaGraphDestroy");
  std::nth_element(times_us.begin(), times_us.begin() + repeats / 2, times_us.end());
  return times_us[static_cast<std::size_t>(repeats) / 2];
}

}  // namespace octavo::bench
