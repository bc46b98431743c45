#include "kernels/attend_fast.cuh"
#include "attend_plan.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
namespace {

template <DType kDType, int kHeadDim>
void launch_attend_fast(const AttendPlan& plan, Stream stream) {
  const LaunchShape shape = {.grid = dim3(static_cast<unsigned>(num_items(plan))),
                             .block = dim3(kItemThreads)};
  launch(attend_fast_kernel<kDType, kHeadDim>, shape, stream, plan);
}

template <DType kDType>
AttendKernel kernel_of(std::int64_t head_dim) {
  switch (head_dim) {
    case 64:
      return {launch_attend_fast<kDType, 64>, kFastRows};
    case 80:
      return {launch_attend_fast<kDType, 80>, kFastRows};
    case 96:
      return {launch_attend_fast<kDType, 96>, kFastRows};
    case 128:
      return {launch_attend_fast<kDType, 128>, kFastRows};
    case 192:
      return {launch_attend_fast<kDType, 192>, kFastRows};
    case 256:
      return {launch_attend_fast<kDType, 256>, kFastRows};
    default:
      return {};
  }
}

// What the products take without rounding: BF16 queries always (F16 holds them next to the largest
// of a row), F16 queries where the products are of F16.
bool takes_queries(DType rows, DType query) {
  return query == DType::BF16 || (query == DType::F16 && rows != DType::BF16);
}

}  // namespace

AttendKernel find_attend_fast(const AttendArg& arg) {
  const KVRowsArg& keys = arg.keys;
  if (!takes_queries(keys.dtype, arg.query.dtype) || keys.dtype != arg.values.dtype ||
      keys.head_dim != arg.values.head_dim || !rows_are_packed(keys) ||
      !rows_are_packed(arg.values)) {
    return {};
  }
  switch (keys.dtype) {
    case DType::BF16:
      return kernel_of<DType::BF16>(keys.head_dim);
    case DType::F16:
      return kernel_of<DType::F16>(keys.head_dim);
    case DType::E4M3:
      return kernel_of<DType::E4M3>(keys.head_dim);
    case DType::E5M2:
      return kernel_of<DType::E5M2>(keys.head_dim);
    default:
      return {};
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
