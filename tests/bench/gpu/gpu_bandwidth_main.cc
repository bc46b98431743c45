// gpu_bandwidth [FILE [COMMIT]]: what the kernels reach on this machine's GPU, beside what its
// memory gives in the same run. A table on standard output, and the same as JSON in FILE, with
// COMMIT in it.
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include "bandwidth_report.h"
#include "ceilings.h"
#include "gpu_cases.h"
#include "gpu_timer.h"
#include "octavo/cuda/cuda_device.h"
#include <cuda_runtime.h>
#include <nlohmann/json.hpp>

namespace octavo::bench {
namespace {

BandwidthReport measure(const std::string& commit) {
  cudaDeviceProp gpu = {};
  require(cudaGetDeviceProperties(&gpu, 0), "cudaGetDeviceProperties");
  BandwidthReport report;
  report.gpu = gpu.name;
  report.commit = commit;
  report.sms = gpu.multiProcessorCount;
  require(cudaDriverGetVersion(&report.driver), "cudaDriverGetVersion");
  require(cudaRuntimeGetVersion(&report.runtime), "cudaRuntimeGetVersion");
  GpuTimer timer;
  constexpr std::int64_t kCeilingBytes = std::int64_t{2} << 30;
  report.ceilings = measure_ceilings(timer, kCeilingBytes);
  std::fputs(heading_of(report).c_str(), stdout);
  const auto run = [&](const GpuCase& item) {
    const double time_us = timer.median_us(item.work) / item.steps;
    report.cases.push_back({item.name, time_us, item.bytes, item.operations, item.goal});
    std::fputs(line_of(report.cases.back(), report.ceilings).c_str(), stdout);
    std::fflush(stdout);
  };
  for_each_gpu_case(make_cuda_device(), make_cuda_device({.fast = true}), run);
  return report;
}

}  // namespace
}  // namespace octavo::bench

int main(int argc, char** argv) {
  try {
    const auto report = octavo::bench::measure(argc > 2 ? argv[2] : "");
    if (argc > 1) {
      std::ofstream file(argv[1]);
      file << to_json(report).dump(2) << '\n';
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
