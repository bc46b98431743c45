#include <algorithm>

#include "attend_table.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
namespace {

std::span<const FloatKernel> kernels_of(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return float_kernels_f32();
    case DType::F16:
      return float_kernels_f16();
    case DType::BF16:
      return float_kernels_bf16();
    case DType::E4M3:
      return float_kernels_e4m3();
    case DType::E5M2:
      return float_kernels_e5m2();
    default:
      return {};
  }
}

}  // namespace

AttendKernel find_attend_float(const AttendArg& arg) {
  if (arg.keys.dtype != arg.values.dtype || arg.keys.codec != arg.values.codec ||
      arg.keys.head_dim != arg.values.head_dim || !rows_are_packed(arg.keys) ||
      !rows_are_packed(arg.values)) {
    return {};
  }
  // The fewest rows that hold a sequence's, or as many as there are kernels for.
  const std::int64_t rows =
      std::min<std::int64_t>(8, arg.step.max_query_len * (arg.q_heads / arg.kv_heads));
  for (const FloatKernel& kernel : kernels_of(arg.keys.dtype)) {
    if (kernel.head_dim == arg.keys.head_dim && kernel.rows >= rows) {
      return {kernel.launch, kernel.rows};
    }
  }
  return {};
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
