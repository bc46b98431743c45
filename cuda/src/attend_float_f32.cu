#include "attend_float_kernels.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

std::span<const FloatKernel> float_kernels_f32() {
  static constexpr auto kKernels = make_float_kernels<RowFormat::F32>(DType::F32);
  return kKernels;
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
