// What CpuDevice does to blocks, tables and slots, and the operations over state rows: every
// sequence and every part of its channels or heads by itself, on all workers.
#include <algorithm>
#include <cstring>
#include <string>

#include "octavo/block_manager.h"
#include "octavo/device_ops.h"
#include "octavo/error.h"
#include "octavo/ref_cpu/cpu_device.h"
#include "parallel.h"
#include "state_ops.h"

namespace octavo::ref_cpu {
namespace {

std::uint8_t* at(void* data, std::int64_t offset_bytes) {
  return static_cast<std::uint8_t*>(data) + offset_bytes;
}

// The leading rows of one block in one member and all heads.
void copy_block(const BlockArrayArg& array, std::int64_t member, const BlockCopy& copy) {
  const auto size_bytes = static_cast<std::size_t>(std::int64_t{copy.rows} * array.row_bytes);
  if (copy.src == copy.dst || size_bytes == 0) {
    return;
  }
  for (std::int64_t head = 0; head < array.heads; ++head) {
    const std::int64_t offset = member * array.member_stride_bytes + head * array.head_stride_bytes;
    std::memcpy(at(array.data, offset + copy.dst * array.block_stride_bytes),
                at(array.data, offset + copy.src * array.block_stride_bytes), size_bytes);
  }
}

// Calls body(sequence, part) for every sequence of the step and every part of [0, size) of at most
// `part_size`.
template <typename Body>
void run_parts(
    ThreadPool& pool, std::int64_t batch, std::int64_t size, std::int64_t part_size, Body body) {
  const std::int64_t parts = (size + part_size - 1) / part_size;
  pool.run(batch * parts, [&](std::int64_t item, int /*worker*/) {
    const std::int64_t begin = item % parts * part_size;
    body(item / parts, PartRange{begin, std::min(begin + part_size, size)});
  });
}

}  // namespace

void CpuDevice::copy_blocks(const CopyBlocksArg& arg) {
  const std::lock_guard lock(mutex_);
  for (std::int64_t a = 0; a < arg.num_arrays; ++a) {
    const BlockArrayArg& array = arg.arrays[a];
    pool_->run(array.members, [&](std::int64_t member, int /*worker*/) {
      for (std::int64_t c = 0; c < arg.num_copies; ++c) {
        copy_block(array, member, arg.copies[c]);
      }
    });
  }
}

void CpuDevice::gather_block_table(const GatherBlockTableArg& arg) {
  const std::lock_guard lock(mutex_);
  for (std::int64_t i = 0; i < arg.batch; ++i) {
    const std::int32_t* const row = arg.table + std::int64_t{arg.slot_ids[i]} * arg.table_stride;
    std::copy(row, row + arg.columns, arg.gathered + i * arg.gathered_stride);
  }
}

void CpuDevice::zero_slots(const ZeroSlotsArg& arg) {
  const std::lock_guard lock(mutex_);
  pool_->run(arg.num_arrays, [&](std::int64_t a, int /*worker*/) {
    const SlotArrayArg& array = arg.arrays[a];
    for (std::int64_t s = 0; s < arg.num_slots && array.slot_bytes > 0; ++s) {
      std::memset(at(array.data, std::int64_t{arg.slots[s]} * array.slot_stride_bytes), 0,
                  static_cast<std::size_t>(array.slot_bytes));
    }
  });
}

namespace {

// The state operations keep a row of this many numbers on the stack.
void check_at_most(const char* call, const char* what, std::int64_t value, std::int64_t most) {
  if (value > most) {
    throw Error(ErrorCode::Unimplemented, std::string(call) + ": " + what + " of " +
                                              std::to_string(value) +
                                              "; the device \"ref\" takes at most " +
                                              std::to_string(most));
  }
}

}  // namespace

void CpuDevice::conv_update(const ConvUpdateArg& arg) {
  check_at_most("causal_conv_update", "conv_state has a width", arg.width, kMaxConvWidth);
  const std::lock_guard lock(mutex_);
  run_parts(*pool_, arg.step.batch, arg.dim, 8 * kConvChannelBlock,
            [&](std::int64_t sequence, PartRange channels) {
              ref_cpu::conv_update(arg, sequence, channels);
            });
}

void CpuDevice::gated_delta_update(const GatedDeltaUpdateArg& arg) {
  check_at_most("gated_delta_update", "recurrent_state has a k_dim", arg.k_dim, kMaxStateKDim);
  const std::lock_guard lock(mutex_);
  run_parts(*pool_, arg.step.batch, arg.heads, 1, [&](std::int64_t sequence, PartRange heads) {
    ref_cpu::gated_delta_update(arg, sequence, heads);
  });
}

void CpuDevice::selective_state_update(const SelectiveStateUpdateArg& arg) {
  check_at_most("selective_state_update", "recurrent_state has a k_dim", arg.k_dim, kMaxStateKDim);
  const std::lock_guard lock(mutex_);
  run_parts(*pool_, arg.step.batch, arg.heads, 1, [&](std::int64_t sequence, PartRange heads) {
    ref_cpu::selective_state_update(arg, sequence, heads);
  });
}

}  // namespace octavo::ref_cpu
