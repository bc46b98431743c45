// cudaMalloc and its kin.
#include <algorithm>
#include <utility>

#include <cuda_runtime_api.h>

#include "tests/cuda/simulated_gpu/runtime/call.h"
#include "tests/cuda/simulated_gpu/runtime/ranges.h"
#include "tests/cuda/simulated_gpu/runtime/submission.h"

namespace octavo::simulated_gpu {
namespace {

/// Enters an allocation that is not yet there. Its address, or 0.
std::uint64_t take(Runtime& runtime, Gpu& gpu, std::uint64_t size_bytes, bool is_stream_ordered) {
  const auto free_bytes = static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, runtime.options.memory_bytes - gpu.used_bytes));
  if (size_bytes > free_bytes) {
    return 0;
  }
  const std::uint64_t begin = runtime.space.take(size_bytes);
  if (begin != 0) {
    gpu.allocations[begin] = {size_bytes, is_stream_ordered, nullptr};
    gpu.used_bytes += static_cast<std::int64_t>(size_bytes);
  }
  return begin;
}

void forget(Gpu& gpu, std::uint64_t begin) {
  const auto found = gpu.allocations.find(begin);
  gpu.used_bytes -= static_cast<std::int64_t>(found->second.size_bytes);
  gpu.allocations.erase(found);
}

void make(Runtime& runtime, Gpu& gpu, std::uint64_t begin, std::uint64_t size_bytes) {
  gpu.memory.add(begin, size_bytes);
  poison(gpu.memory.host(begin), size_bytes, runtime.scheduler.random());
}

void unmake(Runtime& runtime, Gpu& gpu, std::uint64_t begin) {
  const MemoryRange range = gpu.memory.find(begin);
  if (range.end == 0 || range.begin != begin) {
    throw Fault("memory is freed before its allocation, in the order of its stream");
  }
  runtime.space.drop(begin, range.end - begin);
  gpu.memory.remove(begin);
}

/// The GPU whose memory begins there; null for none.
Gpu* owner_of(Runtime& runtime, std::uint64_t begin) {
  const auto found = std::ranges::find_if(
      runtime.gpus, [&](const auto& gpu) { return gpu->allocations.contains(begin); });
  return found == runtime.gpus.end() ? nullptr : found->get();
}

cudaError_t allocate_now(Runtime& runtime, void** data, std::size_t size_bytes) {
  const cudaError_t status = check_safe(runtime);
  if (status != cudaSuccess || data == nullptr) {
    return data == nullptr ? cudaErrorInvalidValue : status;
  }
  *data = nullptr;
  if (size_bytes == 0) {
    return cudaSuccess;
  }
  Gpu& gpu = runtime.current_gpu();
  const std::uint64_t begin = take(runtime, gpu, size_bytes, false);
  if (begin == 0) {
    return cudaErrorMemoryAllocation;
  }
  make(runtime, gpu, begin, size_bytes);
  *data = reinterpret_cast<void*>(begin);
  return cudaSuccess;
}

cudaError_t allocate_in_order(Runtime& runtime,
                              void** data,
                              std::size_t size_bytes,
                              cudaStream_t handle) {
  Stream* const stream = runtime.find_stream(handle);
  if (stream == nullptr || data == nullptr) {
    return stream == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
  }
  if (stream->capture != nullptr) {  // Graphs have no memory of their own here.
    stream->capture->is_valid = false;
    return cudaErrorStreamCaptureUnsupported;
  }
  const cudaError_t status = check_usable(runtime, *stream);
  if (status != cudaSuccess || size_bytes == 0) {
    return status;
  }
  Gpu& gpu = *stream->gpu;
  const std::uint64_t begin = take(runtime, gpu, size_bytes, true);
  if (begin == 0) {
    return cudaErrorMemoryAllocation;
  }
  *data = reinterpret_cast<void*>(begin);
  Act act = [&runtime, begin, size_bytes](Gpu& on) { make(runtime, on, begin, size_bytes); };
  return submit(runtime, *stream, std::move(act), &gpu.allocations[begin].made);
}

cudaError_t free_in_order(Runtime& runtime, void* data, cudaStream_t handle) {
  Stream* const stream = runtime.find_stream(handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (stream->capture != nullptr) {  // A graph frees what it has allocated, and that is nothing.
    stream->capture->is_valid = false;
    return cudaErrorInvalidValue;
  }
  const cudaError_t status = check_usable(runtime, *stream);
  if (status != cudaSuccess || data == nullptr) {
    return status;
  }
  const std::uint64_t begin = address_of(data);
  Gpu* const gpu = owner_of(runtime, begin);
  if (gpu == nullptr || !gpu->allocations[begin].is_stream_ordered) {
    return cudaErrorInvalidValue;
  }
  forget(*gpu, begin);
  return submit(runtime, *stream, [&runtime, gpu, begin](Gpu&) { unmake(runtime, *gpu, begin); });
}

cudaError_t free_now(Runtime& runtime, void* data) {
  const cudaError_t status = check_safe(runtime);
  if (status != cudaSuccess || data == nullptr) {
    return status;
  }
  const std::uint64_t begin = address_of(data);
  Gpu* const gpu = owner_of(runtime, begin);
  if (gpu == nullptr) {
    return cudaErrorInvalidValue;
  }
  if (gpu->allocations[begin].is_stream_ordered) {
    runtime.scheduler.finish(gpu->allocations[begin].made);
  } else {
    runtime.finish_gpu(*gpu);
  }
  if (gpu->lost != cudaSuccess) {
    return gpu->lost;
  }
  forget(*gpu, begin);
  unmake(runtime, *gpu, begin);
  return cudaSuccess;
}

cudaError_t pin(Runtime& runtime, void** data, std::size_t size_bytes) {
  const cudaError_t status = check_safe(runtime);
  if (status != cudaSuccess || data == nullptr) {
    return data == nullptr ? cudaErrorInvalidValue : status;
  }
  PinnedRange range{size_bytes, true, std::make_unique<std::byte[]>(size_bytes + 1)};
  const std::uint64_t begin = address_of(range.bytes.get());
  poison(range.bytes.get(), size_bytes, runtime.scheduler.random());
  *data = range.bytes.get();
  runtime.pinned[begin] = std::move(range);
  return cudaSuccess;
}

cudaError_t unpin(Runtime& runtime, void* data) {
  const cudaError_t status = check_safe(runtime);
  if (status != cudaSuccess || data == nullptr) {
    return status;
  }
  const auto found = runtime.pinned.find(address_of(data));
  if (found == runtime.pinned.end() || !found->second.is_live) {
    return cudaErrorInvalidValue;
  }
  poison(found->second.bytes.get(), found->second.size_bytes, runtime.scheduler.random());
  found->second.is_live = false;
  return cudaSuccess;
}

}  // namespace
}  // namespace octavo::simulated_gpu

using octavo::simulated_gpu::CallKind;
using octavo::simulated_gpu::Runtime;

extern "C" {

cudaError_t CUDARTAPI cudaMalloc(void** data, std::size_t size_bytes) {
  return octavo::simulated_gpu::call("cudaMalloc", [&](Runtime& runtime) {
    return octavo::simulated_gpu::allocate_now(runtime, data, size_bytes);
  });
}

cudaError_t CUDARTAPI cudaFree(void* data) {
  return octavo::simulated_gpu::call("cudaFree", CallKind::Waiting, [&](Runtime& runtime) {
    return octavo::simulated_gpu::free_now(runtime, data);
  });
}

cudaError_t CUDARTAPI cudaMallocAsync(void** data, std::size_t size_bytes, cudaStream_t stream) {
  return octavo::simulated_gpu::call("cudaMallocAsync", [&](Runtime& runtime) {
    return octavo::simulated_gpu::allocate_in_order(runtime, data, size_bytes, stream);
  });
}

cudaError_t CUDARTAPI cudaFreeAsync(void* data, cudaStream_t stream) {
  return octavo::simulated_gpu::call("cudaFreeAsync", [&](Runtime& runtime) {
    return octavo::simulated_gpu::free_in_order(runtime, data, stream);
  });
}

cudaError_t CUDARTAPI cudaHostAlloc(void** data, std::size_t size_bytes, unsigned /*flags*/) {
  return octavo::simulated_gpu::call("cudaHostAlloc", [&](Runtime& runtime) {
    return octavo::simulated_gpu::pin(runtime, data, size_bytes);
  });
}

cudaError_t CUDARTAPI cudaFreeHost(void* data) {
  return octavo::simulated_gpu::call("cudaFreeHost", [&](Runtime& runtime) {
    return octavo::simulated_gpu::unpin(runtime, data);
  });
}

cudaError_t CUDARTAPI cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return octavo::simulated_gpu::call("cudaDeviceGetDefaultMemPool", [&](Runtime& runtime) {
    if (pool == nullptr || device < 0 || device >= runtime.options.num_gpus) {
      return device < 0 || device >= runtime.options.num_gpus ? cudaErrorInvalidDevice
                                                              : cudaErrorInvalidValue;
    }
    *pool = reinterpret_cast<cudaMemPool_t>(static_cast<std::uintptr_t>(device) + 1);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaMemPoolSetAttribute(cudaMemPool_t pool,
                                              cudaMemPoolAttr attribute,
                                              void* value) {
  return octavo::simulated_gpu::call("cudaMemPoolSetAttribute", [&](Runtime& runtime) {
    const auto number = reinterpret_cast<std::uintptr_t>(pool);
    const bool is_pool =
        number >= 1 && number <= static_cast<std::uintptr_t>(runtime.options.num_gpus);
    return is_pool && attribute == cudaMemPoolAttrReleaseThreshold && value != nullptr
               ? cudaSuccess
               : cudaErrorInvalidValue;
  });
}

}  // extern "C"
