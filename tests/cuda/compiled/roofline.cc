#include "tests/cuda/compiled/roofline.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace octavo::compiled {
namespace {

constexpr std::size_t kRegisterUnit = 256;  // Registers of a warp come in so many,
constexpr std::size_t kSharedUnit = 128;    // bytes of shared memory in so many.

constexpr std::size_t round_up(std::size_t x, std::size_t unit) {
  return (x + unit - 1) / unit * unit;
}

}  // namespace

std::size_t resident_blocks(const GpuFigures& gpu, const BlockNeeds& needs) {
  const std::size_t warps = (needs.threads + 31) / 32;
  const std::size_t registers = warps * round_up(needs.registers * 32, kRegisterUnit);
  const std::size_t shared = round_up(needs.shared_bytes + gpu.reserved_bytes, kSharedUnit);
  return std::min({gpu.blocks, gpu.threads / std::max<std::size_t>(1, warps * 32),
                   gpu.registers / std::max<std::size_t>(1, registers), gpu.shared_bytes / shared});
}

LaunchTime time_of(const GpuFigures& gpu, const LaunchWork& launch) {
  LaunchTime time;
  time.resident = resident_blocks(gpu, launch.needs);
  if (time.resident == 0) {
    throw std::invalid_argument("time_of: a block of " + std::to_string(launch.needs.threads) +
                                " threads, " + std::to_string(launch.needs.registers) +
                                " registers each and " + std::to_string(launch.needs.shared_bytes) +
                                " bytes of shared memory fits no multiprocessor");
  }
  // The fullest multiprocessor decides.
  const double blocks = std::ceil(launch.blocks / gpu.multiprocessors);
  const double together = std::min(blocks, static_cast<double>(time.resident));
  const Pipe busiest = launch.clocks.busiest();
  const double clocks_us = blocks / (gpu.clock_ghz * 1e3);
  const auto take = [&time](double us, std::string_view limit) {
    if (us > time.us) {
      time.us = us;
      time.limit = limit;
    }
  };
  take(launch.blocks * launch.memory_bytes / (gpu.memory_gb_per_s * 1e3), "memory");
  take(launch.blocks * launch.cache_bytes / (gpu.cache_gb_per_s * 1e3), "second-level cache");
  if (launch.flight_bytes > 0.0) {
    take(blocks * launch.read_bytes / (together * launch.flight_bytes) * gpu.latency_us,
         "reads in flight");
  }
  take(clocks_us * launch.clocks[busiest], to_string(busiest));
  time.issue_share = time.us > 0.0 ? clocks_us * launch.clocks[Pipe::Issue] / time.us : 0.0;
  time.us += gpu.launch_us;
  if (launch.tail_bytes > 0.0) {
    time.us += std::max(launch.tail_trips * gpu.cache_latency_us,
                        launch.tail_bytes / (gpu.cache_bytes_per_clock * gpu.clock_ghz * 1e3));
  }
  return time;
}

}  // namespace octavo::compiled
