#include "tests/cuda/simulated_gpu/runtime/call.h"

#include <mutex>

namespace octavo::simulated_gpu {
namespace {

// Objects of static storage duration may own GPUs' memory: never destroyed.
struct Process {
  std::mutex mutex;
  std::unique_ptr<Runtime> runtime;
};

Process& process() {
  static Process* const made = new Process;
  return *made;
}

Runtime& runtime_of(Process& held) {
  if (held.runtime == nullptr) {
    held.runtime = std::make_unique<Runtime>(RuntimeOptions{});
  }
  return *held.runtime;
}

/// The error that this call is to fail with.
cudaError_t injected(Runtime& runtime, const char* function) {
  Injection& injection = runtime.injection;
  if (injection.calls_left == 0 || --injection.calls_left > 0) {
    return cudaSuccess;
  }
  injection.function = function;
  if (injection.loses_gpu && !runtime.gpus.empty()) {
    runtime.lose(runtime.current_gpu(), injection.error, "as the test asked for");
  }
  return injection.error;
}

cudaError_t perform(Runtime& runtime,
                    const char* function,
                    CallKind kind,
                    const std::function<cudaError_t(Runtime&)>& body) {
  ++runtime.calls[function];
  runtime.waits += kind == CallKind::Waiting ? 1 : 0;
  const cudaError_t refused = injected(runtime, function);
  if (refused != cudaSuccess) {
    return refused;
  }
  runtime.scheduler.run_some();
  if (kind != CallKind::HostOnly) {
    const cudaError_t lost = runtime.gpus.empty() ? cudaErrorNoDevice : runtime.current_gpu().lost;
    if (lost != cudaSuccess) {
      return lost;
    }
  }
  const cudaError_t status = body(runtime);
  if (status == cudaSuccess && kind == CallKind::Waiting) {
    return runtime.current_gpu().lost;
  }
  return status;
}

}  // namespace

cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

cudaError_t call(const char* function,
                 CallKind kind,
                 const std::function<cudaError_t(Runtime&)>& body) {
  Process& held = process();
  const std::lock_guard lock(held.mutex);
  const cudaError_t status = perform(runtime_of(held), function, kind, body);
  // Not ready is no error.
  if (status != cudaSuccess && status != cudaErrorNotReady) {
    last_error() = status;
  }
  return status;
}

void with_runtime(const std::function<void(Runtime&)>& body) {
  Process& held = process();
  const std::lock_guard lock(held.mutex);
  body(runtime_of(held));
}

void reset(const RuntimeOptions& options) {
  Process& held = process();
  const std::lock_guard lock(held.mutex);
  current_ordinal() = 0;
  last_error() = cudaSuccess;
  held.runtime.reset();
  held.runtime = std::make_unique<Runtime>(options);
}

}  // namespace octavo::simulated_gpu
