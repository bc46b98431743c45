#include "attend_float_kernels.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

std::span<const FloatKernel> float_kernels_f16() {
  static constexpr auto kKernels = make_float_kernels<RowFormat::F16>(DType::F16);
  return kKernels;
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
