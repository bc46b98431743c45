#include "kernels/attend_general.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
namespace {

template <bool kIntegerKeys, bool kIntegerValues>
void launch_general(const AttendPlan& plan, Stream stream) {
  const LaunchShape shape{.grid = dim3(static_cast<unsigned>(num_items(plan))),
                          .block = dim3(kGeneralThreads)};
  launch(attend_general<kIntegerKeys, kIntegerValues>, shape, stream, plan);
}

}  // namespace

AttendKernel find_attend_general(const AttendArg& arg) {
  const bool integer_values = is_integer(arg.values);
  if (is_integer(arg.keys)) {
    return {integer_values ? launch_general<true, true> : launch_general<true, false>,
            kGeneralRows};
  }
  return {integer_values ? launch_general<false, true> : launch_general<false, false>,
          kGeneralRows};
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
