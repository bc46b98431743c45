// Which part of a multiprocessor executes an instruction, and for how long it is taken by one warp.
//
// Results a clock and multiprocessor, as NVIDIA publishes them for compute capability 9.0; nothing
// here has been measured: 128 of floats, 64 of integers, compares and conversions between narrow
// formats, 16 of special functions, 32 shuffles; shared memory and the first-level cache move 128
// bytes a clock. Not published, so taken: products of mma.sync at half of the dense peak; the
// conversion of two E4M3 codes as fast as other narrow ones.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "tests/cuda/compiled/sass.h"

namespace octavo::compiled {

enum class Pipe {
  Issue,    ///< Every instruction: four a clock.
  Float,    ///< Multiply, add and both of float and half, and of integers at half the rate.
  Integer,  ///< Integers, logic, compares, selections, permutations.
  Narrow,   ///< Conversions between float, half and fp8.
  Special,  ///< Special functions; conversions of integers.
  Memory,   ///< Loads, stores, copies, shuffles.
  Tensor,
};
inline constexpr std::size_t kPipes = 7;

std::string_view to_string(Pipe pipe);

/// Clocks of a multiprocessor that something takes of each pipe.
struct PipeClocks {
  std::array<double, kPipes> of = {};

  double& operator[](Pipe pipe) { return of[static_cast<std::size_t>(pipe)]; }
  double operator[](Pipe pipe) const { return of[static_cast<std::size_t>(pipe)]; }
  PipeClocks& operator+=(const PipeClocks& other);
  PipeClocks operator*(double factor) const;
  bool operator==(const PipeClocks&) const = default;

  /// The pipe that is taken longest.
  Pipe busiest() const;
};

/// What one warp's execution takes; nothing but the issue slot where no pipe is known.
PipeClocks pipe_clocks(const SassInstruction& instruction);

/// Bytes of a lane's access to memory, 0 for what is none.
unsigned access_bytes(const SassInstruction& instruction);

}  // namespace octavo::compiled
