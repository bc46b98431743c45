// The simulated CUDA runtime, as tests hold it: which GPUs there are, when queued work is done,
// what fails, and what has been left behind. A program that is linked with it in place of the CUDA
// runtime needs no GPU and no driver.
//
// A call that queues work does not do it. Work is done when something waits for it, at once, or at
// points drawn from a seed; streams and events are the only order between two pieces of it. So a
// host buffer that is written too early, or an order that nobody made, shows in the results.
//
// It is stricter than CUDA. Addresses are held against what is allocated, when a call is made and
// again when its work is done; memory that has been freed is given to nobody else, and the host
// cannot touch memory of a GPU at all. Fresh memory holds noise. cudaFreeHost, cudaHostAlloc and
// cudaFree of what cudaMallocAsync gave wait for nothing, as nothing promises that they do. A host
// range that is not pinned is copied when the call is made, and refused in a capture.
//
// Work that faults loses its GPU, as CUDA has it: every later call for that GPU fails with the
// fault's error, until `reset`.
//
// Threads: any; one lock over everything.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <driver_types.h>

#include "tests/cuda/simulated_gpu/runtime/kernel_runner.h"

namespace octavo::simulated_gpu {

/// When work is done.
enum class WorkTime {
  Eager,   ///< By the call that queues it.
  Lazy,    ///< When something waits for it, and nothing else with it.
  Random,  ///< Some of it at every call, in an order that is drawn.
};

struct RuntimeOptions {
  int num_gpus = 1;
  int capability = 90;                                 ///< 80 or 90.
  std::int64_t memory_bytes = std::int64_t{80} << 30;  ///< Of a GPU; the host has what is used.
  WorkTime time = WorkTime::Random;
  std::uint64_t seed = 1;
  std::shared_ptr<KernelRunner> kernels = {};  ///< Null: no kernel is found.
};

/// Forgets everything, as a new process would; the calling thread's GPU is number 0.
void reset(const RuntimeOptions& options = {});

/// What is there and has not been given back.
struct Live {
  std::int64_t device_allocations = 0;
  std::int64_t pinned_allocations = 0;
  std::int64_t streams = 0;
  std::int64_t events = 0;
  std::int64_t graphs = 0;  ///< Executable ones included.
  friend bool operator==(const Live&, const Live&) = default;
};
Live live();

/// Calls of the runtime since `reset`, but for those that cannot fail: launch configurations and
/// questions about errors.
std::int64_t calls();
/// Calls of one function.
std::int64_t calls_of(const std::string& function);
/// Calls that were made to wait, whether or not there was something to wait for.
std::int64_t waits();
/// Of these, on streams and events, those that found something to wait for.
std::int64_t blocking_waits();
/// Kernels, copies and fills that have been queued or captured.
std::int64_t queued();

/// The `nth` call from now, counted from 1, fails with `error` and does nothing else.
void fail_call(std::int64_t nth, cudaError_t error);
/// From the `nth` call on, every call for the GPU that is then current fails.
void lose_gpu_at_call(std::int64_t nth, cudaError_t error);
/// No failure is to come any more.
void stop_failing();
/// The function that failed or lost the GPU; empty when it has not come to it.
std::string failed_function();

/// What lost a GPU; empty when nothing has.
std::string last_fault();

}  // namespace octavo::simulated_gpu
