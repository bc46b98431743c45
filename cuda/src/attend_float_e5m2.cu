#include "attend_float_kernels.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

std::span<const FloatKernel> float_kernels_e5m2() {
  static constexpr auto kKernels = make_float_kernels<RowFormat::E5M2>(DType::E5M2);
  return kKernels;
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
