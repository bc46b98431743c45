#include "attend_float_kernels.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

std::span<const FloatKernel> float_kernels_bf16() {
  static constexpr auto kKernels = make_float_kernels<RowFormat::BF16>(DType::BF16);
  return kKernels;
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
