// What the two recurrences share: their lanes and the operands of one token.
//
// A head's state S [k_dim, v_dim] is worked on in blocks of kStateLanes columns; columns are
// independent of each other, and every sum over k has the order of dot_tree.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "octavo/device_ops.h"
#include "rows.h"
#include "simd.h"

namespace octavo::ref_cpu {

inline constexpr int kStateLanes = 32;

/// One element of an operand [T, heads].
OCTAVO_LANES float operand_scalar(const StepOperandArg& operand,
                                  std::int64_t token,
                                  std::int64_t head) noexcept {
  float value = 0.0f;
  decode_row_lanes(operand.dtype, operand.data,
                   token * operand.token_stride + head * operand.head_stride, 1, &value);
  return value;
}

/// Elements [first, first + n) of an operand's row.
OCTAVO_LANES void operand_row(const StepOperandArg& operand,
                              std::int64_t row_element,
                              std::int64_t first,
                              std::int64_t n,
                              float* values) noexcept {
  decode_row_lanes(operand.dtype, operand.data, row_element + first, n, values);
}

OCTAVO_LANES std::int64_t row_element(const StepOperandArg& operand,
                                      std::int64_t token,
                                      std::int64_t head) noexcept {
  return token * operand.token_stride + head * operand.head_stride;
}

/// Element `index` of a weight, 0 when it is absent.
OCTAVO_LANES float weight_scalar(const WeightArg& weight, std::int64_t index) noexcept {
  float value = 0.0f;
  if (weight.data != nullptr) {
    decode_row_lanes(weight.dtype, weight.data, index, 1, &value);
  }
  return value;
}

/// n <= kStateLanes elements into full lanes, zeros behind them. A whole block is a case of its own
/// because its constant length is what the compiler vectorises best.
OCTAVO_LANES void load_lanes(DType dtype,
                             const void* data,
                             std::int64_t first,
                             std::int64_t n,
                             float (&lanes)[kStateLanes]) noexcept {
  if (n == kStateLanes) {
    decode_row_lanes(dtype, data, first, kStateLanes, lanes);
    return;
  }
  std::fill(lanes, lanes + kStateLanes, 0.0f);
  decode_row_lanes(dtype, data, first, n, lanes);
}

OCTAVO_LANES void store_lanes(DType dtype,
                              const float (&lanes)[kStateLanes],
                              std::int64_t n,
                              void* data,
                              std::int64_t first) noexcept {
  if (n == kStateLanes) {
    encode_row_lanes(dtype, lanes, kStateLanes, data, first);
  } else {
    encode_row_lanes(dtype, lanes, n, data, first);
  }
}

}  // namespace octavo::ref_cpu
