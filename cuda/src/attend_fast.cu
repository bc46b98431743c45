#include "attend_plan.h"
#include "kernels/attend_fast.cuh"

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

}  // namespace

// BF16 queries always: F16 holds them next to the largest of a row. F16 queries where the products
// are of F16.
bool fast_takes(const AttendArg& arg) {
  const DType rows = arg.keys.dtype;
  const DType query = arg.query.dtype;
  return (query == DType::BF16 || (query == DType::F16 && rows != DType::BF16)) &&
         rows == arg.values.dtype && arg.keys.head_dim == arg.values.head_dim &&
         rows_are_packed(arg.keys) && rows_are_packed(arg.values);
}

AttendKernel find_attend_fast(const AttendArg& arg) {
  if (!fast_takes(arg)) {
    return {};
  }
  switch (arg.keys.dtype) {
    case DType::BF16:
      return kernel_of<DType::BF16>(arg.keys.head_dim);
    case DType::F16:
      return kernel_of<DType::F16>(arg.keys.head_dim);
    case DType::E4M3:
      return kernel_of<DType::E4M3>(arg.keys.head_dim);
    case DType::E5M2:
      return kernel_of<DType::E5M2>(arg.keys.head_dim);
    default:
      return {};
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
