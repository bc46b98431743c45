// Compiled with the kernels: by nvcc where a GPU runs them.
#include "device_under_test.h"

#include "cuda/src/row_launch.h"

namespace octavo::cuda_test {

void append_in_turns(const AppendArg& arg, std::int64_t most_blocks, std::int64_t many_rows) {
  cuda::append_on(arg, {}, most_blocks, many_rows);
}

void copy_blocks_in_turns(const CopyBlocksArg& arg, std::int64_t most_blocks) {
  cuda::copy_blocks_on(arg, {}, most_blocks);
}

void gather_block_table_in_turns(const GatherBlockTableArg& arg, std::int64_t most_blocks) {
  cuda::gather_block_table_on(arg, {}, most_blocks);
}

void zero_slots_in_turns(const ZeroSlotsArg& arg, std::int64_t most_blocks) {
  cuda::zero_slots_on(arg, {}, most_blocks);
}

}  // namespace octavo::cuda_test
