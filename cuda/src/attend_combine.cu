#include "kernels/attend_combine.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

void launch_attend_combine(const AttendPlan& plan, Stream stream) {
  const std::int64_t rows = plan.num_tiles * plan.arg.kv_heads * plan.rows;
  const LaunchShape shape{
      .grid = dim3(static_cast<unsigned>((rows + kCombineWarps - 1) / kCombineWarps)),
      .block = dim3(kCombineThreads)};
  const std::int64_t v_head_dim = plan.arg.values.head_dim;
  if (v_head_dim <= kQuadElements) {
    launch(attend_combine<1>, shape, stream, plan);
  } else if (v_head_dim <= 2 * kQuadElements) {
    launch(attend_combine<2>, shape, stream, plan);
  } else {
    launch(attend_combine<8>, shape, stream, plan);
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
