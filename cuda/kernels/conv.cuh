// The causal convolution of NUMERICS.md section 6 over windows of inputs kept per slot.
//
// Two kernels: one for windows of up to four inputs, held in registers, and a plain one for any
// width, with the window as a ring in shared memory.
//
// The result may overwrite the input, and the window is both read and written. So one block owns
// the channels of a sequence: it has read whatever it needs of a stretch of tokens before it writes
// any of their results, and hands the last inputs on from stretch to stretch. Only where results
// lie elsewhere is a long sequence cut into segments for several blocks; those behind the first
// read the inputs before them from x itself, and the first alone touches the window.
#pragma once

#include "exact_math.cuh"
#include "octavo/device_ops.h"
#include "platform.cuh"
#include "state_pack.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr unsigned kConvDecodeThreads = 128;
constexpr unsigned kConvPrefillRows = 8;  ///< Warps of a block, each with tokens of its own.
constexpr unsigned kConvPrefillRun = 4;   ///< Tokens of a warp in one stretch.
constexpr unsigned kConvAnyThreads = 32;

struct ConvGrid {
  std::uint32_t channel_groups;  ///< Blocks side by side for one sequence.
  std::int64_t segment_tokens;   ///< Tokens of a block; at least the width.
};

/// What one thread does: kPack neighbouring channels, and among the tokens of the sequence those in
/// [first, last).
struct ConvPart {
  std::int64_t slot_element;  ///< Of the slot's first channel.
  std::int64_t channel;
  std::int64_t begin;   ///< The sequence's first token.
  std::int64_t length;  ///< Its tokens.
  std::int64_t first;
  std::int64_t last;
  bool on;  ///< Whether there are such channels.
};

template <unsigned kPack>
__device__ __forceinline__ ConvPart conv_part(const ConvUpdateArg& arg, const ConvGrid& grid) {
  const std::uint32_t sequence = blockIdx.x / grid.channel_groups;
  const std::uint32_t group = blockIdx.x - sequence * grid.channel_groups;
  ConvPart part;
  part.slot_element = arg.step.slot_ids[sequence] * arg.state.slot_stride;
  part.channel = (static_cast<std::int64_t>(group) * blockDim.x + threadIdx.x) * kPack;
  part.begin = arg.step.cu_seqlens_q[sequence];
  part.length = arg.step.cu_seqlens_q[sequence + 1] - part.begin;
  part.first = blockIdx.y * grid.segment_tokens;
  const std::int64_t end = part.first + grid.segment_tokens;
  part.last = end < part.length ? end : part.length;
  part.on = part.channel < arg.dim;
  return part;
}

/// The weights of a thread's channels, oldest tap first, and their bias.
template <unsigned kWidth, unsigned kPack>
struct ConvTaps {
  float weight[kWidth + 1][kPack];
  float bias[kPack];
};

/// kRows rows of kCount elements each, lying one behind the other, as columns.
template <unsigned kRows, unsigned kCount>
__device__ __forceinline__ void load_columns(DType dtype,
                                             const void* data,
                                             std::int64_t index,
                                             float (*columns)[kRows]) {
  float linear[kCount][kRows];
  OCTAVO_UNROLL
  for (unsigned i = 0; i < kCount; ++i) {
    load_pack<kRows>(dtype, data, index + i * kRows, linear[i]);
  }
  OCTAVO_UNROLL
  for (unsigned i = 0; i < kCount; ++i) {
    OCTAVO_UNROLL
    for (unsigned row = 0; row < kRows; ++row) {
      const unsigned at = row * kCount + i;
      columns[i][row] = linear[at / kRows][at % kRows];
    }
  }
}

template <unsigned kWidth, unsigned kPack>
__device__ __forceinline__ void load_taps(const ConvUpdateArg& arg,
                                          std::int64_t channel,
                                          ConvTaps<kWidth, kPack>& taps) {
  load_columns<kPack, kWidth + 1>(arg.weight.dtype, arg.weight.data, channel * (kWidth + 1),
                                  taps.weight);
  OCTAVO_UNROLL
  for (unsigned c = 0; c < kPack; ++c) {
    taps.bias[c] = 0.0f;
  }
  if (arg.bias.data != nullptr) {
    load_pack<kPack>(arg.bias.dtype, arg.bias.data, channel, taps.bias);
  }
}

/// The window, from the input rows `inputs` on.
template <unsigned kWidth, unsigned kPack>
__device__ __forceinline__ void store_window(const ConvUpdateArg& arg,
                                             const ConvPart& part,
                                             const float (*inputs)[kPack]) {
  OCTAVO_UNROLL
  for (unsigned i = 0; i < kWidth; ++i) {
    float linear[kPack];
    OCTAVO_UNROLL
    for (unsigned c = 0; c < kPack; ++c) {
      const unsigned at = i * kPack + c;
      linear[c] = inputs[at % kWidth][at / kWidth];
    }
    store_pack<kPack>(arg.state.dtype, arg.state.data,
                      part.slot_element + part.channel * kWidth + i * kPack, linear);
  }
}

/// kCount inputs from token `token` of the sequence on, as the window holds them; zeros for tokens
/// from `end` on.
template <unsigned kCount, unsigned kPack>
__device__ __forceinline__ void load_inputs(const ConvUpdateArg& arg,
                                            const ConvPart& part,
                                            std::int64_t token,
                                            std::int64_t end,
                                            float (*inputs)[kPack]) {
  RawPack<kPack> raw[kCount];
  const std::int64_t element = (part.begin + token) * arg.x.token_stride + part.channel;
  OCTAVO_UNROLL
  for (unsigned i = 0; i < kCount; ++i) {
    raw[i] = {};
    if (token + i < end) {
      raw[i] = load_raw<kPack>(arg.x.dtype, arg.x.data, element + i * arg.x.token_stride);
    }
  }
  OCTAVO_UNROLL
  for (unsigned i = 0; i < kCount; ++i) {
    decode<kPack>(arg.x.dtype, raw[i], inputs[i]);
    if (arg.x.dtype != arg.state.dtype) {
      OCTAVO_UNROLL
      for (unsigned c = 0; c < kPack; ++c) {
        inputs[i][c] = rounded_to(arg.state.dtype, inputs[i][c]);
      }
    }
  }
}

/// The result of one token, whose oldest input is inputs[0].
template <unsigned kWidth, unsigned kPack>
__device__ __forceinline__ void convolve(const ConvUpdateArg& arg,
                                         const ConvTaps<kWidth, kPack>& taps,
                                         const float (*inputs)[kPack],
                                         std::int64_t element) {
  float result[kPack];
  OCTAVO_UNROLL
  for (unsigned c = 0; c < kPack; ++c) {
    result[c] = taps.bias[c];
    OCTAVO_UNROLL
    for (unsigned tap = 0; tap <= kWidth; ++tap) {
      result[c] = __fmaf_rn(taps.weight[tap][c], inputs[tap][c], result[c]);
    }
    result[c] = arg.silu ? silu_spec(result[c]) : result[c];
  }
  store_pack<kPack>(arg.out.dtype, arg.out.data, element, result);
}

/// Gives the last kWidth inputs of every run to the warp of the next: into `inputs`, or into `next`
/// for the first warp, whose run is that of the next stretch.
template <unsigned kWidth, unsigned kPack, unsigned kRun, unsigned kRows>
__device__ __forceinline__ void pass_on(float* tails,
                                        float (*inputs)[kPack],
                                        float (*next)[kPack]) {
  const unsigned row = threadIdx.y;
  const unsigned column = threadIdx.x;
  const unsigned before = row == 0 ? kRows - 1 : row - 1;
  OCTAVO_UNROLL
  for (unsigned i = 0; i < kWidth; ++i) {
    OCTAVO_UNROLL
    for (unsigned c = 0; c < kPack; ++c) {
      tails[((row * kWidth + i) * kPack + c) * 32 + column] = inputs[kRun + i][c];
    }
  }
  __syncthreads();
  OCTAVO_UNROLL
  for (unsigned i = 0; i < kWidth; ++i) {
    OCTAVO_UNROLL
    for (unsigned c = 0; c < kPack; ++c) {
      const float x = tails[((before * kWidth + i) * kPack + c) * 32 + column];
      next[i][c] = x;
      inputs[i][c] = row == 0 ? inputs[i][c] : x;
    }
  }
}

/// Widths 1 to 4. A stretch is kRows runs of kRun tokens, a warp each; every thread holds the
/// inputs of its run and the kWidth before it, which the warp before it passes on in shared memory.
///
/// grid: x sequences x channel groups, y segments. block: x channels / kPack, y kRows.
/// Bytes: x and out once, the window read and written once, weights once a block (L2). Bound by
/// memory: a decode step moves (2 kWidth + 2) elements a channel for kWidth + 1 fma, and has
/// kWidth + 1 loads of a pack in flight a thread; a stretch of a prompt has kRun, 8 KiB a block of
/// 16-bit inputs, with two or three blocks on a multiprocessor.
template <unsigned kWidth, unsigned kPack, unsigned kRun, unsigned kRows>
__global__ void __launch_bounds__(kRows == 1 ? kConvDecodeThreads : 32 * kRows)
    conv_kernel(const ConvUpdateArg arg, const ConvGrid grid) {
  static_assert(kRows == 1 || kRun >= kWidth);
  OCTAVO_SHARED_ARRAY(float, tails, kRows* kWidth * 32 * kPack);
  const ConvPart part = conv_part<kPack>(arg, grid);
  if (part.first >= part.last) {
    return;
  }
  const unsigned row = threadIdx.y;
  ConvTaps<kWidth, kPack> taps = {};
  float inputs[kWidth + kRun][kPack] = {};
  if (part.on) {
    load_taps(arg, part.channel, taps);
    if (row == 0 && blockIdx.y == 0) {
      load_columns<kPack, kWidth>(arg.state.dtype, arg.state.data,
                                  part.slot_element + part.channel * kWidth, inputs);
    } else if (row == 0) {
      load_inputs<kWidth, kPack>(arg, part, part.first - kWidth, part.first, inputs);
    }
  }
  for (std::int64_t stretch = part.first; stretch < part.last; stretch += kRun * kRows) {
    const std::int64_t run = stretch + row * kRun;
    if (part.on) {
      load_inputs<kRun, kPack>(arg, part, run, part.last, inputs + kWidth);
    }
    float next[kWidth][kPack] = {};
    if constexpr (kRows > 1) {
      pass_on<kWidth, kPack, kRun, kRows>(tails, inputs, next);
    }
    OCTAVO_UNROLL
    for (unsigned i = 0; i < kRun; ++i) {
      if (part.on && run + i < part.last) {
        convolve(arg, taps, inputs + i,
                 (part.begin + run + i) * arg.out.token_stride + part.channel);
        if (blockIdx.y == 0 && run + i + 1 == part.length) {
          store_window<kWidth, kPack>(arg, part, inputs + i + 1);
        }
      }
    }
    OCTAVO_UNROLL
    for (unsigned i = 0; i < kWidth; ++i) {
      OCTAVO_UNROLL
      for (unsigned c = 0; c < kPack; ++c) {
        inputs[i][c] = kRows > 1 ? next[i][c] : inputs[i + kRun][c];
      }
    }
    if constexpr (kRows > 1) {
      __syncthreads();  // All of `tails` is read.
    }
  }
  if (part.on && row == 0 && blockIdx.y == 0 && part.last < part.length) {
    load_inputs<kWidth, kPack>(arg, part, part.length - kWidth, part.length, inputs);
    store_window<kWidth, kPack>(arg, part, inputs);
  }
}

/// Any width: a thread a channel, token after token. Windows this long are rare; it is bound by the
/// latency of one input after the other and by width + 1 reads of shared memory and of weights
/// (L1) a token.
///
/// grid: x sequences x channel groups. block: kConvAnyThreads channels; dynamic shared memory
/// [width + 1, kConvAnyThreads] floats.
__global__ void __launch_bounds__(kConvAnyThreads)
    conv_any_kernel(const ConvUpdateArg arg, const ConvGrid grid) {
  OCTAVO_DYNAMIC_SHARED(shared);
  const ConvPart part = conv_part<1>(arg, grid);
  if (!part.on || part.length == 0) {
    return;  // Nobody waits for anybody here.
  }
  float* const ring = reinterpret_cast<float*>(shared) + threadIdx.x;
  const unsigned width = static_cast<unsigned>(arg.width);
  const unsigned taps = width + 1;
  const std::int64_t window = part.slot_element + part.channel * width;
  for (unsigned i = 0; i < width; ++i) {
    ring[i * kConvAnyThreads] = load_element(arg.state.dtype, arg.state.data, window + i);
  }
  const float bias =
      arg.bias.data == nullptr ? 0.0f : load_element(arg.bias.dtype, arg.bias.data, part.channel);
  unsigned newest = width;  // Where the next input goes, behind the one before it.
  for (std::int64_t token = part.begin; token < part.begin + part.length; ++token) {
    const float x =
        load_element(arg.x.dtype, arg.x.data, token * arg.x.token_stride + part.channel);
    ring[newest * kConvAnyThreads] = rounded_to(arg.state.dtype, x);
    newest = newest == width ? 0 : newest + 1;
    float result = bias;
    for (unsigned tap = 0, at = newest; tap < taps; ++tap, at = at == width ? 0 : at + 1) {
      const float weight =
          load_element(arg.weight.dtype, arg.weight.data, part.channel * taps + tap);
      result = __fmaf_rn(weight, ring[at * kConvAnyThreads], result);
    }
    store_element(arg.out.dtype, arg.out.data, token * arg.out.token_stride + part.channel,
                  arg.silu ? silu_spec(result) : result);
  }
  for (unsigned i = 0, at = newest; i < width; ++i) {
    at = at == width ? 0 : at + 1;  // The oldest of width + 1 inputs is forgotten.
    store_element(arg.state.dtype, arg.state.data, window + i, ring[at * kConvAnyThreads]);
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
