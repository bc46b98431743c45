// What a launch is told beyond CUDA's own arguments: in which order things happen that CUDA leaves
// open. Carried by the stream, so that devices with other orders live beside each other.
#pragma once

#include <cstdint>

namespace octavo::emulation {

/// When an asynchronous copy takes place: at once, at the wait that it needs (its destination reads
/// as 0xFF until then), or one or the other by chance for each copy.
enum class CopyTime { Eager, Lazy, Random };

struct Options {
  std::uint64_t seed = 0;  ///< Of the order of blocks and threads; 0: as numbered.
  int workers = 1;         ///< OS threads that run blocks; 0 or less: one for each core.
  CopyTime copy_time = CopyTime::Random;
};

/// The launches of one stream. Each draws another order from the seed, the same one in every run.
struct LaunchSequence {
  Options options;
  std::uint64_t launches = 0;  ///< So far.
};

}  // namespace octavo::emulation
