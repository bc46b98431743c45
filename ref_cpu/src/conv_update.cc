// Channels are the lanes: a block of them keeps its window and weights transposed on the stack, and
// tokens come in tiles that are read whole before any of their results is written, so the result
// may overwrite the input.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "exact_math.h"
#include "rows.h"
#include "simd.h"
#include "state_ops.h"

namespace octavo::ref_cpu {
namespace {

constexpr int kLanes = static_cast<int>(kConvChannelBlock);
constexpr std::int64_t kTile = 64;

struct ConvBlock {
  float rows[kMaxConvWidth + kTile][kLanes];  // The window, then a tile of inputs, by age.
  float weights[kMaxConvWidth + 1][kLanes];   // Oldest tap first.
  float bias[kLanes];
  float linear[(kMaxConvWidth + 1) * kLanes];  // As it lies in memory, [channels, taps].
};

/// Rows of `taps` elements, one a channel, `n` channels from element `first` on.
struct TapRows {
  DType dtype;
  const void* data;
  std::int64_t first;
  std::int64_t n;
  std::int64_t taps;
};

/// lanes[tap][c] = tap `tap` of channel c; 0 for lanes past n.
OCTAVO_LANES void load_transposed(const TapRows& rows,
                                  float* linear,
                                  float (*lanes)[kLanes]) noexcept {
  decode_row_lanes(rows.dtype, rows.data, rows.first, rows.n * rows.taps, linear);
  std::fill(linear + rows.n * rows.taps, linear + kLanes * rows.taps, 0.0f);
  for (std::int64_t tap = 0; tap < rows.taps; ++tap) {
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[tap][lane] = linear[lane * rows.taps + tap];
    }
  }
}

OCTAVO_LANES void load_input(const ConvUpdateArg& arg,
                             std::int64_t token,
                             PartRange channels,
                             float (&row)[kLanes]) noexcept {
  const std::int64_t n = channels.end - channels.begin;
  decode_row_lanes(arg.x.dtype, arg.x.data, token * arg.x.token_stride + channels.begin, n, row);
  std::fill(row + n, row + kLanes, 0.0f);
  if (arg.x.dtype != arg.state.dtype) {
    round_row_lanes(arg.state.dtype, kLanes, row);
  }
}

/// One token: bias, then the taps from the oldest to the newest.
OCTAVO_LANES void convolve(const ConvBlock& block,
                           std::int64_t first_row,
                           std::int64_t taps,
                           bool silu,
                           float (&result)[kLanes]) noexcept {
  for (int lane = 0; lane < kLanes; ++lane) {
    result[lane] = block.bias[lane];
  }
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const float(&weight)[kLanes] = block.weights[tap];
    const float(&input)[kLanes] = block.rows[first_row + tap];
    for (int lane = 0; lane < kLanes; ++lane) {
      result[lane] = fma_rn(weight[lane], input[lane], result[lane]);
    }
  }
  if (silu) {
    for (int lane = 0; lane < kLanes; ++lane) {
      result[lane] = silu_spec(result[lane]);
    }
  }
}

OCTAVO_LANES void store_window(const ConvUpdateArg& arg,
                               std::int64_t first_element,
                               std::int64_t n,
                               ConvBlock& block) noexcept {
  for (std::int64_t tap = 0; tap < arg.width; ++tap) {
    for (std::int64_t lane = 0; lane < n; ++lane) {
      block.linear[lane * arg.width + tap] = block.rows[tap][lane];
    }
  }
  encode_row_lanes(arg.state.dtype, block.linear, n * arg.width, arg.state.data, first_element);
}

OCTAVO_LANES void update_block(const ConvUpdateArg& arg,
                               std::int64_t slot,
                               PartRange tokens,
                               PartRange channels,
                               ConvBlock& block) noexcept {
  const std::int64_t n = channels.end - channels.begin;
  const std::int64_t width = arg.width;
  const std::int64_t window = slot * arg.state.slot_stride + channels.begin * width;
  load_transposed({arg.state.dtype, arg.state.data, window, n, width}, block.linear, block.rows);
  load_transposed({arg.weight.dtype, arg.weight.data, channels.begin * (width + 1), n, width + 1},
                  block.linear, block.weights);
  std::fill(block.bias, block.bias + kLanes, 0.0f);
  if (arg.bias.data != nullptr) {
    decode_row_lanes(arg.bias.dtype, arg.bias.data, channels.begin, n, block.bias);
  }

  for (std::int64_t begin = tokens.begin; begin < tokens.end; begin += kTile) {
    const std::int64_t count = std::min(kTile, tokens.end - begin);
    for (std::int64_t i = 0; i < count; ++i) {
      load_input(arg, begin + i, channels, block.rows[width + i]);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      float result[kLanes];
      convolve(block, i, width + 1, arg.silu, result);
      encode_row_lanes(arg.out.dtype, result, n, arg.out.data,
                       (begin + i) * arg.out.token_stride + channels.begin);
    }
    std::memmove(block.rows, block.rows + count,
                 static_cast<std::size_t>(width) * sizeof block.rows[0]);
  }
  store_window(arg, window, n, block);
}

OCTAVO_LANES void update_lanes(const ConvUpdateArg& arg,
                               std::int64_t sequence,
                               PartRange channels) noexcept {
  const PartRange tokens{arg.step.cu_seqlens_q[sequence], arg.step.cu_seqlens_q[sequence + 1]};
  if (tokens.begin == tokens.end) {
    return;
  }
  ConvBlock block;
  for (std::int64_t begin = channels.begin; begin < channels.end; begin += kLanes) {
    const std::int64_t end = std::min<std::int64_t>(begin + kLanes, channels.end);
    update_block(arg, arg.step.slot_ids[sequence], tokens, {begin, end}, block);
  }
}

}  // namespace

OCTAVO_DISPATCH(void,
                conv_update,
                (const ConvUpdateArg& arg, std::int64_t sequence, PartRange channels) noexcept,
                update_lanes,
                (arg, sequence, channels))

}  // namespace octavo::ref_cpu
