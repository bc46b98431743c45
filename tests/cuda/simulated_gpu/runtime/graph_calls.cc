// Captures and graphs.
#include <algorithm>
#include <utility>

#include <cuda_runtime_api.h>

#include "tests/cuda/simulated_gpu/runtime/call.h"
#include "tests/cuda/simulated_gpu/runtime/submission.h"

namespace octavo::simulated_gpu {
namespace {

cudaError_t begin_capture(Runtime& runtime, Stream* stream, cudaStreamCaptureMode mode) {
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (stream->is_legacy || stream->capture != nullptr) {
    return stream->is_legacy ? cudaErrorStreamCaptureUnsupported : cudaErrorIllegalState;
  }
  const auto capture = runtime.captures.emplace_back(std::make_shared<Capture>());
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream;
  capture->members = {stream};
  stream->capture = capture;
  stream->tails.clear();
  return cudaSuccess;
}

/// Whether everything comes before what the origin would do next.
bool is_joined(const Capture& capture) {
  std::vector<bool> is_reached(capture.graph.nodes.size());
  std::vector<std::size_t> open = capture.origin->tails;
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (!is_reached[node]) {
      is_reached[node] = true;
      const std::vector<std::size_t>& after = capture.graph.nodes[node].after;
      open.insert(open.end(), after.begin(), after.end());
    }
  }
  return std::ranges::find(is_reached, false) == is_reached.end();
}

cudaError_t end_capture(Runtime& runtime, Stream* stream, cudaGraph_t* graph) {
  if (stream == nullptr || graph == nullptr) {
    return cudaErrorInvalidValue;
  }
  *graph = nullptr;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) {
    return cudaErrorIllegalState;
  }
  if (capture->origin != stream) {
    capture->is_valid = false;
    return cudaErrorStreamCaptureUnmatched;
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    return cudaErrorStreamCaptureWrongThread;
  }
  cudaError_t status = capture->is_valid ? cudaSuccess : cudaErrorStreamCaptureInvalidated;
  if (status == cudaSuccess && !is_joined(*capture)) {
    status = cudaErrorStreamCaptureUnjoined;
  }
  for (Stream* const member : capture->members) {
    member->capture = nullptr;
    member->tails.clear();
  }
  std::erase(runtime.captures, capture);
  if (status == cudaSuccess) {
    *graph = runtime.new_handle<cudaGraph_t>();
    runtime.graphs[*graph] = std::move(capture->graph);
  }
  return status;
}

cudaError_t is_capturing(Runtime& runtime, Stream* stream, cudaStreamCaptureStatus* status) {
  if (stream == nullptr || status == nullptr) {
    return stream == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
  }
  if (stream->is_legacy) {
    for (const auto& capture : runtime.captures) {
      for (const Stream* const member : capture->members) {
        if (member->gpu == stream->gpu && member->is_blocking) {
          return cudaErrorStreamCaptureImplicit;  // Which spoils nothing.
        }
      }
    }
  }
  *status = stream->capture == nullptr  ? cudaStreamCaptureStatusNone
            : stream->capture->is_valid ? cudaStreamCaptureStatusActive
                                        : cudaStreamCaptureStatusInvalidated;
  return cudaSuccess;
}

/// All nodes, in an order that they leave open.
void replay(Runtime& runtime, const Graph& graph, Gpu& gpu) {
  const std::size_t count = graph.nodes.size();
  std::vector<bool> is_done(count);
  for (std::size_t done = 0; done < count; ++done) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < count; ++i) {
      const GraphNode& node = graph.nodes[i];
      if (!is_done[i] &&
          std::ranges::all_of(node.after, [&](std::size_t at) { return is_done[at]; })) {
        ready.push_back(i);
      }
    }
    const std::size_t next =
        runtime.scheduler.time() == WorkTime::Random
            ? ready[runtime.scheduler.random().below(static_cast<std::uint32_t>(ready.size()))]
            : ready.front();
    is_done[next] = true;
    graph.nodes[next].act(gpu);
  }
}

cudaError_t launch_graph(Runtime& runtime, cudaGraphExec_t handle, cudaStream_t stream_handle) {
  Stream* const stream = runtime.find_stream(stream_handle);
  const auto found = runtime.executables.find(handle);
  if (stream == nullptr || found == runtime.executables.end()) {
    return stream == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
  }
  if (stream->capture != nullptr) {  // No graph within a graph here.
    stream->capture->is_valid = false;
    return cudaErrorStreamCaptureUnsupported;
  }
  const cudaError_t status = check_usable(runtime, *stream);
  if (status != cudaSuccess) {
    return status;
  }
  ExecutableGraph& executable = found->second;
  add_marker(runtime, *stream, {executable.launched});
  return submit(
      runtime, *stream,
      [&runtime, graph = executable.graph](Gpu& gpu) { replay(runtime, graph, gpu); },
      &executable.launched);
}

}  // namespace
}  // namespace octavo::simulated_gpu

using octavo::simulated_gpu::CallKind;
using octavo::simulated_gpu::Runtime;

extern "C" {

cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return octavo::simulated_gpu::call("cudaStreamBeginCapture", [&](Runtime& runtime) {
    return octavo::simulated_gpu::begin_capture(runtime, runtime.find_stream(stream), mode);
  });
}

cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return octavo::simulated_gpu::call("cudaStreamEndCapture", [&](Runtime& runtime) {
    return octavo::simulated_gpu::end_capture(runtime, runtime.find_stream(stream), graph);
  });
}

cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return octavo::simulated_gpu::call("cudaStreamIsCapturing", [&](Runtime& runtime) {
    return octavo::simulated_gpu::is_capturing(runtime, runtime.find_stream(stream), status);
  });
}

cudaError_t CUDARTAPI cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return octavo::simulated_gpu::call(
      "cudaThreadExchangeStreamCaptureMode", CallKind::HostOnly, [&](Runtime&) {
        if (mode == nullptr) {
          return cudaErrorInvalidValue;
        }
        std::swap(*mode, octavo::simulated_gpu::thread_capture_mode());
        return cudaSuccess;
      });
}

cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t* executable,
                                           cudaGraph_t graph,
                                           unsigned long long /*flags*/) {
  return octavo::simulated_gpu::call("cudaGraphInstantiate", [&](Runtime& runtime) {
    const auto found = runtime.graphs.find(graph);
    if (executable == nullptr || found == runtime.graphs.end()) {
      return cudaErrorInvalidValue;
    }
    *executable = runtime.new_handle<cudaGraphExec_t>();
    runtime.executables[*executable].graph = found->second;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return octavo::simulated_gpu::call("cudaGraphLaunch", [&](Runtime& runtime) {
    return octavo::simulated_gpu::launch_graph(runtime, executable, stream);
  });
}

cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph) {
  return octavo::simulated_gpu::call("cudaGraphDestroy", [&](Runtime& runtime) {
    return runtime.graphs.erase(graph) == 1 ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return octavo::simulated_gpu::call("cudaGraphExecDestroy", [&](Runtime& runtime) {
    return runtime.executables.erase(executable) == 1 ? cudaSuccess : cudaErrorInvalidValue;
  });
}

}  // extern "C"
