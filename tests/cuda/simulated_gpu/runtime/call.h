// What every call of the simulated runtime passes through: the lock, the count, the failure that a
// test asked for, a lost GPU, and the error that is kept for cudaGetLastError.
#pragma once

#include <functional>

#include "tests/cuda/simulated_gpu/runtime/state.h"

namespace octavo::simulated_gpu {

enum class CallKind {
  Usual,
  /// Answers when the current GPU is lost as well.
  HostOnly,
  /// Waits for work.
  Waiting,
};

cudaError_t call(const char* function,
                 CallKind kind,
                 const std::function<cudaError_t(Runtime&)>& body);

inline cudaError_t call(const char* function, const std::function<cudaError_t(Runtime&)>& body) {
  return call(function, CallKind::Usual, body);
}

/// The calling thread's, for cudaGetLastError.
cudaError_t& last_error();

/// What cannot fail: neither counted nor refused.
void with_runtime(const std::function<void(Runtime&)>& body);

}  // namespace octavo::simulated_gpu
