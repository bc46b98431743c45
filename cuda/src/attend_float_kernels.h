// The entries of one storage format in the table of attend_table.h: included by the file that
// compiles them.
//
// Constant data.
#pragma once

#include <array>

#include "attend_table.h"
#include "kernels/attend_float.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

template <typename Shape>
void launch_attend_float(const AttendPlan& plan, Stream stream) {
  const LaunchShape shape{.grid = dim3(static_cast<unsigned>(num_items(plan))),
                          .block = dim3(kFloatThreads)};
  launch(attend_float<Shape>, shape, stream, plan);
}

constexpr std::size_t kFloatKernels = 24;  ///< Of a storage format: six head dims, four tiles.

template <RowFormat kFormat, int kHeadDim>
constexpr void add_float_kernels(DType dtype, FloatKernel*& to) {
  *to++ = {dtype, kHeadDim, 1, launch_attend_float<FloatShape<kFormat, kHeadDim, 1>>};
  *to++ = {dtype, kHeadDim, 2, launch_attend_float<FloatShape<kFormat, kHeadDim, 2>>};
  *to++ = {dtype, kHeadDim, 4, launch_attend_float<FloatShape<kFormat, kHeadDim, 4>>};
  *to++ = {dtype, kHeadDim, 8, launch_attend_float<FloatShape<kFormat, kHeadDim, 8>>};
}

template <RowFormat kFormat>
constexpr std::array<FloatKernel, kFloatKernels> make_float_kernels(DType dtype) {
  std::array<FloatKernel, kFloatKernels> kernels = {};
  FloatKernel* to = kernels.data();
  add_float_kernels<kFormat, 64>(dtype, to);
  add_float_kernels<kFormat, 80>(dtype, to);
  add_float_kernels<kFormat, 96>(dtype, to);
  add_float_kernels<kFormat, 128>(dtype, to);
  add_float_kernels<kFormat, 192>(dtype, to);
  add_float_kernels<kFormat, 256>(dtype, to);
  return kernels;
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
