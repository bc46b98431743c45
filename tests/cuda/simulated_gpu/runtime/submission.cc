#include "tests/cuda/simulated_gpu/runtime/submission.h"

#include <utility>

namespace octavo::simulated_gpu {
namespace {

/// What the stream's own queue does not say.
std::vector<WorkRef> implied_order(const Runtime& runtime, const Stream& stream) {
  std::vector<WorkRef> after;
  if (stream.is_legacy) {
    for (const auto& [handle, other] : runtime.streams) {
      if (other->gpu == stream.gpu && other->is_blocking) {
        after.push_back(Scheduler::last(*other->queue));
      }
    }
  } else if (stream.is_blocking) {
    after.push_back(Scheduler::last(*stream.gpu->legacy.queue));
  }
  return after;
}

WorkRef enqueue(Runtime& runtime, Stream& stream, Act act, std::vector<WorkRef> after) {
  for (WorkRef& work : implied_order(runtime, stream)) {
    after.push_back(std::move(work));
  }
  Gpu& gpu = *stream.gpu;
  auto guarded = [&runtime, &gpu, act = std::move(act)] {
    if (gpu.lost != cudaSuccess || act == nullptr) {
      return;
    }
    try {
      act(gpu);
    } catch (const Fault& fault) {
      runtime.lose(gpu, fault.error(), fault.what());
    }
  };
  return runtime.scheduler.add(*stream.queue, std::move(guarded), std::move(after));
}

}  // namespace

cudaStreamCaptureMode& thread_capture_mode() {
  thread_local cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  return mode;
}

cudaError_t check_usable(Runtime& runtime, Stream& stream) {
  if (stream.capture != nullptr && !stream.capture->is_valid) {
    return cudaErrorStreamCaptureInvalidated;
  }
  if (stream.is_legacy) {
    cudaError_t status = cudaSuccess;
    for (const auto& capture : runtime.captures) {
      for (const Stream* const member : capture->members) {
        if (member->gpu == stream.gpu && member->is_blocking) {
          capture->is_valid = false;
          status = cudaErrorStreamCaptureImplicit;
        }
      }
    }
    return status;
  }
  return cudaSuccess;
}

cudaError_t check_safe(Runtime& runtime) {
  cudaError_t status = cudaSuccess;
  const cudaStreamCaptureMode mode = thread_capture_mode();
  for (const auto& capture : runtime.captures) {
    const bool is_own = capture->thread == std::this_thread::get_id();
    const bool is_hit = is_own ? capture->mode != cudaStreamCaptureModeRelaxed
                               : capture->mode == cudaStreamCaptureModeGlobal &&
                                     mode == cudaStreamCaptureModeGlobal;
    if (is_hit && mode != cudaStreamCaptureModeRelaxed) {
      capture->is_valid = false;
      status = cudaErrorStreamCaptureUnsupported;
    }
  }
  return status;
}

cudaError_t submit(Runtime& runtime, Stream& stream, Act act, WorkRef* made) {
  const cudaError_t status = check_usable(runtime, stream);
  if (status != cudaSuccess) {
    return status;
  }
  if (stream.capture != nullptr) {
    std::vector<GraphNode>& nodes = stream.capture->graph.nodes;
    nodes.push_back({std::move(act), stream.tails});
    stream.tails = {nodes.size() - 1};
    return cudaSuccess;
  }
  const WorkRef work = enqueue(runtime, stream, std::move(act), {});
  if (made != nullptr) {
    *made = work;
  }
  return cudaSuccess;
}

cudaError_t submit_uncaptured(Runtime& runtime, Stream& stream, Act act, WorkRef* made) {
  if (stream.capture != nullptr) {
    stream.capture->is_valid = false;
    return cudaErrorStreamCaptureUnsupported;
  }
  return submit(runtime, stream, std::move(act), made);
}

WorkRef add_marker(Runtime& runtime, Stream& stream, std::vector<WorkRef> after) {
  return enqueue(runtime, stream, nullptr, std::move(after));
}

}  // namespace octavo::simulated_gpu
