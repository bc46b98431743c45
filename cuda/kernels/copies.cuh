// Bytes moved within the device: rows of blocks, rows of block tables, slots set to zero.
//
// One warp moves one run, contiguous bytes, or a slice of it, 16 bytes a lane and access where both
// ends are aligned to that, four accesses in flight; else 4 bytes or single ones. A run's bytes
// beyond the last whole access go one a lane.
//
// Which runs there are comes with the launch, by value: no memory is staged, nothing waits. Bound
// by memory, 2 bytes of traffic for each that is copied; what is copied for a step is mostly below
// the size at which that shows.
#pragma once

#include "octavo/block_manager.h"
#include "octavo/device_ops.h"
#include "platform.cuh"
#include "rows.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr int kMoveThreads = 128;
constexpr int kMoveBlocks = 6;  ///< At a time on a multiprocessor: 80 registers.
constexpr int kMoveWarps = kMoveThreads / 32;
constexpr int kAccessesInFlight = 4;
constexpr std::int64_t kSliceBytes = 8192;  ///< What one warp moves at most; a multiple of 16.
constexpr int kMostArrays = 8;              ///< Of a launch.
constexpr std::uint32_t kFewCopies = 64;    ///< Of a launch; parameters cost what they are long.
constexpr std::uint32_t kManyCopies = 2048;
constexpr int kMostSlots = 64;

template <std::uint32_t kMostCopies>
struct CopyTask {
  BlockArrayArg arrays[kMostArrays] = {};  ///< One for each y of the grid.
  BlockCopy copies[kMostCopies] = {};      ///< None reads or writes what another one writes.
  std::uint32_t num_copies = 0;
  std::uint32_t slices[kMostArrays] = {};  ///< Of the longest run of an array.
};

struct GatherTask {
  GatherBlockTableArg gather = {};
  std::uint32_t slices = 0;  ///< Of a row.
};

struct ZeroTask {
  SlotArrayArg arrays[kMostArrays] = {};  ///< One for each y of the grid.
  std::int32_t slots[kMostSlots] = {};
  std::uint32_t num_slots = 0;
  std::uint32_t slices[kMostArrays] = {};
};

/// The first item of a warp; it goes on in steps of warps_of_grid().
__device__ __forceinline__ std::uint64_t warp_of_grid() {
  return blockIdx.x * std::uint64_t{kMoveWarps} + threadIdx.x / 32;
}
__device__ __forceinline__ std::uint64_t warps_of_grid() {
  return gridDim.x * std::uint64_t{kMoveWarps};
}

/// Takes the digit of base `base` off the end of an item's number.
__device__ __forceinline__ std::int64_t next_digit(std::uint64_t& item, std::uint32_t base) {
  const std::uint64_t rest = quotient(item, base);
  const std::uint64_t digit = item - rest * base;
  item = rest;
  return static_cast<std::int64_t>(digit);
}

/// Lanes of a warp copy `count` elements, several reads before the first write.
template <typename Element>
__device__ __forceinline__ void copy_elements(std::uint8_t* to,
                                              const std::uint8_t* from,
                                              std::int32_t count) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (std::int32_t first = lane; first < count; first += 32 * kAccessesInFlight) {
    Element elements[kAccessesInFlight];
    for (int i = 0; i < kAccessesInFlight; ++i) {
      if (first + 32 * i < count) {
        elements[i] = reinterpret_cast<const Element*>(from)[first + 32 * i];
      }
    }
    for (int i = 0; i < kAccessesInFlight; ++i) {
      if (first + 32 * i < count) {
        reinterpret_cast<Element*>(to)[first + 32 * i] = elements[i];
      }
    }
  }
}

template <typename Element>
__device__ __forceinline__ void set_to_zero(std::uint8_t* to, std::int32_t count) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (std::int32_t i = lane; i < count; i += 32) {
    reinterpret_cast<Element*>(to)[i] = Element{};
  }
}

/// How many bytes of a run of `size_bytes` the slice has that begins at `begin`; at most 0: none.
__device__ __forceinline__ std::int32_t slice_bytes(std::int64_t size_bytes, std::int64_t begin) {
  const std::int64_t rest = size_bytes - begin;
  return static_cast<std::int32_t>(rest < kSliceBytes ? rest : kSliceBytes);
}

/// Copies a slice; a whole warp calls this.
__device__ __forceinline__ void copy_slice(std::uint8_t* to,
                                           const std::uint8_t* from,
                                           std::int32_t size_bytes) {
  const auto low_bits =
      reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
  std::int32_t done = 0;
  if (low_bits % 16 == 0) {
    copy_elements<uint4>(to, from, size_bytes / 16);
    done = size_bytes / 16 * 16;
  } else if (low_bits % 4 == 0) {
    copy_elements<std::uint32_t>(to, from, size_bytes / 4);
    done = size_bytes / 4 * 4;
  }
  copy_elements<std::uint8_t>(to + done, from + done, size_bytes - done);
}

__device__ __forceinline__ void zero_slice(std::uint8_t* to, std::int32_t size_bytes) {
  std::int32_t done = 0;
  if (reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
    set_to_zero<uint4>(to, size_bytes / 16);
    done = size_bytes / 16 * 16;
  } else if (reinterpret_cast<std::uintptr_t>(to) % 4 == 0) {
    set_to_zero<std::uint32_t>(to, size_bytes / 4);
    done = size_bytes / 4 * 4;
  }
  set_to_zero<std::uint8_t>(to + done, size_bytes - done);
}

/// An item is a slice of one copy in one head of one member, slices first, so that the runs that
/// warps move at a time lie side by side.
template <std::uint32_t kMostCopies>
__global__ void __launch_bounds__(kMoveThreads, kMoveBlocks)
    copy_blocks_kernel(const CopyTask<kMostCopies> task) {
  const BlockArrayArg& array = task.arrays[blockIdx.y];
  const std::uint32_t slices = task.slices[blockIdx.y];
  const auto heads = static_cast<std::uint32_t>(array.heads);
  const std::uint64_t items =
      static_cast<std::uint64_t>(array.members) * heads * slices * task.num_copies;
  for (std::uint64_t i = warp_of_grid(); i < items; i += warps_of_grid()) {
    std::uint64_t item = i;
    const std::int64_t begin = next_digit(item, slices) * kSliceBytes;
    const std::int64_t head = next_digit(item, heads);
    const BlockCopy& copy = task.copies[next_digit(item, task.num_copies)];
    const auto member = static_cast<std::int64_t>(item);
    const std::int32_t size_bytes = slice_bytes(copy.rows * array.row_bytes, begin);
    if (size_bytes > 0) {
      std::uint8_t* const base = static_cast<std::uint8_t*>(array.data) +
                                 member * array.member_stride_bytes +
                                 head * array.head_stride_bytes + begin;
      copy_slice(base + copy.dst * array.block_stride_bytes,
                 base + copy.src * array.block_stride_bytes, size_bytes);
    }
  }
}

/// An item is a slice of a sequence's row.
__global__ void __launch_bounds__(kMoveThreads, kMoveBlocks)
    gather_block_table_kernel(const GatherTask task) {
  const GatherBlockTableArg& gather = task.gather;
  const std::uint64_t items = static_cast<std::uint64_t>(gather.batch) * task.slices;
  for (std::uint64_t i = warp_of_grid(); i < items; i += warps_of_grid()) {
    std::uint64_t item = i;
    const std::int64_t begin = next_digit(item, task.slices) * kSliceBytes;
    const auto sequence = static_cast<std::int64_t>(item);
    const std::int64_t slot = gather.slot_ids[sequence];
    copy_slice(
        reinterpret_cast<std::uint8_t*>(gather.gathered + sequence * gather.gathered_stride) +
            begin,
        reinterpret_cast<const std::uint8_t*>(gather.table + slot * gather.table_stride) + begin,
        slice_bytes(gather.columns * 4, begin));
  }
}

/// An item is a slice of one slot.
__global__ void __launch_bounds__(kMoveThreads, kMoveBlocks)
    zero_slots_kernel(const ZeroTask task) {
  const SlotArrayArg& array = task.arrays[blockIdx.y];
  const std::uint32_t slices = task.slices[blockIdx.y];
  const std::uint64_t items = std::uint64_t{slices} * task.num_slots;
  for (std::uint64_t i = warp_of_grid(); i < items; i += warps_of_grid()) {
    std::uint64_t item = i;
    const std::int64_t begin = next_digit(item, slices) * kSliceBytes;
    const std::int64_t slot = task.slots[item];
    zero_slice(static_cast<std::uint8_t*>(array.data) + slot * array.slot_stride_bytes + begin,
               slice_bytes(array.slot_bytes, begin));
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
