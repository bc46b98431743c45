// Launches of the row writer: how many lanes a row takes, and how many blocks.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/append.cuh"
#include "launch_limits.h"
#include "operations.h"
#include "row_launch.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
namespace {

constexpr std::uint64_t kMostLanesLog2 = 5;

AppendRows append_rows(const KVRowsArg& rows, const StepOperandArg& from) {
  const auto units = static_cast<std::uint64_t>(rows.head_dim) / kUnitElements;
  const auto lanes_log2 = static_cast<std::uint64_t>(std::bit_width(units - 1));
  return {rows, from, static_cast<std::uint32_t>(std::min(lanes_log2, kMostLanesLog2))};
}

std::uint64_t blocks_of(const AppendRows& part, std::uint64_t rows) {
  const std::uint64_t rows_a_block = std::uint64_t{kAppendThreads} >> part.lanes_log2;
  return (rows + rows_a_block - 1) / rows_a_block;
}

void write_rows(AppendTask& task,
                std::int64_t tokens,
                std::int64_t heads,
                Stream stream,
                std::int64_t most_blocks) {
  if (tokens == 0 || heads == 0) {
    return;
  }
  task.rows = static_cast<std::uint64_t>(tokens) * static_cast<std::uint64_t>(heads);
  task.heads = static_cast<std::uint32_t>(heads);
  const std::uint64_t blocks =
      std::min(std::max(blocks_of(task.parts[0], task.rows), blocks_of(task.parts[1], task.rows)),
               static_cast<std::uint64_t>(most_blocks));
  const LaunchShape shape{dim3(static_cast<unsigned>(blocks), 2), dim3(kAppendThreads)};
  const std::int64_t head_dim = std::max(task.parts[0].rows.head_dim, task.parts[1].rows.head_dim);
  if (head_dim <= 32 * kUnitElements) {
    launch(append_kernel<1>, shape, stream, task);
  } else if (head_dim <= 64 * kUnitElements) {
    launch(append_kernel<2>, shape, stream, task);
  } else {
    launch(append_kernel<4>, shape, stream, task);
  }
}

}  // namespace

void append_on(const AppendArg& arg, Stream stream, std::int64_t most_blocks) {
  AppendTask task;
  task.parts[0] = append_rows(arg.keys, arg.key);
  task.parts[1] = append_rows(arg.values, arg.value);
  task.step = arg.step;
  write_rows(task, arg.step.tokens, arg.kv_heads, stream, most_blocks);
}

void store_cross_on(const StoreCrossArg& arg, Stream stream, std::int64_t most_blocks) {
  AppendTask task;
  task.parts[0] = append_rows(arg.keys, arg.key);
  task.parts[1] = append_rows(arg.values, arg.value);
  task.slot = arg.slot;
  write_rows(task, arg.tokens, arg.kv_heads, stream, most_blocks);
}

void append(const AppendArg& arg, Stream stream) {
  append_on(arg, stream, kMaxGridX);
}

void store_cross(const StoreCrossArg& arg, Stream stream) {
  store_cross_on(arg, stream, kMaxGridX);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
