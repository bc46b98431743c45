// A step's index tensors: shapes always, contents where the host can read them.
#include <algorithm>
#include <span>
#include <string>

#include "base/checked.h"
#include "octavo/error.h"
#include "ops/cache_rows.h"

namespace octavo {
namespace {

std::span<const std::int32_t> contents(const Tensor& tensor) {
  return {tensor.data<std::int32_t>(), static_cast<std::size_t>(tensor.num_elements())};
}

std::string sequence(std::int64_t i) {
  return "of sequence " + std::to_string(i) + " ";
}

// A row that keeps `capacity` of more positions must hold the windows of all queries at once.
void check_ring(const OpCheck& check,
                const CacheRows& rows,
                std::int64_t query_len,
                std::int64_t kv_len) {
  const KVRowInfo& info = *rows.info;
  if (kv_len <= info.capacity) {
    return;
  }
  if (info.window == 0 || info.layout == Layout::Paged) {
    check.refuse("cu_seqlens_k", "has a length of " + std::to_string(kv_len) + "; the row holds " +
                                     std::to_string(info.capacity) + " positions");
  }
  const std::int64_t step_max = info.capacity - info.window + 1;
  if (query_len > step_max) {
    check.refuse("cu_seqlens_q", "has a step of " + std::to_string(query_len) +
                                     " tokens; a row of " + std::to_string(info.capacity) +
                                     " positions with a window of " + std::to_string(info.window) +
                                     " was sized for at most " + std::to_string(step_max));
  }
}

// The ids that the sequence's queries will be led to.
void check_cells(const OpCheck& check,
                 const CacheRows& rows,
                 std::span<const std::int32_t> cells,
                 std::int64_t i,
                 std::int64_t query_len,
                 std::int64_t kv_len) {
  const KVRowInfo& info = *rows.info;
  std::int64_t first = 0;
  std::int64_t last = 0;
  if (info.layout == Layout::Paged) {
    const std::int64_t oldest =
        info.window > 0 ? std::max<std::int64_t>(0, kv_len - query_len - info.window + 1) : 0;
    first = oldest / info.block_size;
    last = (kv_len - 1) / info.block_size;
  }
  for (std::int64_t cell = first; cell <= last; ++cell) {
    const std::int64_t id = cells[static_cast<std::size_t>(cell)];
    if (id < 0 || id >= rows.blocks) {
      const bool paged = info.layout == Layout::Paged;
      check.refuse(paged ? "kvcache_start" : "slot_ids",
                   sequence(i) + "names " + (paged ? "block " : "slot ") + std::to_string(id) +
                       (paged ? " in cell " + std::to_string(cell) : std::string()) +
                       "; it must be in [0, " + std::to_string(rows.blocks) + ")");
    }
  }
}

void check_contents(const OpCheck& check,
                    const CacheRows& rows,
                    const KVStepTensors& step,
                    const Tensor& table,
                    KVStepArg& arg) {
  const auto queries = contents(step.cu_seqlens_q);
  arg.max_query_len = check_cumulative(check, "cu_seqlens_q", queries, arg.tokens);
  arg.max_kv_len = 0;
  const auto lens = contents(step.cu_seqlens_k);
  const auto cells = contents(table);
  if (arg.cumulative_k && lens[0] != 0) {
    check.refuse("cu_seqlens_k", "begins with " + std::to_string(lens[0]) + "; it must be 0");
  }
  for (std::int64_t i = 0; i < arg.batch; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t query_len = std::int64_t{queries[at + 1]} - queries[at];
    const std::int64_t kv_len =
        arg.cumulative_k ? std::int64_t{lens[at + 1]} - lens[at] : std::int64_t{lens[at]};
    // An encoder's output may be shorter than the queries, and even empty.
    const bool cross = rows.info->kind == KVLayerKind::CrossAttentionKV;
    if (kv_len < (cross ? 0 : query_len)) {
      check.refuse("cu_seqlens_k", "has a length " + sequence(i) + "of " + std::to_string(kv_len) +
                                       "; it must be at least " +
                                       std::to_string(cross ? 0 : query_len));
    }
    check_ring(check, rows, query_len, kv_len);
    if (kv_len > 0) {
      check_cells(check, rows,
                  cells.subspan(at * static_cast<std::size_t>(arg.table_columns),
                                static_cast<std::size_t>(arg.table_columns)),
                  i, query_len, kv_len);
    }
    arg.max_kv_len = std::max(arg.max_kv_len, kv_len);
  }
}

// Without reading the indices: what the caller says of the longest ones, or the worst that the
// shapes allow.
void check_bounds(const OpCheck& check,
                  const CacheRows& rows,
                  const KVStepTensors& step,
                  KVStepArg& arg) {
  const KVRowInfo& info = *rows.info;
  arg.max_query_len = step.max_query_len > 0
                          ? step.max_query_len
                          : arg.tokens - std::max<std::int64_t>(0, arg.batch - 1);
  const bool ring = info.layout == Layout::Continuous && info.window > 0;
  if (step.max_kv_len > 0) {
    arg.max_kv_len = step.max_kv_len;
  } else {
    arg.max_kv_len = ring ? kMaxTokensPerSeq : info.capacity;
  }
  check_ring(check, rows, arg.max_query_len, arg.max_kv_len);
}

}  // namespace

std::int64_t check_cumulative(const OpCheck& check,
                              std::string_view argument,
                              std::span<const std::int32_t> lens,
                              std::int64_t tokens) {
  if (lens.front() != 0) {
    check.refuse(argument, "begins with " + std::to_string(lens.front()) + "; it must be 0");
  }
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < lens.size(); ++i) {
    const std::int64_t len = std::int64_t{lens[i]} - lens[i - 1];
    if (len <= 0) {
      check.refuse(argument, "gives sequence " + std::to_string(i - 1) + " a length of " +
                                 std::to_string(len) + "; it must be positive");
    }
    longest = std::max(longest, len);
  }
  if (lens.back() != tokens) {
    check.refuse(argument, "ends with " + std::to_string(lens.back()) + "; the step has " +
                               std::to_string(tokens) + " tokens");
  }
  return longest;
}

KVStepArg check_step(OpCheck& check,
                     const CacheRows& rows,
                     const KVStepTensors& step,
                     std::int64_t tokens) {
  const KVRowInfo& info = *rows.info;
  check.require_index("cu_seqlens_q", step.cu_seqlens_q, OpCheck::kAny);
  KVStepArg arg;
  arg.batch = step.cu_seqlens_q.size(0) - 1;
  arg.tokens = tokens;
  if (arg.batch < 0) {
    check.refuse("cu_seqlens_q",
                 "is empty; it must have one element more than there are sequences");
  }
  check.require_index("cu_seqlens_k", step.cu_seqlens_k, OpCheck::kAny);
  arg.cumulative_k = step.cu_seqlens_k.size(0) == arg.batch + 1;
  if (!arg.cumulative_k) {
    check.require_shape("cu_seqlens_k", step.cu_seqlens_k, {arg.batch});
  }
  const bool paged = info.layout == Layout::Paged;
  const Tensor& table = paged || !step.slot_ids.defined() ? step.kvcache_start : step.slot_ids;
  const char* const name = &table == &step.slot_ids ? "slot_ids" : "kvcache_start";
  check.require_defined(name, table);
  check.require_dtype(name, table, {DType::Int32});
  if (paged) {
    const std::int64_t columns = ceil_div(info.capacity, info.block_size);
    check.require_shape(name, table, {arg.batch, OpCheck::kAny});
    if (table.size(1) < columns) {
      check.require_shape(name, table, {arg.batch, columns});
    }
    arg.table_columns = table.size(1);
    arg.block_size = info.block_size;
  } else {
    check.require_shape(name, table, {arg.batch});
    arg.table_columns = 1;
    arg.block_size = info.capacity;
  }
  check.require_contiguous(name, table);
  arg.table_stride = arg.table_columns;
  if (check.device().host_accessible()) {
    check_contents(check, rows, step, table, arg);
  } else {
    check_bounds(check, rows, step, arg);
  }
  arg.cu_seqlens_q = static_cast<const std::int32_t*>(step.cu_seqlens_q.address());
  arg.cu_seqlens_k = static_cast<const std::int32_t*>(step.cu_seqlens_k.address());
  arg.block_table = static_cast<const std::int32_t*>(table.address());
  return arg;
}

}  // namespace octavo
