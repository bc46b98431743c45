// What the simulated runtime knows: GPUs, allocations, streams, events, captures, graphs.
//
// One Runtime a process, from one `reset` to the next. Handles are numbers, never addresses, and
// none is given twice, so that a stale one is always noticed.
//
// Threads: whoever holds the lock of call.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <driver_types.h>

#include "tests/cuda/simulated_gpu/machine/memory.h"
#include "tests/cuda/simulated_gpu/runtime/address_space.h"
#include "tests/cuda/simulated_gpu/runtime/runtime.h"
#include "tests/cuda/simulated_gpu/runtime/scheduler.h"

namespace octavo::simulated_gpu {

/// Thrown by work that goes wrong.
class Fault : public std::runtime_error {
 public:
  explicit Fault(const std::string& text, cudaError_t error = cudaErrorIllegalAddress)
      : std::runtime_error(text), error_(error) {}
  cudaError_t error() const { return error_; }

 private:
  cudaError_t error_;
};

struct Gpu;
/// What a piece of work does to a GPU's memory. A graph does it more than once.
using Act = std::function<void(Gpu& gpu)>;

struct GraphNode {
  Act act;
  std::vector<std::size_t> after;  ///< Earlier nodes.
};

struct Graph {
  std::vector<GraphNode> nodes;
};

struct ExecutableGraph {
  Graph graph;
  WorkRef launched;  ///< The latest launch: a graph does not run beside itself.
};

struct Stream;

struct Capture {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  Stream* origin = nullptr;
  std::vector<Stream*> members;  ///< The origin included.
  Graph graph;
  bool is_valid = true;
};

struct Stream {
  Gpu* gpu = nullptr;
  bool is_blocking = false;
  bool is_legacy = false;
  bool is_destroyed = false;  ///< But there for the work that it still has.
  std::shared_ptr<Queue> queue;
  std::shared_ptr<Capture> capture;  ///< Null outside of one.
  std::vector<std::size_t> tails;    ///< Nodes that the next one comes after.
};

struct Event {
  Gpu* gpu = nullptr;
  WorkRef recorded;
  std::weak_ptr<Capture> capture;  ///< That it was last recorded in.
  bool is_captured = false;
  std::vector<std::size_t> nodes;
};

/// From the call that allocates to the call that frees.
struct Allocation {
  std::uint64_t size_bytes = 0;
  bool is_stream_ordered = false;
  WorkRef made;
};

struct Gpu {
  int ordinal = 0;
  GpuMemory memory;  ///< What is allocated once all work so far is done.
  std::map<std::uint64_t, Allocation> allocations;
  std::int64_t used_bytes = 0;
  Stream legacy;
  cudaError_t lost = cudaSuccess;
};

struct PinnedRange {
  std::uint64_t size_bytes = 0;
  bool is_live = true;
  std::unique_ptr<std::byte[]> bytes;  ///< Kept after it was freed: a late reader finds noise.
};

struct Injection {
  std::int64_t calls_left = 0;  ///< 0: none is to come.
  cudaError_t error = cudaSuccess;
  bool loses_gpu = false;
  std::string function;
};

struct Runtime {
  explicit Runtime(const RuntimeOptions& options);

  RuntimeOptions options;
  AddressSpace space;
  Scheduler scheduler;
  std::vector<std::unique_ptr<Gpu>> gpus;
  std::map<std::uint64_t, PinnedRange> pinned;
  std::map<cudaStream_t, std::unique_ptr<Stream>> streams;
  std::map<cudaEvent_t, Event> events;
  std::map<cudaGraph_t, Graph> graphs;
  std::map<cudaGraphExec_t, ExecutableGraph> executables;
  std::vector<std::shared_ptr<Capture>> captures;
  std::map<const void*, int> dynamic_shared_bytes;  ///< By kernel, where it was asked for.
  std::uint64_t last_handle = 0;
  Injection injection;
  std::map<std::string, std::int64_t> calls;
  std::int64_t waits = 0;
  std::int64_t blocking_waits = 0;
  std::int64_t queued = 0;
  std::string fault;

  template <class Handle>
  Handle new_handle() {
    constexpr std::uint64_t kNumberBytes = 64;
    return reinterpret_cast<Handle>(++last_handle * kNumberBytes);
  }

  /// Null for what is no stream; the legacy stream is that of the current GPU.
  Stream* find_stream(cudaStream_t handle);
  Event* find_event(cudaEvent_t handle);
  Gpu& current_gpu();

  void lose(Gpu& gpu, cudaError_t error, const std::string& text);
  /// Does what a call waits for; null: nothing.
  void wait_for(const WorkRef& work);
  /// Does all that the GPU was given.
  void finish_gpu(const Gpu& gpu);
};

/// The calling thread's.
int& current_ordinal();

/// Fills memory with noise; of what is larger than tests fill, the beginning.
void poison(std::byte* to, std::uint64_t size_bytes, emulation::Random& random);

}  // namespace octavo::simulated_gpu
