// The kernels run by a GPU.
#include "octavo/error.h"

#include "cuda/src/make_cuda_device.h"
#include "tests/cuda/device_under_test.h"

namespace octavo::cuda_test {

std::shared_ptr<Device> device_under_test(const TestedOptions& options) {
  if (cuda_device_count() == 0) {
    throw Error(ErrorCode::DeviceError, "no GPU that this process may use");
  }
  cuda::AttendOptions attend{.fast = options.fast,
                             .fast_tiles = options.fast_tiles,
                             .tuned_only = options.tuned_only,
                             .general_only = options.general_only};
  if (options.attend_workspace_bytes > 0) {
    attend.workspace_bytes = options.attend_workspace_bytes;
  }
  // So little for uploads that they often find it full.
  constexpr std::int64_t kStagingBytes = 64 << 10;
  return cuda::make_cuda_device({.staging_bytes = kStagingBytes}, attend);
}

}  // namespace octavo::cuda_test
