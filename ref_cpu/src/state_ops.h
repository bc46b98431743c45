// Convolution and recurrence over the state of one sequence, in place: what a device's kernels do
// for one entry of a step's batch.
//
// They take a step's launch arguments (octavo/device_ops.h, checked by the caller, all pointers
// readable by the host), the number `sequence` of the batch entry and the part of its channels or
// heads that this call does. Parts are independent of each other and of other sequences, so calls
// may run on several threads in any order. A sequence without tokens is left alone.
//
// Tokens are done one by one in order and every token leaves the state as it would be stored, so a
// prompt in pieces gives the bits of the whole one. Orders and bounds: NUMERICS.md.
#pragma once

#include <cstdint>

#include "octavo/device_ops.h"

namespace octavo::ref_cpu {

/// Channels or heads [begin, end).
struct PartRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// The largest ConvUpdateArg::width that conv_update takes.
inline constexpr std::int64_t kMaxConvWidth = 256;

/// The largest k_dim that the recurrences take.
inline constexpr std::int64_t kMaxStateKDim = 2048;

/// The channels of a part are done this many at a time; parts are best cut at multiples of it.
inline constexpr std::int64_t kConvChannelBlock = 32;

void conv_update(const ConvUpdateArg& arg, std::int64_t sequence, PartRange channels) noexcept;

void gated_delta_update(const GatedDeltaUpdateArg& arg,
                        std::int64_t sequence,
                        PartRange heads) noexcept;

void selective_state_update(const SelectiveStateUpdateArg& arg,
                            std::int64_t sequence,
                            PartRange heads) noexcept;

}  // namespace octavo::ref_cpu
