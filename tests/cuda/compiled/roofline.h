// How long a launch takes at least: the longest of what memory, the parts of the multiprocessors
// and the reads on their way need for it. A model of perfect overlap, so that what is measured is
// slower; above some 85 percent of a limit other than memory expect that to show.
//
// Pure functions of plain data.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "tests/cuda/compiled/pipes.h"

namespace octavo::compiled {

struct GpuFigures {
  std::string_view name;
  int multiprocessors = 0;
  double clock_ghz = 0.0;
  double memory_gb_per_s = 0.0;  ///< Read and written bytes of a copy: the ceiling.
  double cache_gb_per_s = 0.0;   ///< Of the second-level cache.
  double launch_us = 0.0;        ///< A launch in a graph: start, the last blocks' tail.
  double latency_us = 0.0;       ///< Of a read of memory that is busy.
  double cache_latency_us = 0.0;  ///< Of a read, a fence or an atomic, nothing else being busy.
  // Of a multiprocessor.
  std::size_t registers = 0;
  std::size_t shared_bytes = 0;
  std::size_t reserved_bytes = 0;  ///< Of a block's shared memory, by CUDA.
  std::size_t threads = 0;
  std::size_t blocks = 0;
  double cache_bytes_per_clock = 0.0;  ///< Of what it reads of the second-level cache.
};

/// NVIDIA's figures: 132 multiprocessors, 4.8 TB/s nominal, the limits of compute capability 9.0.
/// Assumed until a GPU is measured: 1.98 GHz, the highest clock; 4.3 TB/s for a copy, 5.5 TB/s for
/// the cache, of which a multiprocessor reads 64 bytes a clock, 3 us a launch, 0.6 us a read, 0.3
/// us one that the cache answers.
inline constexpr GpuFigures kH200 = {.name = "H200",
                                     .multiprocessors = 132,
                                     .clock_ghz = 1.98,
                                     .memory_gb_per_s = 4300.0,
                                     .cache_gb_per_s = 5500.0,
                                     .launch_us = 3.0,
                                     .latency_us = 0.6,
                                     .cache_latency_us = 0.3,
                                     .registers = 65536,
                                     .shared_bytes = 228 * 1024,
                                     .reserved_bytes = 1024,
                                     .threads = 2048,
                                     .blocks = 32,
                                     .cache_bytes_per_clock = 64.0};

/// What a block of a kernel takes of a multiprocessor as long as it is there.
struct BlockNeeds {
  std::size_t threads = 0;
  std::size_t registers = 0;  ///< Of a thread.
  std::size_t shared_bytes = 0;
};

/// Blocks that a multiprocessor holds at a time; 0: not even one.
std::size_t resident_blocks(const GpuFigures& gpu, const BlockNeeds& needs);

/// A launch of equal blocks.
struct LaunchWork {
  BlockNeeds needs;
  double blocks = 0.0;
  // Of a block.
  PipeClocks clocks;
  double memory_bytes = 0.0;  ///< Read and written.
  double cache_bytes = 0.0;   ///< Those and what the second-level cache holds already.
  double read_bytes = 0.0;    ///< Of those of memory.
  double flight_bytes = 0.0;  ///< Of those reads, at a time on their way.
  // Of the last blocks, when all others are done: what overlaps with nothing.
  double tail_trips = 0.0;  ///< To the second-level cache, one after another.
  double tail_bytes = 0.0;  ///< Read of it by one block.
};

struct LaunchTime {
  double us = 0.0;
  std::string_view limit;    ///< "memory", "reads in flight", "issue", ...
  std::size_t resident = 0;  ///< Blocks of a multiprocessor.
  double issue_share = 0.0;  ///< Of the issue slots of that time, without the launch itself.
};

/// Throws std::invalid_argument for a block that no multiprocessor holds.
LaunchTime time_of(const GpuFigures& gpu, const LaunchWork& launch);

}  // namespace octavo::compiled
