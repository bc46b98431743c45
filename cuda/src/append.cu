#include "operations.h"
#include "octavo/error.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
void append(const AppendArg&, Stream) { throw Error(ErrorCode::Unimplemented, "not yet"); }
void store_cross(const StoreCrossArg&, Stream) { throw Error(ErrorCode::Unimplemented, "not yet"); }
}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
