// Measures what this GPU's memory gives.
#pragma once

#include <cstdint>

#include "bandwidth_report.h"
#include "gpu_timer.h"

namespace octavo::bench {

/// Over buffers of `size_bytes` (a multiple of 4096, several times the second-level cache).
Ceilings measure_ceilings(GpuTimer& timer, std::int64_t size_bytes);

}  // namespace octavo::bench
