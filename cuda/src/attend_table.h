// The table of the tuned float kernels: one entry for each storage format, head dim and number of
// rows that a kernel is compiled for. It lies in parts, each in a file of its own, so that they are
// compiled side by side.
//
// Constant data.
#pragma once

#include <span>

#include "attend_plan.h"
#include "octavo/dtype.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// Keys and values alike.
struct FloatKernel {
  DType dtype = DType::F32;
  int head_dim = 0;
  int rows = 0;  ///< Of a tile.
  void (*launch)(const AttendPlan& plan, Stream stream) = nullptr;
};

// Named for the format and the smaller of two head dims.
std::span<const FloatKernel> float_kernels_f32_64();
std::span<const FloatKernel> float_kernels_f32_96();
std::span<const FloatKernel> float_kernels_f32_192();
std::span<const FloatKernel> float_kernels_f16_64();
std::span<const FloatKernel> float_kernels_f16_96();
std::span<const FloatKernel> float_kernels_f16_192();
std::span<const FloatKernel> float_kernels_bf16_64();
std::span<const FloatKernel> float_kernels_bf16_96();
std::span<const FloatKernel> float_kernels_bf16_192();
std::span<const FloatKernel> float_kernels_e4m3_64();
std::span<const FloatKernel> float_kernels_e4m3_96();
std::span<const FloatKernel> float_kernels_e4m3_192();
std::span<const FloatKernel> float_kernels_e5m2_64();
std::span<const FloatKernel> float_kernels_e5m2_96();
std::span<const FloatKernel> float_kernels_e5m2_192();

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
