// Streams, and what waits for them.
#include <algorithm>

#include <cuda_runtime_api.h>

#include "tests/cuda/simulated_gpu/runtime/call.h"
#include "tests/cuda/simulated_gpu/runtime/submission.h"

namespace octavo::simulated_gpu {
namespace {

cudaError_t create(Runtime& runtime, cudaStream_t* handle, unsigned flags) {
  if (handle == nullptr || (flags != cudaStreamDefault && flags != cudaStreamNonBlocking)) {
    return cudaErrorInvalidValue;
  }
  std::erase_if(runtime.streams, [](const auto& stream) {
    return stream.second->is_destroyed && stream.second->queue->waiting.empty();
  });
  auto stream = std::make_unique<Stream>();
  stream->gpu = &runtime.current_gpu();
  stream->is_blocking = flags == cudaStreamDefault;
  stream->queue = runtime.scheduler.make_queue();
  *handle = runtime.new_handle<cudaStream_t>();
  runtime.streams[*handle] = std::move(stream);
  return cudaSuccess;
}

cudaError_t destroy(Runtime& runtime, cudaStream_t handle) {
  Stream* const stream = handle == nullptr ? nullptr : runtime.find_stream(handle);
  if (stream == nullptr || stream->is_legacy) {
    return cudaErrorInvalidResourceHandle;
  }
  if (stream->capture != nullptr) {
    stream->capture->is_valid = false;
    return cudaErrorStreamCaptureUnsupported;
  }
  stream->is_destroyed = true;
  return cudaSuccess;
}

/// Of a call that asks how far the stream is.
cudaError_t check_asked(Runtime& runtime, Stream* stream) {
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (stream->capture != nullptr) {
    stream->capture->is_valid = false;
    return cudaErrorStreamCaptureUnsupported;
  }
  return check_usable(runtime, *stream);
}

cudaError_t synchronize_device(Runtime& runtime) {
  const Gpu& gpu = runtime.current_gpu();
  cudaError_t status = cudaSuccess;
  for (const auto& capture : runtime.captures) {
    if (capture->origin->gpu == &gpu) {
      capture->is_valid = false;
      status = cudaErrorStreamCaptureUnsupported;
    }
  }
  if (status == cudaSuccess) {
    runtime.finish_gpu(gpu);
  }
  return status;
}

}  // namespace
}  // namespace octavo::simulated_gpu

using octavo::simulated_gpu::CallKind;
using octavo::simulated_gpu::Runtime;
using octavo::simulated_gpu::Scheduler;
using octavo::simulated_gpu::Stream;

extern "C" {

cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return octavo::simulated_gpu::call("cudaStreamCreateWithFlags", [&](Runtime& runtime) {
    return octavo::simulated_gpu::create(runtime, stream, flags);
  });
}

cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream) {
  return octavo::simulated_gpu::call("cudaStreamDestroy", [&](Runtime& runtime) {
    return octavo::simulated_gpu::destroy(runtime, stream);
  });
}

cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t handle) {
  return octavo::simulated_gpu::call(
      "cudaStreamSynchronize", CallKind::Waiting, [&](Runtime& runtime) {
        Stream* const stream = runtime.find_stream(handle);
        const cudaError_t status = octavo::simulated_gpu::check_asked(runtime, stream);
        if (status != cudaSuccess) {
          return status;
        }
        runtime.wait_for(Scheduler::last(*stream->queue));
        return stream->gpu->lost;
      });
}

cudaError_t CUDARTAPI cudaStreamQuery(cudaStream_t handle) {
  return octavo::simulated_gpu::call("cudaStreamQuery", [&](Runtime& runtime) {
    cudaError_t status = octavo::simulated_gpu::check_safe(runtime);
    Stream* const stream = runtime.find_stream(handle);
    if (status == cudaSuccess) {
      status = octavo::simulated_gpu::check_asked(runtime, stream);
    }
    if (status == cudaSuccess && !stream->queue->waiting.empty()) {
      status = cudaErrorNotReady;
    }
    return status;
  });
}

cudaError_t CUDARTAPI cudaDeviceSynchronize() {
  return octavo::simulated_gpu::call("cudaDeviceSynchronize", CallKind::Waiting,
                                     octavo::simulated_gpu::synchronize_device);
}

}  // extern "C"
