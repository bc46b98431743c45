#include "kernels/attend_int.cuh"
#include "attend_plan.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
namespace {

template <bool kInt4Keys, bool kInt4Values, int kHeadDim>
void launch_attend_int(const AttendPlan& plan, Stream stream) {
  const LaunchShape shape = {.grid = dim3(static_cast<unsigned>(num_items(plan))),
                             .block = dim3(kItemThreads)};
  launch(attend_int_kernel<kInt4Keys, kInt4Values, kHeadDim>, shape, stream, plan);
}

template <bool kInt4Keys, bool kInt4Values>
AttendKernel kernel_of(std::int64_t head_dim) {
  switch (head_dim) {
    case 64:
      return {launch_attend_int<kInt4Keys, kInt4Values, 64>, kIntRows};
    case 80:
      return {launch_attend_int<kInt4Keys, kInt4Values, 80>, kIntRows};
    case 96:
      return {launch_attend_int<kInt4Keys, kInt4Values, 96>, kIntRows};
    case 128:
      return {launch_attend_int<kInt4Keys, kInt4Values, 128>, kIntRows};
    case 192:
      return {launch_attend_int<kInt4Keys, kInt4Values, 192>, kIntRows};
    case 256:
      return {launch_attend_int<kInt4Keys, kInt4Values, 256>, kIntRows};
    default:
      return {};
  }
}

// Whether every row begins at a multiple of what a lane loads: 16 bytes, or 8 where a row is short.
bool is_aligned(const KVRowsArg& rows) {
  const std::int64_t row_bytes = rows.codec == KVCodec::Int4 ? rows.head_dim / 2 : rows.head_dim;
  const std::int64_t unit = row_bytes < 48 ? 8 : 16;
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(rows.data));
  return (address | rows.block_stride_bytes | rows.head_stride_bytes | rows.row_stride_bytes) %
             unit ==
         0;
}

}  // namespace

AttendKernel find_attend_int(const AttendArg& arg) {
  if (!is_integer(arg.keys) || !is_integer(arg.values) || !is_aligned(arg.keys) ||
      !is_aligned(arg.values) || arg.keys.head_dim != arg.values.head_dim) {
    return {};
  }
  const bool int4_keys = arg.keys.codec == KVCodec::Int4;
  if (arg.values.codec == KVCodec::Int4) {
    return int4_keys ? kernel_of<true, true>(arg.keys.head_dim)
                     : kernel_of<false, true>(arg.keys.head_dim);
  }
  return int4_keys ? kernel_of<true, false>(arg.keys.head_dim)
                   : kernel_of<false, false>(arg.keys.head_dim);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
