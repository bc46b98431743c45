#include "operations.h"
#include "octavo/error.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
void conv_update(const ConvUpdateArg&, Stream) { throw Error(ErrorCode::Unimplemented, "not yet"); }
}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
