#include "tests/cuda/simulated_gpu/runtime/state.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <cuda_runtime_api.h>

namespace octavo::simulated_gpu {

int& current_ordinal() {
  thread_local int ordinal = 0;
  return ordinal;
}

Runtime::Runtime(const RuntimeOptions& how) : options(how), scheduler(how.time, how.seed) {
  for (int ordinal = 0; ordinal < options.num_gpus; ++ordinal) {
    Gpu& gpu = *gpus.emplace_back(std::make_unique<Gpu>());
    gpu.ordinal = ordinal;
    gpu.memory = GpuMemory(space.host_offset());
    gpu.legacy.gpu = &gpu;
    gpu.legacy.is_legacy = true;
    gpu.legacy.queue = scheduler.make_queue();
  }
}

Stream* Runtime::find_stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) {
    return &current_gpu().legacy;
  }
  const auto found = streams.find(handle);
  return found == streams.end() || found->second->is_destroyed ? nullptr : found->second.get();
}

Event* Runtime::find_event(cudaEvent_t handle) {
  const auto found = events.find(handle);
  return found == events.end() ? nullptr : &found->second;
}

Gpu& Runtime::current_gpu() {
  return *gpus.at(static_cast<std::size_t>(current_ordinal()));
}

void Runtime::lose(Gpu& gpu, cudaError_t error, const std::string& text) {
  if (gpu.lost == cudaSuccess) {
    gpu.lost = error;
    fault = text;
    std::fprintf(stderr, "simulated GPU %d is lost: %s\n", gpu.ordinal, text.c_str());
  }
}

void Runtime::wait_for(const WorkRef& work) {
  blocking_waits += work != nullptr && !work->is_done ? 1 : 0;
  scheduler.finish(work);
}

void Runtime::finish_gpu(const Gpu& gpu) {
  scheduler.finish(Scheduler::last(*gpu.legacy.queue));
  for (const auto& [handle, stream] : streams) {
    if (stream->gpu == &gpu) {
      scheduler.finish(Scheduler::last(*stream->queue));
    }
  }
}

void poison(std::byte* to, std::uint64_t size_bytes, emulation::Random& random) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
  size_bytes = std::min(size_bytes, kMostBytes);
  while (size_bytes > 0) {
    const std::uint64_t noise = random.next();
    const std::uint64_t part = std::min<std::uint64_t>(size_bytes, sizeof noise);
    std::memcpy(to, &noise, part);
    to += part;
    size_bytes -= part;
  }
}

}  // namespace octavo::simulated_gpu
