// Launching a kernel: a grid of blocks, one after another or over several OS threads.
//
// A launch has finished when it returns. What CUDA refuses to launch raises DeviceError; what the
// kernel does that CUDA does not define raises Internal, and the memory that it wrote to until then
// stays written. Another launch may follow.
//
// Threads: launches from several OS threads at once are independent; of one stream, one at a time.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "block.h"
#include "options.h"
#include "vector_types.h"

namespace octavo::emulation {

void run_grid(Grid& grid, LaunchSequence* sequence);

}  // namespace octavo::emulation

namespace octavo::cuda {
inline namespace emulated {

/// Null: threads and blocks as they are numbered.
struct Stream {
  emulation::LaunchSequence* sequence = nullptr;
};

struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
};

inline std::size_t hopper_shared_bytes() {
  return emulation::kSharedBytes;
}

template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...),
            const LaunchShape& shape,
            Stream stream,
            Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments));
  static_assert((std::is_trivially_copyable_v<Parameters> && ...),
                "CUDA copies the arguments of a kernel as bytes");
  static_assert((sizeof(Parameters) + ... + 0) <= 32764,
                "CUDA passes at most 32764 bytes of arguments");
  // Each thread gets its own copies, as on the GPU.
  const std::tuple<Parameters...> parameters(
      static_cast<Parameters>(std::forward<Arguments>(arguments))...);
  const auto call = [kernel, &parameters] { std::apply(kernel, parameters); };
  using Call = decltype(call);
  emulation::Grid grid;
  grid.grid_size = shape.grid;
  grid.block_size = shape.block;
  grid.shared_bytes = shape.shared_bytes;
  grid.kernel = {[](const void* closure) { (*static_cast<Call*>(closure))(); }, &call};
  emulation::run_grid(grid, stream.sequence);
}

}  // namespace emulated
}  // namespace octavo::cuda
