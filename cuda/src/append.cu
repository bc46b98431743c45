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

constexpr std::uint64_t kMostLanes = 32;

/// What a lane writes at most: four units where there are rows enough to fill a GPU all the same,
/// as finding a row takes a warp some three units' time.
std::uint32_t units_of_lane(const AppendTask& task, std::int64_t many_rows) {
  const std::int64_t head_dim = std::max(task.parts[0].rows.head_dim, task.parts[1].rows.head_dim);
  const bool is_many = task.rows >= static_cast<std::uint64_t>(many_rows);
  return is_many || head_dim > static_cast<std::int64_t>(2 * kMostLanes) * kUnitElements ? 4 : 2;
}

std::uint32_t lanes_log2_of(const AppendRows& part, std::uint32_t most_units) {
  const auto units = static_cast<std::uint64_t>(part.rows.head_dim) / kUnitElements;
  const std::uint64_t lanes = (units + most_units - 1) / most_units;
  return static_cast<std::uint32_t>(std::bit_width(std::min(lanes, kMostLanes) - 1));
}

std::uint64_t blocks_of(const AppendRows& part, std::uint64_t rows) {
  const std::uint64_t rows_a_block = std::uint64_t{kAppendThreads} >> part.lanes_log2;
  return (rows + rows_a_block - 1) / rows_a_block;
}

void write_rows(AppendTask& task,
                std::int64_t tokens,
                std::int64_t heads,
                Stream stream,
                std::int64_t most_blocks,
                std::int64_t many_rows) {
  if (tokens == 0 || heads == 0) {
    return;
  }
  task.rows = static_cast<std::uint64_t>(tokens) * static_cast<std::uint64_t>(heads);
  task.heads = static_cast<std::uint32_t>(heads);
  const std::uint32_t units = units_of_lane(task, many_rows);
  for (AppendRows& part : task.parts) {
    part.lanes_log2 = lanes_log2_of(part, units);
  }
  const std::uint64_t blocks =
      std::min(std::max(blocks_of(task.parts[0], task.rows), blocks_of(task.parts[1], task.rows)),
               static_cast<std::uint64_t>(most_blocks));
  const LaunchShape shape{dim3(static_cast<unsigned>(blocks), 2), dim3(kAppendThreads)};
  launch(units == 2 ? append_kernel<2> : append_kernel<4>, shape, stream, task);
}

}  // namespace

void append_on(const AppendArg& arg,
               Stream stream,
               std::int64_t most_blocks,
               std::int64_t many_rows) {
  AppendTask task;
  task.parts[0] = {.rows = arg.keys, .from = arg.key};
  task.parts[1] = {.rows = arg.values, .from = arg.value};
  task.step = arg.step;
  write_rows(task, arg.step.tokens, arg.kv_heads, stream, most_blocks, many_rows);
}

void append(const AppendArg& arg, Stream stream) {
  append_on(arg, stream, kMaxGridX);
}

void store_cross(const StoreCrossArg& arg, Stream stream) {
  AppendTask task;
  task.parts[0] = {.rows = arg.keys, .from = arg.key};
  task.parts[1] = {.rows = arg.values, .from = arg.value};
  task.slot = arg.slot;
  write_rows(task, arg.tokens, arg.kv_heads, stream, kMaxGridX, kManyRows);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
