// Contiguous elements of F32, F16 or BF16 to and from binary32.
//
// decode_row and encode_row are whole calls with run-time dispatch; the *_lanes forms are for use
// inside other dispatched loops. Source and destination must not overlap. Usable from any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "float_bits.h"
#include "octavo/dtype.h"
#include "simd.h"

namespace octavo::ref_cpu {

/// values[i] = element `first + i` of `data`, exactly. `dtype` is F32, F16 or BF16.
void decode_row(
    DType dtype, const void* data, std::int64_t first, std::int64_t n, float* values) noexcept;

/// Element `first + i` of `data` = values[i], rounded to nearest even.
void encode_row(
    DType dtype, const float* values, std::int64_t n, void* data, std::int64_t first) noexcept;

OCTAVO_LANES float decode_element(DType dtype, const void* data, std::int64_t index) noexcept {
  return dtype == DType::F16    ? f16_to_f32(static_cast<const std::uint16_t*>(data)[index])
         : dtype == DType::BF16 ? bf16_to_f32(static_cast<const std::uint16_t*>(data)[index])
                                : static_cast<const float*>(data)[index];
}

OCTAVO_LANES void decode_row_lanes(
    DType dtype, const void* data, std::int64_t first, std::int64_t n, float* values) noexcept {
  if (dtype == DType::F32) {
    std::copy_n(static_cast<const float*>(data) + first, n,
                values);  // Of no data too, when n is 0.
  } else if (dtype == DType::F16) {
    const auto* codes = static_cast<const std::uint16_t*>(data) + first;
    for (std::int64_t i = 0; i < n; ++i) {
      values[i] = f16_to_f32(codes[i]);
    }
  } else {
    const auto* codes = static_cast<const std::uint16_t*>(data) + first;
    for (std::int64_t i = 0; i < n; ++i) {
      values[i] = bf16_to_f32(codes[i]);
    }
  }
}

OCTAVO_LANES void encode_row_lanes(
    DType dtype, const float* values, std::int64_t n, void* data, std::int64_t first) noexcept {
  if (dtype == DType::F32) {
    std::copy_n(values, n, static_cast<float*>(data) + first);
  } else if (dtype == DType::F16) {
    auto* codes = static_cast<std::uint16_t*>(data) + first;
    for (std::int64_t i = 0; i < n; ++i) {
      codes[i] = f32_to_f16(values[i]);
    }
  } else {
    auto* codes = static_cast<std::uint16_t*>(data) + first;
    for (std::int64_t i = 0; i < n; ++i) {
      codes[i] = f32_to_bf16(values[i]);
    }
  }
}

/// Each value as an element of `dtype` would hold it.
OCTAVO_LANES void round_row_lanes(DType dtype, std::int64_t n, float* values) noexcept {
  if (dtype == DType::F16) {
    for (std::int64_t i = 0; i < n; ++i) {
      values[i] = f16_to_f32(f32_to_f16(values[i]));
    }
  } else if (dtype == DType::BF16) {
    for (std::int64_t i = 0; i < n; ++i) {
      values[i] = bf16_to_f32(f32_to_bf16(values[i]));
    }
  }
}

}  // namespace octavo::ref_cpu
