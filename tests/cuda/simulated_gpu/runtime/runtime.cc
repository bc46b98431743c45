// What tests ask the simulated runtime.
#include "tests/cuda/simulated_gpu/runtime/runtime.h"

#include <algorithm>

#include "tests/cuda/simulated_gpu/runtime/call.h"

namespace octavo::simulated_gpu {
namespace {

template <class Result, class Question>
Result ask(const Question& question) {
  Result result{};
  with_runtime([&](Runtime& runtime) { result = question(runtime); });
  return result;
}

void inject(std::int64_t nth, cudaError_t error, bool loses_gpu) {
  with_runtime([&](Runtime& runtime) { runtime.injection = {nth, error, loses_gpu, {}}; });
}

}  // namespace

Live live() {
  return ask<Live>([](const Runtime& runtime) {
    Live live;
    for (const auto& gpu : runtime.gpus) {
      live.device_allocations += static_cast<std::int64_t>(gpu->allocations.size());
    }
    live.pinned_allocations = std::ranges::count_if(
        runtime.pinned, [](const auto& range) { return range.second.is_live; });
    live.streams = std::ranges::count_if(
        runtime.streams, [](const auto& stream) { return !stream.second->is_destroyed; });
    live.events = static_cast<std::int64_t>(runtime.events.size());
    live.graphs = static_cast<std::int64_t>(runtime.graphs.size() + runtime.executables.size());
    return live;
  });
}

std::int64_t calls() {
  return ask<std::int64_t>([](const Runtime& runtime) {
    std::int64_t sum = 0;
    for (const auto& [function, count] : runtime.calls) {
      sum += count;
    }
    return sum;
  });
}

std::int64_t calls_of(const std::string& function) {
  return ask<std::int64_t>([&](const Runtime& runtime) {
    const auto found = runtime.calls.find(function);
    return found == runtime.calls.end() ? 0 : found->second;
  });
}

std::int64_t waits() {
  return ask<std::int64_t>([](const Runtime& runtime) { return runtime.waits; });
}

std::int64_t blocking_waits() {
  return ask<std::int64_t>([](const Runtime& runtime) { return runtime.blocking_waits; });
}

std::int64_t queued() {
  return ask<std::int64_t>([](const Runtime& runtime) { return runtime.queued; });
}

void fail_call(std::int64_t nth, cudaError_t error) {
  inject(nth, error, false);
}

void lose_gpu_at_call(std::int64_t nth, cudaError_t error) {
  inject(nth, error, true);
}

void stop_failing() {
  with_runtime([](Runtime& runtime) { runtime.injection.calls_left = 0; });
}

std::string failed_function() {
  return ask<std::string>([](const Runtime& runtime) { return runtime.injection.function; });
}

std::string last_fault() {
  return ask<std::string>([](const Runtime& runtime) { return runtime.fault; });
}

}  // namespace octavo::simulated_gpu
