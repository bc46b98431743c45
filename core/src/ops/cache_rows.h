// The cache side of an attention call: the two handles of a row, checked against each other and
// turned into launch arguments, and the step that reads or writes them.
//
// Threads: pure functions; the structs refer to tensors that must outlive them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "octavo/device_ops.h"
#include "octavo/kv_ops.h"
#include "octavo/kv_row_info.h"
#include "ops/op_check.h"

namespace octavo {

struct CacheRows {
  const KVRowInfo* info =
      nullptr;  ///< Of the keys; kind, layout, sizes and window are the values'.
  KVRowsArg keys;
  KVRowsArg values;
  std::int64_t blocks = 0;  ///< Of the pool, or slots.
  std::int64_t kv_heads = 0;
};

/// Checks the handles of one row.
/// Raises FailedPrecondition without row information or for handles of different rows,
/// InvalidArgument for head dims that the operations do not take.
CacheRows check_rows(OpCheck& check, const Tensor& key_cache, const Tensor& value_cache);

/// Checks a step of `tokens` tokens against the rows: shapes, and contents where the host can read
/// them. Raises InvalidArgument; nothing has been written then.
KVStepArg check_step(OpCheck& check,
                     const CacheRows& rows,
                     const KVStepTensors& step,
                     std::int64_t tokens);

/// Checks that cu_seqlens_q is [0, ..., tokens] and increasing (`lens[i]` > `lens[i - 1]`).
/// Returns the longest difference. For host-readable contents.
std::int64_t check_cumulative(const OpCheck& check,
                              std::string_view argument,
                              std::span<const std::int32_t> lens,
                              std::int64_t tokens);

}  // namespace octavo
