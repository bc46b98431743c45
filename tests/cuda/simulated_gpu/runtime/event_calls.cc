// Events.
#include <algorithm>
#include <utility>

#include <cuda_runtime_api.h>

#include "tests/cuda/simulated_gpu/runtime/call.h"
#include "tests/cuda/simulated_gpu/runtime/submission.h"

namespace octavo::simulated_gpu {
namespace {

void spoil(const std::weak_ptr<Capture>& held) {
  if (const auto capture = held.lock()) {
    capture->is_valid = false;
  }
}

cudaError_t record(Runtime& runtime, cudaEvent_t handle, cudaStream_t stream_handle) {
  Event* const event = runtime.find_event(handle);
  Stream* const stream = runtime.find_stream(stream_handle);
  if (event == nullptr || stream == nullptr || event->gpu != stream->gpu) {
    return cudaErrorInvalidResourceHandle;
  }
  const cudaError_t status = check_usable(runtime, *stream);
  if (status != cudaSuccess) {
    return status;
  }
  event->is_captured = stream->capture != nullptr;
  event->capture = stream->capture;
  event->nodes = stream->tails;
  event->recorded = event->is_captured ? nullptr : add_marker(runtime, *stream);
  return cudaSuccess;
}

/// The stream waits for an event of a capture, and is in that capture from now on.
cudaError_t join(Stream& stream, const Event& event) {
  const auto capture = event.capture.lock();
  if (capture == nullptr || stream.is_legacy) {
    return capture == nullptr ? cudaErrorInvalidValue : cudaErrorStreamCaptureImplicit;
  }
  if (stream.capture == nullptr) {
    stream.capture = capture;
    capture->members.push_back(&stream);
    stream.tails.clear();
  } else if (stream.capture != capture) {
    stream.capture->is_valid = false;
    capture->is_valid = false;
    return cudaErrorStreamCaptureMerge;
  }
  for (const std::size_t node : event.nodes) {
    if (std::ranges::find(stream.tails, node) == stream.tails.end()) {
      stream.tails.push_back(node);
    }
  }
  return cudaSuccess;
}

cudaError_t wait(Runtime& runtime, cudaStream_t stream_handle, cudaEvent_t handle) {
  const Event* const event = runtime.find_event(handle);
  Stream* const stream = runtime.find_stream(stream_handle);
  if (event == nullptr || stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  const cudaError_t status = check_usable(runtime, *stream);
  if (status != cudaSuccess) {
    return status;
  }
  if (event->is_captured) {
    return join(*stream, *event);
  }
  if (stream->capture != nullptr) {
    stream->capture->is_valid = false;
    return cudaErrorStreamCaptureIsolation;
  }
  add_marker(runtime, *stream, {event->recorded});
  return cudaSuccess;
}

cudaError_t find_asked(Runtime& runtime, cudaEvent_t handle, Event*& event) {
  event = runtime.find_event(handle);
  if (event == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (event->is_captured) {
    spoil(event->capture);
    return cudaErrorCapturedEvent;
  }
  return cudaSuccess;
}

// A microsecond for each piece of work in between.
cudaError_t elapsed(Runtime& runtime, cudaEvent_t from, cudaEvent_t to, float& time_ms) {
  Event* begin = nullptr;
  Event* end = nullptr;
  for (const auto& [handle, event] : {std::pair{from, &begin}, {to, &end}}) {
    const cudaError_t status = find_asked(runtime, handle, *event);
    if (status != cudaSuccess) {
      return status;
    }
    if ((*event)->recorded == nullptr) {
      return cudaErrorInvalidResourceHandle;
    }
  }
  if (!begin->recorded->is_done || !end->recorded->is_done) {
    return cudaErrorNotReady;
  }
  time_ms = static_cast<float>(end->recorded->turn - begin->recorded->turn) * 1e-3f;
  return cudaSuccess;
}

}  // namespace
}  // namespace octavo::simulated_gpu

using octavo::simulated_gpu::CallKind;
using octavo::simulated_gpu::Event;
using octavo::simulated_gpu::Runtime;

extern "C" {

cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  return octavo::simulated_gpu::call("cudaEventCreateWithFlags", [&](Runtime& runtime) {
    if (event == nullptr) {
      return cudaErrorInvalidValue;
    }
    *event = runtime.new_handle<cudaEvent_t>();
    runtime.events[*event].gpu = &runtime.current_gpu();
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event) {
  return octavo::simulated_gpu::call("cudaEventDestroy", [&](Runtime& runtime) {
    return runtime.events.erase(event) == 1 ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return octavo::simulated_gpu::call("cudaEventRecord", [&](Runtime& runtime) {
    return octavo::simulated_gpu::record(runtime, event, stream);
  });
}

cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream,
                                          cudaEvent_t event,
                                          unsigned /*flags*/) {
  return octavo::simulated_gpu::call("cudaStreamWaitEvent", [&](Runtime& runtime) {
    return octavo::simulated_gpu::wait(runtime, stream, event);
  });
}

cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t handle) {
  return octavo::simulated_gpu::call(
      "cudaEventSynchronize", CallKind::Waiting, [&](Runtime& runtime) {
        Event* event = nullptr;
        const cudaError_t status = octavo::simulated_gpu::find_asked(runtime, handle, event);
        if (status != cudaSuccess) {
          return status;
        }
        runtime.wait_for(event->recorded);
        return event->gpu->lost;
      });
}

cudaError_t CUDARTAPI cudaEventElapsedTime(float* time_ms, cudaEvent_t from, cudaEvent_t to) {
  return octavo::simulated_gpu::call("cudaEventElapsedTime", [&](Runtime& runtime) {
    return time_ms == nullptr ? cudaErrorInvalidValue
                              : octavo::simulated_gpu::elapsed(runtime, from, to, *time_ms);
  });
}

cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t handle) {
  return octavo::simulated_gpu::call("cudaEventQuery", [&](Runtime& runtime) {
    cudaError_t status = octavo::simulated_gpu::check_safe(runtime);
    Event* event = nullptr;
    if (status == cudaSuccess) {
      status = octavo::simulated_gpu::find_asked(runtime, handle, event);
    }
    if (status == cudaSuccess && event->recorded != nullptr && !event->recorded->is_done) {
      status = cudaErrorNotReady;
    }
    return status;
  });
}

}  // extern "C"
