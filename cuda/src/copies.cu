#include "operations.h"
#include "octavo/error.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
void copy_blocks(const CopyBlocksArg&, Stream) { throw Error(ErrorCode::Unimplemented, "not yet"); }
void gather_block_table(const GatherBlockTableArg&, Stream) { throw Error(ErrorCode::Unimplemented, "not yet"); }
void zero_slots(const ZeroSlotsArg&, Stream) { throw Error(ErrorCode::Unimplemented, "not yet"); }
}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
