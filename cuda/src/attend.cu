#include <algorithm>
#include <string>

#include "attend_plan.h"
#include "launch_limits.h"
#include "octavo/error.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
namespace {

constexpr std::int64_t kWorkspaceAlignment = 256;
constexpr std::int64_t kMost = 2147483647;  // Of what kernels count in 32 bits.

std::int64_t row_bytes(const KVRowsArg& rows) {
  return rows.codec == KVCodec::Int4 ? rows.head_dim / 2
                                     : rows.head_dim * bytes_per_element(rows.dtype);
}

// The wide kernel takes eight warps and a multiprocessor where the narrow one takes a block a chunk
// of every sixteen rows: its tiles should be half full at least, and as many as make up for those
// of a GPU's multiprocessors that get none.
bool wide_tiles_pay(const AttendArg& arg) {
  constexpr std::int64_t kEnoughBlocks = 32;
  const std::int64_t rows = arg.step.tokens * (arg.q_heads / arg.kv_heads);
  return 2 * rows >= kWideRows * arg.step.batch && rows * arg.kv_heads >= kEnoughBlocks * kWideRows;
}

AttendKernel find_fast(const AttendArg& arg, FastTiles tiles) {
  const bool wide = tiles == FastTiles::Wide || (tiles == FastTiles::Any && wide_tiles_pay(arg));
  const AttendKernel kernel = wide ? find_attend_fast_wide(arg) : AttendKernel{};
  return kernel.launch != nullptr ? kernel : find_attend_fast(arg);
}

AttendKernel find_exact(const AttendArg& arg) {
  const AttendKernel integer = find_attend_int(arg);
  return integer.launch != nullptr ? integer : find_attend_float(arg);
}

/// The head dims that the tuned kernels have for these codecs: those for which one is found.
std::string tuned_head_dims(AttendArg arg, bool fast) {
  std::string text;
  for (std::int64_t head_dim = 8; head_dim <= 1024; head_dim += 8) {
    for (KVRowsArg* const rows : {&arg.keys, &arg.values}) {
      rows->head_dim = head_dim;
      rows->row_stride_bytes = row_bytes(*rows);
      rows->head_stride_bytes = arg.step.block_size * rows->row_stride_bytes;
      rows->block_stride_bytes = arg.kv_heads * rows->head_stride_bytes;
    }
    if (find_exact(arg).launch != nullptr || (fast && find_attend_fast(arg).launch != nullptr)) {
      text += (text.empty() ? "" : ", ") + std::to_string(head_dim);
    }
  }
  return text.empty() ? "none" : text;
}

[[noreturn]] void refuse(const AttendArg& arg, bool fast) {
  std::string text = "attend: no tuned kernel for keys " + std::string(to_string(arg.keys.dtype)) +
                     ", values " + std::string(to_string(arg.values.dtype)) + ", head_dim " +
                     std::to_string(arg.keys.head_dim);
  if (arg.values.head_dim != arg.keys.head_dim) {
    text += " and " + std::to_string(arg.values.head_dim);
  }
  text += ", group " + std::to_string(arg.q_heads / arg.kv_heads) + ", block_size " +
          std::to_string(arg.step.block_size);
  if (!rows_are_packed(arg.keys) || !rows_are_packed(arg.values)) {
    text += ", rows that are not packed and aligned to 16 bytes";
  }
  throw Error(
      ErrorCode::Unimplemented,
      text + "; tuned head_dims of packed rows of these codecs: " + tuned_head_dims(arg, fast));
}

AttendKernel choose_kernel(const AttendArg& arg, const AttendOptions& options) {
  if (options.general_only) {
    return find_attend_general(arg);
  }
  AttendKernel kernel = options.fast ? find_fast(arg, options.fast_tiles) : AttendKernel{};
  if (kernel.launch == nullptr) {
    kernel = find_exact(arg);
  }
  if (kernel.launch != nullptr) {
    return kernel;
  }
  if (options.tuned_only) {
    refuse(arg, options.fast);
  }
  return find_attend_general(arg);
}

/// No tile of `rows` rows sees more chunks.
std::int64_t max_chunks_of_tile(const AttendArg& arg, std::int64_t rows, std::int64_t group) {
  const std::int64_t all = ceil_div(arg.step.max_kv_len, kChunkPositions);
  if (arg.window <= 0) {
    return all;
  }
  const std::int64_t tokens = std::min(arg.step.max_query_len, ceil_div(rows - 1, group) + 1);
  const std::int64_t positions = arg.window + tokens - 1;
  return std::min(all, (positions + kChunkPositions - 2) / kChunkPositions + 1);
}

bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

AttendPlan make_plan(const AttendArg& arg, const AttendKernel& kernel) {
  const int rows = kernel.rows;
  const std::int64_t group = arg.q_heads / arg.kv_heads;
  const KVStepArg& step = arg.step;
  const std::int64_t each = ceil_div(step.max_query_len * group, rows);
  const std::int64_t compact = step.tokens * group / rows + step.batch;
  const bool same = each * step.batch <= compact;
  check_at_most("attend", "query rows of a sequence", each * rows, kMost);
  check_at_most("attend", "tiles of query rows", same ? each * step.batch : compact, kMost);
  AttendPlan plan;
  plan.arg = arg;
  plan.num_tiles = static_cast<std::int32_t>(same ? each * step.batch : compact);
  plan.tiles_per_sequence = static_cast<std::int32_t>(same ? each : 0);
  plan.group = static_cast<std::int32_t>(group);
  plan.window = static_cast<std::int32_t>(arg.window > 0 ? std::min(arg.window, kMost) : kMost);
  plan.by_group = make_divisor(group);
  plan.by_kv_heads = make_divisor(arg.kv_heads);
  plan.by_tiles_per_sequence = make_divisor(std::max<std::int64_t>(1, plan.tiles_per_sequence));
  plan.by_block_size = make_divisor(step.block_size);
  plan.rows = rows;
  plan.chunks = kernel.all_chunks ? 1
                                  : static_cast<std::int32_t>(std::max<std::int64_t>(
                                        1, max_chunks_of_tile(arg, rows, group)));
  plan.in_partials =
      arg.partial_out != nullptr && is_aligned(arg.partial_out) && is_aligned(arg.partial_max_sum);
  return plan;
}

/// Of a launch: what the workspace holds results and counters for, and a grid blocks.
std::int64_t tiles_at_once(const AttendPlan& plan,
                           const AttendKernel& kernel,
                           const AttendOptions& options) {
  const AttendArg& arg = plan.arg;
  const std::int64_t blocks = arg.kv_heads * plan.chunks;
  std::int64_t tiles = std::min<std::int64_t>(plan.num_tiles, kMaxGridX / blocks);
  if (!kernel.all_chunks) {
    tiles = std::min(tiles, kAttendCounters / arg.kv_heads);
    if (!plan.in_partials) {
      tiles = std::min(
          tiles, options.workspace_bytes / (blocks * plan.rows * (arg.values.head_dim + 2) * 4));
    }
  }
  return std::max<std::int64_t>(1, tiles);
}

/// Partial results of `tiles` tiles: the caller's arrays, or memory of the workspace.
void place_partials(std::int64_t tiles, Workspace& workspace, AttendPlan& plan) {
  const AttendArg& arg = plan.arg;
  if (plan.in_partials) {
    plan.max_sums = arg.partial_max_sum;
    plan.outs = arg.partial_out;
    return;
  }
  const std::int64_t slots = tiles * arg.kv_heads * plan.rows * plan.chunks;
  const std::int64_t max_sum_bytes = ceil_div(slots * 8, kWorkspaceAlignment) * kWorkspaceAlignment;
  void* const memory = workspace.at_least(max_sum_bytes + slots * arg.values.head_dim * 4);
  plan.max_sums = static_cast<float*>(memory);
  plan.outs = plan.max_sums + max_sum_bytes / 4;
}

}  // namespace

bool rows_are_packed(const KVRowsArg& rows) {
  const std::int64_t bytes = row_bytes(rows);
  return rows.row_stride_bytes == bytes && bytes % 16 == 0 && is_aligned(rows.data) &&
         rows.head_stride_bytes % 16 == 0 && rows.block_stride_bytes % 16 == 0;
}

void attend(const AttendArg& arg,
            const AttendOptions& options,
            Workspace& workspace,
            Stream stream) {
  if (arg.step.batch == 0 || arg.step.tokens == 0) {
    return;
  }
  check_at_most("attend", "kv_heads", arg.kv_heads, kAttendCounters);
  const AttendKernel kernel = choose_kernel(arg, options);
  AttendPlan plan = make_plan(arg, kernel);
  const std::int64_t num_tiles = plan.num_tiles;
  const std::int64_t slice = tiles_at_once(plan, kernel, options);
  if (!kernel.all_chunks) {
    place_partials(slice, workspace, plan);
    plan.counters = workspace.borrow_counters(slice * arg.kv_heads);
  }
  for (std::int64_t first = 0; first < num_tiles; first += slice) {
    plan.first_tile = static_cast<std::int32_t>(first);
    plan.num_tiles = static_cast<std::int32_t>(std::min(slice, num_tiles - first));
    plan.by_num_tiles = make_divisor(plan.num_tiles);
    kernel.launch(plan, stream);
  }
  if (!kernel.all_chunks) {
    workspace.return_counters();
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
