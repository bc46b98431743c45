// The device that the tests of this folder hold against the reference: the CUDA kernels, run by the
// host or by a GPU. Which of the two is what a program is linked with:
// device_under_test_emulated.cc or device_under_test_gpu.cu. Tests reach its memory through Device
// alone.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "octavo/cuda/fast_tiles.h"
#include "octavo/device.h"
#include "octavo/device_ops.h"

namespace octavo::cuda_test {

struct TestedOptions {
  /// Of the order in which thread blocks and threads run; 0: as numbered. A GPU has its own order.
  std::uint64_t seed = 0;
  bool fast = false;  ///< Attends on float tensor cores, within a bound.
  FastTiles fast_tiles = FastTiles::Any;
  bool tuned_only = false;    ///< Refuses attention for which there is no tuned kernel.
  bool general_only = false;  ///< Passes all attention to the general kernel.
  /// Partial results of attention that fit at once; 0: as it is by itself.
  std::int64_t attend_workspace_bytes = 0;
};

/// Raises an Error where there is none.
std::shared_ptr<Device> device_under_test(const TestedOptions& options);

inline std::shared_ptr<Device> device_under_test(std::uint64_t seed = 0) {
  return device_under_test(TestedOptions{.seed = seed});
}
inline std::shared_ptr<Device> tuned_device_under_test(std::uint64_t seed = 0) {
  return device_under_test(TestedOptions{.seed = seed, .tuned_only = true});
}
inline std::shared_ptr<Device> fast_device_under_test(std::uint64_t seed = 0) {
  return device_under_test(TestedOptions{.seed = seed, .fast = true, .tuned_only = true});
}

// Launches of the row writer and of the byte movers with grids that end early: what is left is done
// in turns. On memory of a device under test, in the order of its numbers.
/// Lanes write several units from `many_rows` rows on.
void append_in_turns(const AppendArg& arg, std::int64_t most_blocks, std::int64_t many_rows);
void copy_blocks_in_turns(const CopyBlocksArg& arg, std::int64_t most_blocks);
void gather_block_table_in_turns(const GatherBlockTableArg& arg, std::int64_t most_blocks);
void zero_slots_in_turns(const ZeroSlotsArg& arg, std::int64_t most_blocks);

}  // namespace octavo::cuda_test
