#include "kernels/attend_combine.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

void launch_attend_combine(const AttendPlan& plan, Stream stream) {
  const auto rows =
      static_cast<unsigned>(plan.num_tiles * plan.arg.kv_heads * std::int64_t{plan.rows});
  const LaunchShape shape{.grid = dim3(rows), .block = dim3(kCombineThreads)};
  const std::int64_t v_head_dim = plan.arg.values.head_dim;
  if (v_head_dim <= kCombineThreads) {
    launch(attend_combine<1>, shape, stream, plan);
  } else if (v_head_dim <= 2 * kCombineThreads) {
    launch(attend_combine<2>, shape, stream, plan);
  } else {
    launch(attend_combine<8>, shape, stream, plan);
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
