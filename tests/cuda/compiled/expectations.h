// What the roofline expects of every case of gpu_bandwidth (tests/bench/gpu), from the machine code
// of its kernels: the same shapes, bytes and goals.
//
// Pure functions of plain data.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cuda/compiled/cubin.h"
#include "tests/cuda/compiled/roofline.h"

namespace octavo::compiled {

enum class ExpectedUnit { FractionOfCopy, Microseconds, Teraflops };

struct Expectation {
  std::string name;    ///< "decode bf16 group 4"
  std::string kernel;  ///< The one that takes the time.
  ExpectedUnit unit = ExpectedUnit::FractionOfCopy;
  double bytes = 0.0;     ///< Of the case, each counted once; 0 where they do not bound it.
  LaunchTime main;        ///< Of that kernel's launch, or of one of several equal ones.
  double other_us = 0.0;  ///< All other launches: further lists.
  double value = 0.0;     ///< In the unit.
  double goal = 0.0;      ///< Likewise; 0: none.

  bool meets_goal() const;
};

/// In the order of gpu_bandwidth, then what it does not time. A case is missing where a kernel of
/// it is, or where its code is not as this file knows it.
std::vector<Expectation> expectations(const GpuFigures& gpu,
                                      std::span<const CompiledKernel> kernels);

/// How many there are when none is missing.
std::size_t num_expectations();

}  // namespace octavo::compiled
