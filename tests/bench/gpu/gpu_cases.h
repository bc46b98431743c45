// The operations that gpu_bandwidth times, each over working sets far larger than the GPU's caches.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "octavo/device.h"

namespace octavo::bench {

struct GpuCase {
  std::string name;        ///< "decode bf16 group 4"
  std::int64_t bytes = 0;  ///< Read and written by one `work`, each once; 0: time counts.
  double operations = 0;   ///< Floating-point ones of one `work`, where they bound it; else 0.
  double goal = 0.0;       ///< Fraction of the copy ceiling, microseconds or TFLOP/s; 0: none.
  int steps = 1;           ///< Of what `work` repeats over different memory; times are of one.
  std::function<void()> work;
};

/// One at a time, each gone before the next is made: `run` is called with every case.
/// `device` computes exactly, `fast` on float tensor cores. `shrink`: so many times shorter
/// contexts, and fewer sequences, than what is measured; for tests.
void for_each_gpu_case(const std::shared_ptr<Device>& device,
                       const std::shared_ptr<Device>& fast,
                       const std::function<void(const GpuCase&)>& run,
                       std::int64_t shrink = 1);

}  // namespace octavo::bench
