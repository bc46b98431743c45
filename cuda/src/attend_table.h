// The table of the tuned float kernels: one entry for each storage format, head dim and number of
// rows that a kernel is compiled for. It lies in parts, a storage format a file, so that they are
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

std::span<const FloatKernel> float_kernels_f32();
std::span<const FloatKernel> float_kernels_f16();
std::span<const FloatKernel> float_kernels_bf16();
std::span<const FloatKernel> float_kernels_e4m3();
std::span<const FloatKernel> float_kernels_e5m2();

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
