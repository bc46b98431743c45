#include <algorithm>
#include <array>

#include "attend_table.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
namespace {

constexpr auto kTable = std::to_array<std::span<const FloatKernel> (*)()>(
    {float_kernels_f32, float_kernels_f16, float_kernels_bf16, float_kernels_e4m3,
     float_kernels_e5m2});

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
  for (const auto& part : kTable) {
    for (const FloatKernel& kernel : part()) {
      if (kernel.dtype == arg.keys.dtype && kernel.head_dim == arg.keys.head_dim &&
          kernel.rows >= rows) {
        return {kernel.launch, kernel.rows};
      }
    }
  }
  return {};
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
