// What this GPU's memory gives: the figures that all others are a fraction of.
#pragma once

#include <cstdint>

#include "gpu_timer.h"

namespace octavo::bench {

struct Ceilings {
  double copy_gb_per_s = 0.0;  ///< Read and written bytes of a copy, 16 bytes a thread.
  double read_gb_per_s = 0.0;  ///< Of a sum over as many bytes.
  double launch_us = 0.0;      ///< An empty kernel in a replayed graph.
};

/// Over buffers of `size_bytes` (a multiple of 4096, several times the second-level cache).
Ceilings measure_ceilings(GpuTimer& timer, std::int64_t size_bytes);

}  // namespace octavo::bench
