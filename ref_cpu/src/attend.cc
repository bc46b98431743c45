#include "attend.h"

#include <algorithm>
#include <array>
#include <limits>

#include "exact_math.h"
#include "rows.h"

namespace octavo::ref_cpu {
namespace {

std::int64_t length_of(const KVStepArg& step, std::int64_t sequence) {
  return step.cumulative_k
             ? std::int64_t{step.cu_seqlens_k[sequence + 1]} - step.cu_seqlens_k[sequence]
             : std::int64_t{step.cu_seqlens_k[sequence]};
}

// The part of [begin, end) that lies in the chunk, relative to it.
ChunkRange part_of_chunk(std::int64_t begin, std::int64_t end, std::int64_t chunk) {
  const std::int64_t base = chunk * kAttentionChunk;
  return {static_cast<int>(std::clamp<std::int64_t>(begin - base, 0, kAttentionChunk)),
          static_cast<int>(std::clamp<std::int64_t>(end - base, 0, kAttentionChunk))};
}

}  // namespace

AttendEngine::AttendEngine(ThreadPool& pool)
    : pool_(pool),
      scratch_(static_cast<std::size_t>(pool.workers())),
      tasks_(static_cast<std::size_t>(pool.workers())) {
  constexpr std::size_t kGroups = std::size_t{1} << 12;
  constexpr std::size_t kItems = std::size_t{1} << 16;
  groups_.reserve(kGroups);
  items_.reserve(kItems);
  rows_.reserve(kItems);
  outs_.used = kWorkspaceFloats;
  outs_.make_room();
  max_sums_.used = kWorkspaceFloats / 32;  // Two beside each 64 outputs; more grows.
  max_sums_.make_room();
  clear();
}

void AttendEngine::Workspace::make_room() {
  if (size < used) {
    const std::int64_t wanted = used + (size > 0 ? used / 2 : 0);
    size = 0;
    floats = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(wanted));
    size = wanted;
  }
}

AttendEngine::Seen AttendEngine::seen(const AttendArg& arg, const Group& group, int row) {
  if (!arg.causal) {
    const std::int64_t begin =
        arg.window > 0 ? std::max<std::int64_t>(0, group.kv_len - arg.window) : 0;
    return {begin, group.kv_len};
  }
  const std::int64_t query = (group.first_row + row) / (arg.q_heads / arg.kv_heads);
  const std::int64_t position = group.first_position + query;
  return {arg.window > 0 ? std::max<std::int64_t>(0, position - arg.window + 1) : 0, position + 1};
}

// Rows are in order of position, so the first and the last one bound what the group sees.
AttendEngine::Group AttendEngine::make_group(const AttendArg& arg, Group group) const {
  const Seen first = seen(arg, group, 0);
  const Seen last = seen(arg, group, group.num_rows - 1);
  if (last.end > first.begin) {
    group.first_chunk = first.begin / kAttentionChunk;
    group.num_chunks = (last.end - 1) / kAttentionChunk - group.first_chunk + 1;
  }
  return group;
}

void AttendEngine::attend(const AttendArg& arg) {
  clear();  // Of what a call left behind that ran out of memory.
  for (ChunkScratch& scratch : scratch_) {
    scratch.prepare(arg);
  }
  const KVStepArg& step = arg.step;
  for (std::int64_t sequence = 0; sequence < step.batch; ++sequence) {
    const std::int64_t first_token = step.cu_seqlens_q[sequence];
    const std::int64_t tokens = step.cu_seqlens_q[sequence + 1] - first_token;
    const std::int64_t kv_len = length_of(step, sequence);
    const std::int64_t rows = tokens * (arg.q_heads / arg.kv_heads);
    for (std::int64_t kv_head = 0; kv_head < arg.kv_heads; ++kv_head) {
      for (std::int64_t row = 0; row < rows; row += kTileRows) {
        add(arg,
            make_group(arg,
                       {.sequence = sequence,
                        .kv_head = kv_head,
                        .first_row = row,
                        .num_rows = static_cast<int>(std::min<std::int64_t>(kTileRows, rows - row)),
                        .first_token = first_token,
                        .first_position = kv_len - tokens,
                        .kv_len = kv_len}));
      }
    }
  }
  run(arg);
}

void AttendEngine::add(const AttendArg& arg, Group group) {
  const std::int64_t rows = group.num_chunks * group.num_rows;
  if (!groups_.empty() && outs_.used + rows * arg.values.head_dim > kWorkspaceFloats) {
    run(arg);
  }
  group.max_sums = max_sums_.used;
  group.outs = outs_.used;
  max_sums_.used += rows * 2;
  outs_.used += rows * arg.values.head_dim;
  const auto index = static_cast<std::int64_t>(groups_.size());
  groups_.push_back(group);
  for (std::int64_t chunk = 0; chunk < group.num_chunks; ++chunk) {
    items_.push_back({index, chunk});
  }
  for (int row = 0; row < group.num_rows; ++row) {
    rows_.push_back({index, row});
  }
}

void AttendEngine::run(const AttendArg& arg) {
  max_sums_.make_room();
  outs_.make_room();
  pool_.run(static_cast<std::int64_t>(items_.size()), [&](std::int64_t item, int worker) {
    run_item(arg, items_[static_cast<std::size_t>(item)], worker);
  });
  // A row is little work: hand them out in handfuls.
  constexpr std::int64_t kRowsAtOnce = 16;
  const auto rows = static_cast<std::int64_t>(rows_.size());
  pool_.run((rows + kRowsAtOnce - 1) / kRowsAtOnce, [&](std::int64_t item, int /*worker*/) {
    for (std::int64_t i = item * kRowsAtOnce; i < std::min(rows, (item + 1) * kRowsAtOnce); ++i) {
      const Item& row = rows_[static_cast<std::size_t>(i)];
      combine(arg, groups_[static_cast<std::size_t>(row.group)], static_cast<int>(row.chunk));
    }
  });
  clear();
}

void AttendEngine::clear() {
  groups_.clear();
  items_.clear();
  rows_.clear();
  max_sums_.used = 0;
  outs_.used = 0;
}

void AttendEngine::run_item(const AttendArg& arg, const Item& item, int worker) {
  const Group& group = groups_[static_cast<std::size_t>(item.group)];
  const std::int64_t heads = arg.q_heads / arg.kv_heads;
  const std::int64_t chunk = group.first_chunk + item.chunk;
  ChunkTask& task = tasks_[static_cast<std::size_t>(worker)];
  task.arg = &arg;
  task.kv_head = group.kv_head;
  task.num_rows = group.num_rows;
  task.range = {kChunk, 0};
  for (int row = 0; row < group.num_rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    const std::int64_t x = group.first_row + row;
    const Seen positions = seen(arg, group, row);
    task.row_token[at] = group.first_token + x / heads;
    task.row_head[at] = group.kv_head * heads + x % heads;
    const ChunkRange range = part_of_chunk(positions.begin, positions.end, chunk);
    task.row_range[at] = range;
    if (!range.empty()) {
      task.range.begin = std::min(task.range.begin, range.begin);
      task.range.end = std::max(task.range.end, range.end);
    }
  }
  task.max_sum = max_sums_.floats.get() + group.max_sums + item.chunk * group.num_rows * 2;
  task.out = outs_.floats.get() + group.outs + item.chunk * group.num_rows * arg.values.head_dim;
  locate_rows(group.sequence, chunk, task);
  attend_chunk(task, scratch_[static_cast<std::size_t>(worker)]);
}

void AttendEngine::combine(const AttendArg& arg, const Group& group, int row) const {
  const std::int64_t heads = arg.q_heads / arg.kv_heads;
  const std::int64_t token = group.first_token + (group.first_row + row) / heads;
  const std::int64_t head = group.kv_head * heads + (group.first_row + row) % heads;
  const std::int64_t v_head_dim = arg.values.head_dim;
  const Seen positions = seen(arg, group, row);
  // The row's own chunks among the group's.
  const bool sees = positions.end > positions.begin;
  const std::int64_t first = sees ? positions.begin / kAttentionChunk : 0;
  const std::int64_t chunks = sees ? (positions.end - 1) / kAttentionChunk - first + 1 : 0;
  const std::int64_t skip = sees ? first - group.first_chunk : 0;
  const CombineRow source{
      .max_sums = max_sums_.floats.get() + group.max_sums + (skip * group.num_rows + row) * 2,
      .max_sum_stride = std::int64_t{group.num_rows} * 2,
      .outs = outs_.floats.get() + group.outs + (skip * group.num_rows + row) * v_head_dim,
      .out_stride = group.num_rows * v_head_dim,
      .num_chunks = chunks,
      .v_head_dim = v_head_dim,
      .sink = arg.sinks == nullptr ? nullptr : arg.sinks + head};
  std::array<float, kMaxHeadDim> out;
  std::array<float, 2> max_sum = {};
  combine_row(source, out.data(), max_sum);
  encode_row(arg.out.dtype, out.data(), v_head_dim, arg.out.data,
             token * arg.out.token_stride + head * arg.out.head_stride);

  const std::int64_t index = token * arg.q_heads + head;
  if (arg.max_sum != nullptr) {
    std::copy(max_sum.begin(), max_sum.end(), arg.max_sum + index * 2);
  }
  if (arg.lse != nullptr) {
    arg.lse[index] = log_sum_exp(max_sum);
  }
  if (arg.partial_out == nullptr) {
    return;
  }
  for (std::int64_t chunk = 0; chunk < arg.max_chunks; ++chunk) {
    float* const partial = arg.partial_max_sum + (index * arg.max_chunks + chunk) * 2;
    float* const partial_out = arg.partial_out + (index * arg.max_chunks + chunk) * v_head_dim;
    if (chunk < first || chunk >= first + chunks) {
      partial[0] = -std::numeric_limits<float>::infinity();
      partial[1] = 0.0f;
      std::fill(partial_out, partial_out + v_head_dim, 0.0f);
      continue;
    }
    const std::int64_t c = chunk - first;
    partial[0] = source.max_sums[c * source.max_sum_stride];
    partial[1] = one_nan(source.max_sums[c * source.max_sum_stride + 1]);
    std::transform(source.outs + c * source.out_stride,
                   source.outs + c * source.out_stride + v_head_dim, partial_out,
                   [](float x) { return one_nan(x); });
  }
}

}  // namespace octavo::ref_cpu
