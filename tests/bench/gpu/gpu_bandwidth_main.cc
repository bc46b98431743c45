// gpu_bandwidth [FILE]: what the kernels reach on this machine's GPU, beside what its memory gives
// in the same run. A table on standard output, and the same as JSON in FILE.
#include <cuda_runtime.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include "ceilings.h"
#include "gpu_cases.h"
#include "gpu_timer.h"
#include "octavo/cuda/cuda_device.h"
#include <nlohmann/json.hpp>

namespace octavo::bench {
namespace {

using Json = nlohmann::ordered_json;

// What a case is measured in, and how it stands to its goal.
struct Figure {
  std::string unit;
  double value = 0.0;
  double of_ceiling = 0.0;  // Of the copy ceiling; 0 where bytes do not count.
  bool meets_goal = true;
};

Figure figure_of(const GpuCase& item, double time_us, const Ceilings& ceilings) {
  if (item.bytes > 0) {
    const double gb_per_s = static_cast<double>(item.bytes) / time_us * 1e-3;
    const double fraction = gb_per_s / ceilings.copy_gb_per_s;
    return {"GB/s", gb_per_s, fraction, fraction >= item.goal};
  }
  if (item.operations > 0.0) {
    const double tflops = item.operations / time_us * 1e-6;
    return {"TFLOP/s", tflops, 0.0, tflops >= item.goal};
  }
  return {"us", time_us, 0.0, item.goal == 0.0 || time_us <= item.goal};
}

Json run_cases() {
  cudaDeviceProp gpu = {};
  require(cudaGetDeviceProperties(&gpu, 0), "cudaGetDeviceProperties");
  GpuTimer timer;
  constexpr std::int64_t kCeilingBytes = std::int64_t{2} << 30;
  const Ceilings ceilings = measure_ceilings(timer, kCeilingBytes);
  std::printf("%s, %d SMs: copy %.0f GB/s, read %.0f GB/s, empty launch %.1f us\n", gpu.name,
              gpu.multiProcessorCount, ceilings.copy_gb_per_s, ceilings.read_gb_per_s,
              ceilings.launch_us);
  std::printf("%-44s %10s %12s %9s %9s\n", "", "us", "", "of copy", "goal");
  Json rows = Json::array();
  const auto run = [&](const GpuCase& item) {
    const double time_us = timer.median_us(item.work) / item.steps;
    const Figure figure = figure_of(item, time_us, ceilings);
    std::printf("%-44s %10.2f %7.0f %-7s %6.1f %% %8.2f %s\n", item.name.c_str(), time_us,
                figure.value, figure.unit.c_str(), 100.0 * figure.of_ceiling, item.goal,
                figure.meets_goal ? "" : "missed");
    rows.push_back({{"name", item.name},
                    {"time_us", time_us},
                    {"bytes", item.bytes},
                    {"unit", figure.unit},
                    {"value", figure.value},
                    {"of_copy", figure.of_ceiling},
                    {"of_read", item.bytes > 0 ? figure.value / ceilings.read_gb_per_s : 0.0},
                    {"goal", item.goal},
                    {"meets_goal", figure.meets_goal}});
  };
  for_each_gpu_case(make_cuda_device(), make_cuda_device({.fast = true}), run);
  return {{"schema_version", 1},
          {"gpu", gpu.name},
          {"sms", gpu.multiProcessorCount},
          {"copy_gb_per_s", ceilings.copy_gb_per_s},
          {"read_gb_per_s", ceilings.read_gb_per_s},
          {"launch_us", ceilings.launch_us},
          {"cases", rows}};
}

}  // namespace
}  // namespace octavo::bench

int main(int argc, char** argv) {
  try {
    const auto result = octavo::bench::run_cases();
    if (argc > 1) {
      std::ofstream file(argv[1]);
      file << result.dump(2) << '\n';
      if (!file.flush()) {
        std::fprintf(stderr, "gpu_bandwidth: cannot write %s\n", argv[1]);
        return 1;
      }
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_bandwidth: %s\n", error.what());
    return 1;
  }
}
