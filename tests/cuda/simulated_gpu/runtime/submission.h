// How work comes to a stream: into its queue, or into the graph that it is being captured in.
//
// Threads: whoever holds the lock of call.h.
#pragma once

#include "tests/cuda/simulated_gpu/runtime/state.h"

namespace octavo::simulated_gpu {

/// Puts `act` behind what the stream was given, and behind what the legacy stream makes it come
/// after. In a capture it becomes a node. `made`, when not null, gets the work that was queued.
/// The error of a stream that takes nothing now.
cudaError_t submit(Runtime& runtime, Stream& stream, Act act, WorkRef* made = nullptr);

/// The same for what no capture may hold: refused in one, which it spoils.
cudaError_t submit_uncaptured(Runtime& runtime, Stream& stream, Act act, WorkRef* made = nullptr);

/// Success when nothing speaks against work on the stream; else the error, with every capture
/// spoilt that CUDA has spoilt by it.
cudaError_t check_usable(Runtime& runtime, Stream& stream);

/// For calls that CUDA calls potentially unsafe while a graph is being captured: the error where
/// the thread must not make them, and those captures are spoilt.
cudaError_t check_safe(Runtime& runtime);

/// A marker behind everything so far; null when nothing is waiting.
WorkRef add_marker(Runtime& runtime, Stream& stream, std::vector<WorkRef> after = {});

/// The calling thread's, for cudaThreadExchangeStreamCaptureMode.
cudaStreamCaptureMode& thread_capture_mode();

}  // namespace octavo::simulated_gpu
