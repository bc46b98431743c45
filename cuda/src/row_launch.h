// The launches of the row writer and of the byte movers, with the largest grid as a parameter: work
// beyond it is done in turns, which tests make happen with little work.
//
// Threads: as operations.h.
#pragma once

#include <cstdint>

#include "kernels/platform.cuh"
#include "octavo/device_ops.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// Rows, of keys or of values, that fill a GPU with four units a lane.
inline constexpr std::int64_t kManyRows = 16384;

/// Lanes write four units from `many_rows` rows on.
void append_on(const AppendArg& arg,
               Stream stream,
               std::int64_t most_blocks,
               std::int64_t many_rows = kManyRows);
void copy_blocks_on(const CopyBlocksArg& arg, Stream stream, std::int64_t most_blocks);
void gather_block_table_on(const GatherBlockTableArg& arg, Stream stream, std::int64_t most_blocks);
void zero_slots_on(const ZeroSlotsArg& arg, Stream stream, std::int64_t most_blocks);

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
