// What the tests of the emulation have in common: launching a kernel, and the error of one.
#pragma once

#include <string>
#include <utility>

#include "octavo/error.h"
#include <gtest/gtest.h>

#include "cuda/kernels/platform.cuh"

namespace octavo::cuda {
inline namespace emulated {

/// The message that `launch` raises with Internal; fails when it raises none.
template <typename... Parameters, typename... Arguments>
std::string kernel_error(void (*kernel)(Parameters...),
                         const LaunchShape& shape,
                         Stream stream,
                         Arguments&&... arguments) {
  try {
    launch(kernel, shape, stream, std::forward<Arguments>(arguments)...);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Internal) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "the kernel was found to be right";
  return {};
}

/// A stream of its own options.
class SeededStream {
 public:
  explicit SeededStream(const emulation::Options& options) : sequence_{.options = options} {}
  operator Stream() { return {&sequence_}; }

 private:
  emulation::LaunchSequence sequence_;
};

}  // namespace emulated
}  // namespace octavo::cuda
