// Copies and fills.
#include <cstring>
#include <utility>

#include <cuda_runtime_api.h>

#include "tests/cuda/simulated_gpu/runtime/call.h"
#include "tests/cuda/simulated_gpu/runtime/ranges.h"
#include "tests/cuda/simulated_gpu/runtime/submission.h"

namespace octavo::simulated_gpu {
namespace {

struct Copy {
  void* to;
  const void* from;
  std::size_t size_bytes;
};

std::byte* place_of(const Gpu& gpu, const void* data) {
  return gpu.memory.host(address_of(data));
}

bool overlap(const Copy& copy) {
  const std::uint64_t to = address_of(copy.to);
  const std::uint64_t from = address_of(copy.from);
  return to < from + copy.size_bytes && from < to + copy.size_bytes;
}

cudaError_t copy_within(Runtime& runtime, Stream& stream, const Copy& copy) {
  if (!is_allocated(*stream.gpu, copy.to, copy.size_bytes) ||
      !is_allocated(*stream.gpu, copy.from, copy.size_bytes) || overlap(copy)) {
    return cudaErrorInvalidValue;
  }
  return submit(runtime, stream, [copy](Gpu& gpu) {
    require_allocated(gpu, copy.from, copy.size_bytes, "the source of a copy");
    require_allocated(gpu, copy.to, copy.size_bytes, "the destination of a copy");
    std::memcpy(place_of(gpu, copy.to), place_of(gpu, copy.from), copy.size_bytes);
  });
}

cudaError_t copy_to_device(Runtime& runtime, Stream& stream, const Copy& copy, WorkRef* made) {
  const HostRange host = find_host_range(runtime, copy.from, copy.size_bytes);
  if (host == HostRange::Wrong || !is_allocated(*stream.gpu, copy.to, copy.size_bytes)) {
    return cudaErrorInvalidValue;
  }
  if (host == HostRange::Pinned) {
    return submit(
        runtime, stream,
        [&runtime, copy](Gpu& gpu) {
          require_pinned(runtime, copy.from, copy.size_bytes, "the source of a copy");
          require_allocated(gpu, copy.to, copy.size_bytes, "the destination of a copy");
          std::memcpy(place_of(gpu, copy.to), copy.from, copy.size_bytes);
        },
        made);
  }
  const auto* const bytes = static_cast<const std::byte*>(copy.from);
  std::vector<std::byte> staged(bytes, bytes + copy.size_bytes);
  return submit_uncaptured(
      runtime, stream,
      [to = copy.to, staged = std::move(staged)](Gpu& gpu) {
        require_allocated(gpu, to, staged.size(), "the destination of a copy");
        std::memcpy(place_of(gpu, to), staged.data(), staged.size());
      },
      made);
}

cudaError_t copy_to_host(Runtime& runtime, Stream& stream, const Copy& copy, bool waits) {
  const HostRange host = find_host_range(runtime, copy.to, copy.size_bytes);
  if (host == HostRange::Wrong || !is_allocated(*stream.gpu, copy.from, copy.size_bytes)) {
    return cudaErrorInvalidValue;
  }
  const bool is_pinned = host == HostRange::Pinned;
  Act act = [&runtime, copy, is_pinned](Gpu& gpu) {
    require_allocated(gpu, copy.from, copy.size_bytes, "the source of a copy");
    if (is_pinned) {
      require_pinned(runtime, copy.to, copy.size_bytes, "the destination of a copy");
    }
    std::memcpy(copy.to, place_of(gpu, copy.from), copy.size_bytes);
  };
  WorkRef work;
  const cudaError_t status = is_pinned ? submit(runtime, stream, std::move(act), &work)
                                       : submit_uncaptured(runtime, stream, std::move(act), &work);
  if (status != cudaSuccess || (is_pinned && !waits)) {
    return status;
  }
  runtime.scheduler.finish(work);
  return stream.gpu->lost;
}

cudaError_t copy_async(Runtime& runtime,
                       const Copy& copy,
                       cudaMemcpyKind kind,
                       cudaStream_t handle) {
  Stream* const stream = runtime.find_stream(handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (copy.size_bytes == 0) {
    return check_usable(runtime, *stream);
  }
  ++runtime.queued;
  switch (kind) {
    case cudaMemcpyDeviceToDevice:
      return copy_within(runtime, *stream, copy);
    case cudaMemcpyHostToDevice:
      return copy_to_device(runtime, *stream, copy, nullptr);
    case cudaMemcpyDeviceToHost:
      return copy_to_host(runtime, *stream, copy, false);
    default:
      return cudaErrorInvalidMemcpyDirection;
  }
}

cudaError_t copy_now(Runtime& runtime, const Copy& copy, cudaMemcpyKind kind) {
  const cudaError_t status = check_safe(runtime);
  if (status != cudaSuccess || copy.size_bytes == 0) {
    return status;
  }
  Stream& legacy = runtime.current_gpu().legacy;
  if (kind == cudaMemcpyDeviceToHost) {
    return copy_to_host(runtime, legacy, copy, true);
  }
  if (kind == cudaMemcpyDeviceToDevice) {
    return copy_within(runtime, legacy, copy);
  }
  if (kind != cudaMemcpyHostToDevice) {
    return cudaErrorInvalidMemcpyDirection;
  }
  // From pageable memory: when the stream is idle and the source has been read.
  runtime.scheduler.finish(add_marker(runtime, legacy));
  WorkRef work;
  const cudaError_t copied = copy_to_device(runtime, legacy, copy, &work);
  if (copied == cudaSuccess &&
      find_host_range(runtime, copy.from, copy.size_bytes) == HostRange::Pinned) {
    runtime.scheduler.finish(work);
  }
  return copied;
}

cudaError_t fill(Runtime& runtime, Stream* stream, void* data, int value, std::size_t size_bytes) {
  if (stream == nullptr || stream->gpu != &runtime.current_gpu()) {
    return cudaErrorInvalidResourceHandle;
  }
  if (size_bytes == 0) {
    return check_usable(runtime, *stream);
  }
  if (!is_allocated(*stream->gpu, data, size_bytes)) {
    return cudaErrorInvalidValue;
  }
  ++runtime.queued;
  return submit(runtime, *stream, [&runtime, data, value, size_bytes](Gpu& gpu) {
    require_allocated(gpu, data, size_bytes, "what a fill writes");
    if (value == 0) {
      runtime.space.zero(address_of(data), size_bytes);
    } else {
      std::memset(place_of(gpu, data), value, size_bytes);
    }
  });
}

}  // namespace
}  // namespace octavo::simulated_gpu

using octavo::simulated_gpu::CallKind;
using octavo::simulated_gpu::Runtime;

extern "C" {

cudaError_t CUDARTAPI cudaMemcpyAsync(
    void* to, const void* from, std::size_t size_bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return octavo::simulated_gpu::call("cudaMemcpyAsync", [&](Runtime& runtime) {
    return octavo::simulated_gpu::copy_async(runtime, {to, from, size_bytes}, kind, stream);
  });
}

cudaError_t CUDARTAPI cudaMemcpy(void* to,
                                 const void* from,
                                 std::size_t size_bytes,
                                 cudaMemcpyKind kind) {
  return octavo::simulated_gpu::call("cudaMemcpy", CallKind::Waiting, [&](Runtime& runtime) {
    return octavo::simulated_gpu::copy_now(runtime, {to, from, size_bytes}, kind);
  });
}

cudaError_t CUDARTAPI cudaMemsetAsync(void* data,
                                      int value,
                                      std::size_t size_bytes,
                                      cudaStream_t stream) {
  return octavo::simulated_gpu::call("cudaMemsetAsync", [&](Runtime& runtime) {
    return octavo::simulated_gpu::fill(runtime, runtime.find_stream(stream), data, value,
                                       size_bytes);
  });
}

cudaError_t CUDARTAPI cudaMemset(void* data, int value, std::size_t size_bytes) {
  return octavo::simulated_gpu::call("cudaMemset", [&](Runtime& runtime) {
    const cudaError_t status = octavo::simulated_gpu::check_safe(runtime);
    return status != cudaSuccess
               ? status
               : octavo::simulated_gpu::fill(runtime, runtime.find_stream(nullptr), data, value,
                                             size_bytes);
  });
}

}  // extern "C"
