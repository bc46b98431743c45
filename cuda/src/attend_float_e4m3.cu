#include "attend_float_kernels.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

std::span<const FloatKernel> float_kernels_e4m3() {
  static constexpr auto kKernels = make_float_kernels<RowFormat::E4M3>(DType::E4M3);
  return kKernels;
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
