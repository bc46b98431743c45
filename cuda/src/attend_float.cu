#include "attend_plan.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

AttendKernel find_attend_float(const AttendArg&) {
  return {};
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
