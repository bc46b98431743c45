#include "operations.h"
#include "octavo/error.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
void gated_delta_update(const GatedDeltaUpdateArg&, Stream) { throw Error(ErrorCode::Unimplemented, "not yet"); }
void selective_state_update(const SelectiveStateUpdateArg&, Stream) { throw Error(ErrorCode::Unimplemented, "not yet"); }
}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
