// Picks the kernel of a convolution: by width, by whether channels can be moved four at a time, and
// by whether sequences are long enough for several warps each.

#include <string>

#include "kernels/conv.cuh"
#include "launch_limits.h"
#include "octavo/error.h"
#include "operations.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
namespace {

constexpr std::int64_t kMaxConvWidth = 256;
/// Up to here a thread takes the tokens of a sequence one after another.
constexpr std::int64_t kMaxDecodeTokens = 4;
constexpr std::int64_t kSegmentTokens = 1024;
static_assert(kSegmentTokens % (kConvPrefillRows * kConvPrefillRun) == 0);

using ConvKernel = void (*)(ConvUpdateArg, ConvGrid);

/// Whether x and out share memory, so that a token's result may overwrite an input.
bool overlap(const ConvUpdateArg& arg) {
  const auto x = reinterpret_cast<std::uintptr_t>(arg.x.data);
  const auto out = reinterpret_cast<std::uintptr_t>(arg.out.data);
  const auto bytes = [&](std::int64_t token_stride, DType dtype) {
    const std::int64_t last = (arg.step.tokens - 1) * token_stride + arg.dim;
    return static_cast<std::uintptr_t>(last * element_bytes(dtype));
  };
  return x < out + bytes(arg.out.token_stride, arg.out.dtype) &&
         out < x + bytes(arg.x.token_stride, arg.x.dtype);
}

/// Whether every pack of four channels lies at a multiple of its size.
bool takes_packs(const ConvUpdateArg& arg) {
  return arg.dim % 4 == 0 && packs_align(arg.x.data, arg.x.dtype, {arg.x.token_stride}) &&
         packs_align(arg.out.data, arg.out.dtype, {arg.out.token_stride}) &&
         packs_align(arg.state.data, arg.state.dtype, {arg.state.slot_stride}) &&
         packs_align(arg.weight.data, arg.weight.dtype, {}) &&
         packs_align(arg.bias.data, arg.bias.dtype, {});
}

template <unsigned kWidth>
ConvKernel tuned_kernel(bool packs, bool decode) {
  if (decode) {
    return packs ? &conv_kernel<kWidth, 4, 1, 1> : &conv_kernel<kWidth, 1, 1, 1>;
  }
  return packs ? &conv_kernel<kWidth, 4, kConvPrefillRun, kConvPrefillRows>
               : &conv_kernel<kWidth, 1, kConvPrefillRun, kConvPrefillRows>;
}

ConvKernel tuned_kernel(std::int64_t width, bool packs, bool decode) {
  switch (width) {
    case 1:
      return tuned_kernel<1>(packs, decode);
    case 2:
      return tuned_kernel<2>(packs, decode);
    case 3:
      return tuned_kernel<3>(packs, decode);
    case 4:
      return tuned_kernel<4>(packs, decode);
    default:
      return nullptr;
  }
}

}  // namespace

void conv_update(const ConvUpdateArg& arg, Stream stream) {
  check_at_most("causal_conv_update", "conv_state has a width", arg.width, kMaxConvWidth);
  if (arg.step.batch == 0 || arg.step.tokens == 0 || arg.dim == 0) {
    return;
  }
  const bool decode = arg.step.max_query_len <= kMaxDecodeTokens;
  const bool packs = takes_packs(arg);
  ConvKernel kernel = tuned_kernel(arg.width, packs, decode);
  LaunchShape shape;
  ConvGrid grid{.channel_groups = 1, .segment_tokens = arg.step.tokens};
  std::int64_t block_channels = kConvAnyThreads;
  std::int64_t segments = 1;
  if (kernel == nullptr) {
    kernel = &conv_any_kernel;
    shape.block = dim3(kConvAnyThreads);
    shape.shared_bytes =
        static_cast<std::size_t>((arg.width + 1) * kConvAnyThreads) * sizeof(float);
  } else {
    shape.block = decode ? dim3(kConvDecodeThreads) : dim3(32, kConvPrefillRows);
    block_channels = shape.block.x * (packs ? 4 : 1);
    if (!decode && !overlap(arg)) {
      grid.segment_tokens = kSegmentTokens;
      segments = ceil_div(arg.step.max_query_len, kSegmentTokens);
    }
  }
  const std::int64_t groups = ceil_div(arg.dim, block_channels);
  check_at_most("causal_conv_update", "x has a number of sequences times blocks of channels",
                arg.step.batch * groups, kMaxGridX);
  check_at_most("causal_conv_update", "x has a number of segments of 1024 tokens", segments,
                kMaxGridY);
  grid.channel_groups = static_cast<std::uint32_t>(groups);
  shape.grid = dim3(static_cast<unsigned>(arg.step.batch * groups),
                    static_cast<unsigned>(segments));
  launch(kernel, shape, stream, arg, grid);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
