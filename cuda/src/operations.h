// The operations of a device as host functions over kernels: each takes a checked launch argument
// (octavo/device_ops.h), picks a kernel and queues it on a stream. One file a family of kernels.
//
// They return before the work is done and never wait for it. Arrays that an argument names as
// "host" are read before they return. Nothing here allocates, but attention through its Workspace.
//
// Raise Unimplemented, naming the operation and the value, for what no kernel takes, before
// anything is queued; DeviceError when a launch fails.
#pragma once

#include <cstdint>

#include "kernels/platform.cuh"
#include "octavo/cuda/fast_tiles.h"
#include "octavo/device_ops.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// Counters that a launch may have at a time: attention in more tiles is done in slices.
inline constexpr std::int64_t kAttendCounters = 65536;

/// Memory on the device for what blocks of a launch leave for each other. Whoever owns it keeps it
/// from call to call. Launches follow each other in it, on one stream or on several that the caller
/// orders: two at the same time would write over each other's results and count each other's
/// blocks.
class Workspace {
 public:
  virtual ~Workspace() = default;
  /// At least `size_bytes` bytes, aligned to 256, unspecified contents; the same memory at every
  /// call that asks for no more than an earlier one did. Raises ResourceExhausted.
  virtual void* at_least(std::int64_t size_bytes) = 0;

  /// `count` counters, all zero, for launches that leave them so; at most kAttendCounters. Who has
  /// queued these launches gives the counters back. Who could not, as one of them failed and may
  /// have counted a part of its blocks, does nothing: the next to borrow gets them zeroed anew.
  unsigned* borrow_counters(std::int64_t count) {
    unsigned* const counters = counters_at_least(count, are_lent_);
    are_lent_ = true;
    return counters;
  }
  void return_counters() noexcept { are_lent_ = false; }

 private:
  /// At least `count`, zero where they are new; on `clear` all are set to zero behind what the
  /// stream was given before. Raises ResourceExhausted, DeviceError.
  virtual unsigned* counters_at_least(std::int64_t count, bool clear) = 0;

  bool are_lent_ = false;
};

struct AttendOptions {
  /// Float tensor cores and hardware exponentials, within the bound of NUMERICS.md section 9
  /// instead of to the bit, where there is a kernel for it.
  bool fast = false;
  FastTiles fast_tiles = FastTiles::Any;
  /// Refuse, by name, what none of the kernels made for one shape takes, instead of passing it to
  /// the general one, which takes every shape and is several times slower.
  bool tuned_only = false;
  /// Pass everything to the general kernel; for tests.
  bool general_only = false;
  /// Of partial results: a call that needs more is done in slices, one after another in the same
  /// memory. No result depends on it. A single tile may exceed it.
  std::int64_t workspace_bytes = std::int64_t{256} << 20;
};

void append(const AppendArg& arg, Stream stream);
void store_cross(const StoreCrossArg& arg, Stream stream);
void copy_blocks(const CopyBlocksArg& arg, Stream stream);
void gather_block_table(const GatherBlockTableArg& arg, Stream stream);
void zero_slots(const ZeroSlotsArg& arg, Stream stream);
void conv_update(const ConvUpdateArg& arg, Stream stream);
void gated_delta_update(const GatedDeltaUpdateArg& arg, Stream stream);
void selective_state_update(const SelectiveStateUpdateArg& arg, Stream stream);
void attend(const AttendArg& arg,
            const AttendOptions& options,
            Workspace& workspace,
            Stream stream);

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
