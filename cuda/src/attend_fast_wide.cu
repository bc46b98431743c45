#include "attend_plan.h"
#include "kernels/attend_fast_wide.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
namespace {

template <DType kDType, int kHeadDim>
void launch_wide(const AttendPlan& plan, Stream stream) {
  const LaunchShape shape = {.grid = dim3(static_cast<unsigned>(num_items(plan))),
                             .block = dim3(kWideThreads),
                             .shared_bytes = sizeof(WideShared<kDType, kHeadDim>)};
  launch(attend_fast_wide_kernel<kDType, kHeadDim>, shape, stream, plan);
}

template <DType kDType, int kHeadDim>
AttendKernel kernel() {
  if (hopper_shared_bytes() < sizeof(WideShared<kDType, kHeadDim>)) {
    return {};
  }
  return {launch_wide<kDType, kHeadDim>, kWideRows, true};
}

template <DType kDType>
AttendKernel kernel_of(std::int64_t head_dim) {
  switch (head_dim) {
    case 64:
      return kernel<kDType, 64>();
    case 128:
      return kernel<kDType, 128>();
    default:
      return {};
  }
}

}  // namespace

// Not with a soft cap, whose tanh would stand 128 times in the code, and not where chunks are asked
// for: a block does not keep them.
AttendKernel find_attend_fast_wide(const AttendArg& arg) {
  if (!fast_takes(arg) || arg.cap_factor != 0.0f || arg.partial_out != nullptr) {
    return {};
  }
  switch (arg.keys.dtype) {
    case DType::BF16:
      return kernel_of<DType::BF16>(arg.keys.head_dim);
    case DType::F16:
      return kernel_of<DType::F16>(arg.keys.head_dim);
    case DType::E4M3:
      return kernel_of<DType::E4M3>(arg.keys.head_dim);
    default:
      return {};
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
