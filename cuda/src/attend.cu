#include "operations.h"
#include "octavo/error.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
void attend(const AttendArg&, const AttendOptions&, Workspace&, Stream) { throw Error(ErrorCode::Unimplemented, "not yet"); }
}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
