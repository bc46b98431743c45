// Launches of the byte movers: the host's arrays go by value, so many to a launch.
#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/copies.cuh"
#include "launch_limits.h"
#include "operations.h"
#include "row_launch.h"
#include "taken_blocks.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
namespace {

std::uint32_t slices_of(std::int64_t size_bytes) {
  return static_cast<std::uint32_t>((size_bytes + kSliceBytes - 1) / kSliceBytes);
}

/// A grid for `items` warps, times `arrays`; the kernels go on in turns where it ends.
LaunchShape warps_shape(std::uint64_t items, std::uint32_t arrays, std::int64_t most_blocks) {
  const std::uint64_t blocks =
      std::min((items + kMoveWarps - 1) / kMoveWarps, static_cast<std::uint64_t>(most_blocks));
  return {dim3(static_cast<unsigned>(blocks), arrays), dim3(kMoveThreads)};
}

bool moves_nothing(const BlockCopy& copy) {
  return copy.src == copy.dst || copy.rows <= 0;
}

/// Takes from the front of `copies` what may run side by side, into `task`. `blocks` is empty
/// before and after.
template <std::uint32_t kMostCopies>
void take_copies(std::span<const BlockCopy>& copies,
                 TakenBlocks<kMostCopies>& blocks,
                 CopyTask<kMostCopies>& task) {
  task.num_copies = 0;
  while (!copies.empty() && task.num_copies < kMostCopies) {
    const BlockCopy& copy = copies.front();
    if (!moves_nothing(copy)) {
      if (!blocks.take(copy.src, copy.dst)) {
        break;
      }
      task.copies[task.num_copies++] = copy;
    }
    copies = copies.subspan(1);
  }
  blocks.clear();
}

template <std::uint32_t kMostCopies>
void launch_copies(CopyTask<kMostCopies>& task,
                   std::span<const BlockArrayArg> arrays,
                   Stream stream,
                   std::int64_t most_blocks) {
  std::int64_t rows = 0;
  for (const BlockCopy& copy : std::span(task.copies).first(task.num_copies)) {
    rows = std::max(rows, std::int64_t{copy.rows});
  }
  std::uint32_t taken = 0;
  std::uint64_t items = 0;
  const auto launch_taken = [&] {
    if (taken > 0) {
      launch(copy_blocks_kernel<kMostCopies>, warps_shape(items, taken, most_blocks), stream, task);
    }
    taken = 0;
    items = 0;
  };
  for (const BlockArrayArg& array : arrays) {
    const std::uint32_t slices = slices_of(rows * array.row_bytes);
    const std::uint64_t array_items = static_cast<std::uint64_t>(array.members) *
                                      static_cast<std::uint64_t>(array.heads) * slices *
                                      task.num_copies;
    if (array_items > 0) {
      task.arrays[taken] = array;
      task.slices[taken] = slices;
      items = std::max(items, array_items);
      if (++taken == kMostArrays) {
        launch_taken();
      }
    }
  }
  launch_taken();
}

template <std::uint32_t kMostCopies>
void copy_in_launches(const CopyBlocksArg& arg, Stream stream, std::int64_t most_blocks) {
  const std::span arrays(arg.arrays, static_cast<std::size_t>(arg.num_arrays));
  std::span copies(arg.copies, static_cast<std::size_t>(arg.num_copies));
  TakenBlocks<kMostCopies> blocks;
  CopyTask<kMostCopies> task;
  while (!copies.empty()) {
    take_copies(copies, blocks, task);
    launch_copies(task, arrays, stream, most_blocks);
  }
}

void launch_zeroing(ZeroTask& task,
                    std::span<const SlotArrayArg> arrays,
                    Stream stream,
                    std::int64_t most_blocks) {
  std::uint32_t taken = 0;
  std::uint64_t items = 0;
  const auto launch_taken = [&] {
    if (taken > 0) {
      launch(zero_slots_kernel, warps_shape(items, taken, most_blocks), stream, task);
    }
    taken = 0;
    items = 0;
  };
  for (const SlotArrayArg& array : arrays) {
    if (array.slot_bytes > 0) {
      task.arrays[taken] = array;
      task.slices[taken] = slices_of(array.slot_bytes);
      items = std::max(items, std::uint64_t{task.slices[taken]} * task.num_slots);
      if (++taken == kMostArrays) {
        launch_taken();
      }
    }
  }
  launch_taken();
}

}  // namespace

void copy_blocks_on(const CopyBlocksArg& arg, Stream stream, std::int64_t most_blocks) {
  if (arg.num_copies <= kFewCopies) {
    copy_in_launches<kFewCopies>(arg, stream, most_blocks);
  } else {
    copy_in_launches<kManyCopies>(arg, stream, most_blocks);
  }
}

void gather_block_table_on(const GatherBlockTableArg& arg,
                           Stream stream,
                           std::int64_t most_blocks) {
  if (arg.batch == 0 || arg.columns == 0) {
    return;
  }
  const GatherTask task{arg, slices_of(arg.columns * 4)};
  const std::uint64_t items = static_cast<std::uint64_t>(arg.batch) * task.slices;
  launch(gather_block_table_kernel, warps_shape(items, 1, most_blocks), stream, task);
}

void zero_slots_on(const ZeroSlotsArg& arg, Stream stream, std::int64_t most_blocks) {
  const std::span arrays(arg.arrays, static_cast<std::size_t>(arg.num_arrays));
  std::span slots(arg.slots, static_cast<std::size_t>(arg.num_slots));
  ZeroTask task;
  while (!slots.empty()) {
    const std::span taken = slots.first(std::min(slots.size(), std::size_t{kMostSlots}));
    std::ranges::copy(taken, task.slots);
    task.num_slots = static_cast<std::uint32_t>(taken.size());
    launch_zeroing(task, arrays, stream, most_blocks);
    slots = slots.subspan(taken.size());
  }
}

void copy_blocks(const CopyBlocksArg& arg, Stream stream) {
  copy_blocks_on(arg, stream, kMaxGridX);
}

void gather_block_table(const GatherBlockTableArg& arg, Stream stream) {
  gather_block_table_on(arg, stream, kMaxGridX);
}

void zero_slots(const ZeroSlotsArg& arg, Stream stream) {
  zero_slots_on(arg, stream, kMaxGridX);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
