// The kernels run by the host.
#include "device_under_test.h"
#include "octavo/cuda/emulated_device.h"

namespace octavo::cuda_test {

std::shared_ptr<Device> device_under_test(const TestedOptions& options) {
  return make_emulated_device({.seed = options.seed,
                               .fast = options.fast,
                               .fast_tiles = options.fast_tiles,
                               .tuned_only = options.tuned_only,
                               .general_only = options.general_only,
                               .attend_workspace_bytes = options.attend_workspace_bytes});
}

}  // namespace octavo::cuda_test
